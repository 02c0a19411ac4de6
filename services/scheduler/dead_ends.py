"""URLs that redirect to nowhere: what travels with a request, and what the frontier says (HTTP-09).

Which redirects are a dead end is the frontier's decision. It may be heard before the report of
the fetch that it follows from, and then waits in the URL's row for it.
"""

from msgspec.structs import replace

from services.common.records import AdmittedUrl, CrawlReported, Hop, Outcome
from services.scheduler.rows import Ended, HostRow, UrlRow

_FRESH = 7 * 86_400.0
"""Seconds for which a trail tells how a URL was reached. Sites turn redirects round, so one from
an earlier round of crawling would make a loop of what is none."""


def take_trail(host: HostRow, row: UrlRow, admitted: AdmittedUrl, now: float) -> bool:
    """Keep the trail that a known URL was found with, for its next request; whether it is kept.

    Not that of a page: it ends the trail. The first of several is kept.
    """
    redirects = row.outcome in ("", Outcome.MOVED) or is_ended(row)
    if not redirects or not admitted.trail or admitted.moved:
        return False
    if admitted.fingerprint in host.flights or fresh(row.trail, now):
        return False
    row.trail = admitted.trail
    return True


def fresh(trail: list[Hop], now: float) -> list[Hop]:
    """The trail as it goes out with a request: empty if it is of another time."""
    return trail if trail and now - trail[-1].scheduled_at < _FRESH else []


def waits(host: HostRow, report: CrawlReported) -> bool:
    """Whether the fetch that a dead end follows from is not reported yet."""
    flight = host.flights.get(report.fingerprint)
    return report.dead_end and flight is not None and flight.scheduled <= report.scheduled_at


def note(row: UrlRow, report: CrawlReported) -> None:
    """Remember a dead end: for its fetch's report, and for `explain`."""
    row.ended = Ended(report.scheduled_at, report.reason)


def judged(row: UrlRow | None, report: CrawlReported) -> CrawlReported:
    """A fetch's report, as a dead end that was heard before makes of it: both in one."""
    ended = None if row is None else row.ended
    if report.outcome is not Outcome.MOVED or ended is None or ended.at < report.scheduled_at:
        return report
    return replace(report, outcome=Outcome.PERMANENT, reason=ended.reason, scheduled_at=ended.at)


def is_ended(row: UrlRow) -> bool:
    """Whether its last fetch led to a dead end."""
    ended = row.ended
    return row.outcome == Outcome.PERMANENT and ended is not None and ended.at >= row.scheduled
