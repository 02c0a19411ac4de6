"""How fast a host may be asked: delay = max(floor, robots Crawl-delay within a cap, back-off).

Back-off doubles when the site refuses or fails to answer and halves with each success.
"""

import math

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler.rows import HostRow

_LATENCY = 1.0
"""Seconds a request spends outside the fetcher's queue; the window covers it."""
_FIRST_BACKOFF = 2.0
_MAX_BACKOFF = 3600.0
_MAX_RETRY_AFTER = 86_400.0
_SLOW_DOWN = frozenset({429, 503})
UNREACHABLE = frozenset(
    {
        "connect-timeout",
        "connection-refused",
        "connection-reset",
        "connect-error",
        "dns-failure",
        "dns-not-found",
        "empty-response",
        "read-timeout",
        "tls",
        "total-timeout",
    }
)
"""Reasons (docs/outcomes.md) that are the host's trouble rather than one page's."""


def gap(host: HostRow, settings: Scheduler) -> float:
    """Seconds between two requests to the host."""
    robots = min(host.crawl_delay, settings.max_crawl_delay)
    return max(settings.min_gap, robots, host.backoff)


def window(host: HostRow, settings: Scheduler) -> int:
    """Requests of the host that may be under way.

    Enough that the fetcher never waits for us, few enough that a slow host holds few.
    """
    spacing = gap(host, settings)
    wanted = math.ceil(_LATENCY / spacing) + 1 if spacing > 0 else settings.host_window
    return max(1, min(wanted, settings.host_window))


def lease(host: HostRow, settings: Scheduler) -> float:
    """Seconds until a request handed out now counts as lost; those before it come first."""
    return settings.lease + gap(host, settings) * (len(host.flights) + 1)


def learn(host: HostRow, report: CrawlReported, settings: Scheduler, now: float) -> None:
    """Take in what a fetch says about the host's wishes and health."""
    if report.crawl_delay is not None:
        host.crawl_delay = report.crawl_delay
    asked = min(report.retry_after or 0.0, _MAX_RETRY_AFTER)
    if report.status in _SLOW_DOWN or report.reason in UNREACHABLE:
        # Requests handed out before the last trouble was known belong to it.
        if report.scheduled_at >= host.troubled:
            doubled = max(host.backoff * 2, gap(host, settings) * 2, _FIRST_BACKOFF)
            host.backoff = min(doubled, _MAX_BACKOFF)
            host.troubled = now
            host.incidents += 1
        host.not_before = max(host.not_before, now + max(host.backoff, asked))
    elif asked:
        host.not_before = max(host.not_before, now + asked)
    elif report.outcome in (Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED, Outcome.GONE):
        host.incidents = 0
        host.backoff = host.backoff / 2 if host.backoff > settings.min_gap else 0.0
