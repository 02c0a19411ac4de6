"""A host that gives no answer again and again is asked by one probe at a time (D6).

The probes' waits double. Its other URLs stay where they are and lose no attempt, nor does the
probe's own: a failed probe says something of the host and nothing of the page. Any HTTP answer
ends it. Order is told by when requests were emitted, so that repeated reports change nothing.
"""

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler.rows import HostRow, Silence

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
SILENT = UNREACHABLE | {"robots-unreachable"}
"""Reasons that count towards a quarantine. An unreachable robots.txt closes the whole host; it
asks for its own wait and so widens no back-off."""
_ANSWERS = frozenset({Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED, Outcome.GONE})
"""Outcomes that are an answer even where a protocol knows no status."""
_LEAST = 2.0
"""Seconds that the waits double from if there is no back-off."""
_DOUBLINGS = 40
"""Enough for any wait, and no overflow."""


def learn(host: HostRow, report: CrawlReported, settings: Scheduler, now: float) -> None:
    """Count what got no answer, and forget it with the first answer."""
    silence = host.silence
    if report.status is not None or report.outcome in _ANSWERS:
        host.answered = max(host.answered, report.scheduled_at)
        if silence is not None and report.scheduled_at > silence.since:
            host.silence = None
        return
    if report.reason not in SILENT or report.scheduled_at <= host.answered:
        return
    if silence is None:
        silence = host.silence = Silence(since=report.scheduled_at)
    elif report.scheduled_at <= silence.last:
        return  # Emitted before the last failure was known: one incident.
    silence.incidents += 1
    silence.last = now
    if holds(host, settings):
        host.not_before = max(host.not_before, now + wait(host, settings, now))


def holds(host: HostRow, settings: Scheduler) -> bool:
    """Whether the host is in quarantine."""
    silence = host.silence
    return silence is not None and 0 < settings.quarantine_after <= silence.incidents


def until(host: HostRow, settings: Scheduler) -> float:
    """When the next probe may go out, 0 for a host that is in no quarantine.

    A time that is past: a probe is under way, or no URL of the host is due.
    """
    return host.not_before if holds(host, settings) else 0.0


def wait(host: HostRow, settings: Scheduler, now: float) -> float:
    """Seconds from a probe that failed now to the next."""
    silence = host.silence
    if silence is None or not holds(host, settings):
        return 0.0
    if now - silence.since >= settings.quarantine_give_up:
        return settings.quarantine_max
    doublings = min(silence.incidents - settings.quarantine_after + 1, _DOUBLINGS)
    doubled: float = max(host.backoff, _LEAST) * 2.0**doublings
    return min(doubled, settings.quarantine_max)


def spares(host: HostRow, report: CrawlReported, settings: Scheduler) -> bool:
    """Whether the report, taken in by `learn`, costs its URL no attempt."""
    return report.reason in SILENT and holds(host, settings)


def unproven(host: HostRow) -> bool:
    """Whether the host has not answered yet, or not since its last trouble."""
    return not host.answered or host.silence is not None
