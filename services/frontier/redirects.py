"""Where redirects from URL to URL lead nowhere: round in circles, or on and on (HTTP-09).

Decides by the trail that a redirect's target is found with, so nothing is remembered here. The
scheduler hears of a dead end as it hears of a fetch, once for each URL of the trail.
"""

from collections.abc import Sequence

from services.common.records import CrawlReported, Hop, Outcome

LOOP = "redirect-loop"
TOO_MANY = "too-many-redirects"
REASONS = (LOOP, TOO_MANY)

_AFTER = 0.0005
"""Seconds after its request that a URL's dead end is dated: after its own report, and before any
later request, since two requests of one URL are a millisecond apart at least. So a dead end that
comes late says nothing of what was fetched since, and one that comes twice is the same."""


def back_at(fingerprint: bytes, trail: Sequence[Hop]) -> Hop | None:
    """The newest hop of the trail that a target leads back to; None for a URL that is not on it."""
    return next((hop for hop in reversed(trail) if hop.fingerprint == fingerprint), None)


def dead_end(href: str, back: Hop | None, trail: Sequence[Hop], most: int) -> str | None:
    """Why a target is not to be followed, one of `REASONS`; None if it is.

    `back` as `back_at` has it; another writing of a URL of the trail is no loop, for it may be
    the page. `most`: URLs in a row that may redirect; 0 for no limit.
    """
    if back is not None:
        return LOOP if back.url == href else None
    return TOO_MANY if 0 < most <= len(trail) else None


def reports(trail: Sequence[Hop], reason: str, now: float) -> list[CrawlReported]:
    """What the scheduler is told of each URL that leads to a dead end."""
    return [
        CrawlReported(
            host=hop.host,
            fingerprint=hop.fingerprint,
            scheduled_at=hop.scheduled_at + _AFTER,
            url=hop.url,
            job=hop.job,
            outcome=Outcome.PERMANENT,
            reason=reason,
            fetched_at=now,
            elapsed=0.0,
            dead_end=True,
        )
        for hop in trail
    ]
