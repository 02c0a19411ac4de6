"""How fast a host may be asked: delay = max(floor, robots Crawl-delay within a cap, back-off).

Back-off doubles when the site refuses or fails to answer and halves with each success.
"""

import math

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler import quarantine
from services.scheduler.rows import HostRow

_LATENCY = 1.0
"""Seconds a request spends outside the fetcher's queue; the window covers it."""
_FIRST_BACKOFF = 2.0
_MAX_BACKOFF = 3600.0
_MAX_RETRY_AFTER = 86_400.0
_SLOW_DOWN = frozenset({429, 503})
_HANGS = 10.0
"""Seconds after its turn that a request counts as hanging."""


def gap(host: HostRow, settings: Scheduler) -> float:
    """Seconds between two requests to the host."""
    robots = min(host.crawl_delay, settings.max_crawl_delay)
    return max(settings.min_gap, robots, host.backoff)


def window(host: HostRow, settings: Scheduler) -> int:
    """Requests of the host that may be under way.

    Enough that the fetcher never waits for us, few enough that a slow host holds few. One for
    a host that has not answered, ever or since its last trouble: it may be one that never will;
    and for one whose group is not known: two fetchers might find two. None more while what is
    under way belongs to a group that the host leaves.
    """
    if host.moving and host.flights:
        return 0
    if quarantine.unproven(host) or not host.group:
        return 1
    spacing = gap(host, settings)
    wanted = math.ceil(_LATENCY / spacing) + 1 if spacing > 0 else settings.host_window
    return max(1, min(wanted, settings.host_window))


def lease(host: HostRow, settings: Scheduler) -> float:
    """Seconds until a request handed out now counts as lost; those before it come first."""
    return settings.lease + gap(host, settings) * (len(host.flights) + 1)


def hangs_at(host: HostRow, settings: Scheduler) -> float:
    """When the oldest request under way counts as hanging; infinity if none is under way."""
    if not host.flights:
        return math.inf
    oldest = min(flight.scheduled for flight in host.flights.values())
    return oldest + _HANGS + gap(host, settings) * (len(host.flights) + 1)


def learn(host: HostRow, report: CrawlReported, settings: Scheduler, now: float) -> None:
    """Take in what a fetch says about the host's wishes and health."""
    quarantine.learn(host, report, settings, now)
    silent = report.reason in quarantine.UNREACHABLE
    if report.crawl_delay is not None:
        host.crawl_delay = report.crawl_delay
    asked = min(report.retry_after or 0.0, _MAX_RETRY_AFTER)
    if report.status in _SLOW_DOWN or silent:
        # Requests handed out before the last trouble was known belong to it.
        if report.scheduled_at >= host.troubled:
            if not (silent and quarantine.holds(host, settings)):
                # Probes have waits of their own; the back-off stays for when it answers again.
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
