"""Decides what is known of a host from how the reading of its robots.txt ended (RFC 9309, 2.3.1).

Fails closed: what could not be read closes the host for a while, except where the RFC says that
an unavailable file means no rules. Never fetches and has no clock.
"""

from dataclasses import dataclass, replace
from typing import Literal

from services.common.records import Outcome
from services.common.urls import Url
from services.fetcher import robots
from services.fetcher.classify import BEFORE_RESPONSE, DISALLOWED, FAILURES, FLAGS, Verdict
from services.fetcher.protocols.port import WireResponse

MAX_REDIRECTS = 5
"""RFC 9309, 2.3.1.2: followed at least, and by us at most."""
STALE_LIMIT = 30 * 86_400.0
"""Seconds that old rules stand in for a file that cannot be reached (RFC 9309, 2.4)."""

Access = Literal["parse", "open", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the settings say about reading robots.txt."""

    agent: str
    ttl: float
    retry: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a host's robots.txt at a time."""

    rules: robots.Rules | None
    """None: it could not be read, so the host is closed (RFC 9309, 2.3.1.4)."""
    until: float
    """When to read it again, on the clock that `now` was taken from."""
    read_at: float
    result: str
    """How the reading ended: a metric label."""
    failure: Verdict = FAILURES["robots-unreachable"]
    """What to say of a URL while `rules` is None."""

    @property
    def crawl_delay(self) -> float | None:
        """Seconds that the file asks for, uncapped."""
        return None if self.rules is None else self.rules.crawl_delay


NONE = Facts(rules=robots.OPEN, until=float("inf"), read_at=0, result="none")
"""For protocols that robots.txt does not govern."""


def access(status: int) -> Access:
    """What a final `status` means; redirects are followed before that.

    429 asks us to slow down, so it counts as unreachable rather than as "no rules".
    """
    if 200 <= status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
        return "parse"
    return "open" if 300 <= status < 500 and status != 429 else "closed"  # noqa: PLR2004 - same


def answered(
    response: WireResponse, retry_after: float | None, policy: Policy, now: float
) -> Facts:
    """Facts from the final response of a reading."""
    kind = access(response.status)
    if kind == "open":
        return Facts(rules=robots.OPEN, until=now + policy.ttl, read_at=now, result="unavailable")
    if kind == "parse" and (not response.damage or response.damage in FLAGS):
        rules = robots.parse(response.body, policy.agent)
        return Facts(rules=rules, until=now + policy.ttl, read_at=now, result="read")
    # Half a file may lack the half that closes the site to us.
    until = now + max(policy.retry, retry_after or 0.0)
    return Facts(rules=None, until=until, read_at=now, result="unreachable")


def failed(reason: str, hop: int, policy: Policy, now: float) -> Facts:
    """Facts from a reading that got no response at redirect `hop` (0: the host itself).

    A failure that a page of the host would meet as well is reported as itself.
    """
    own = hop == 0 and reason in BEFORE_RESPONSE
    failure = FAILURES[reason if own else "robots-unreachable"]
    until = now + policy.retry
    return Facts(rules=None, until=until, read_at=now, result="unreachable", failure=failure)


def lost(policy: Policy, now: float) -> Facts:
    """Facts from redirects that loop, lead nowhere or are too many: no rules, for a short time."""
    return Facts(rules=robots.OPEN, until=now + policy.retry, read_at=now, result="redirects")


def merged(new: Facts, old: Facts | None) -> Facts:
    """`new`, or the rules of `old` for as long where `new` has none and `old` is not too old."""
    usable = old is not None and old.rules is not None
    if new.rules is not None or old is None or not usable:
        return new
    if new.failure.outcome is not Outcome.TRANSIENT or new.read_at - old.read_at > STALE_LIMIT:
        return new
    return replace(old, until=new.until, result="stale")


def ruling(facts: Facts, url: Url) -> Verdict | None:
    """Why `url` must not be fetched now; None if it may be."""
    if facts.rules is None:
        return facts.failure
    return None if facts.rules.allow(url.href) else DISALLOWED
