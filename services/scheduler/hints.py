"""What a report says about a page's changes, beside whether there was one (D8)."""

from services.common import http_dates
from services.common.records import CrawlReported, Outcome
from services.scheduler.policies import Hints, Observation, Seen
from services.scheduler.rows import UrlRow

_STAMPED = 0.1
"""A Last-Modified so near to the fetch, as a share of the time since the last one, may be no more
than the time at which the server made the answer."""


def observation(row: UrlRow, report: CrawlReported) -> Observation:
    """What a fetch taught; `row` is as it was before."""
    since_last = max(report.fetched_at - row.fetched, 0.0) if row.fetched else 0.0
    if report.outcome is Outcome.GONE:
        return Observation(seen=Seen.GONE, since_last=since_last)
    # A redirect has nothing to compare; the page that it leads to is a URL of its own.
    changed = False if report.outcome is Outcome.MOVED and row.fetched else report.changed
    if not row.fetched or changed is None:
        seen = Seen.FIRST
    else:
        seen = Seen.CHANGED if changed else Seen.UNCHANGED
    return Observation(
        seen=seen,
        since_last=since_last,
        modified_age=_modified_age(row, report, since_last) if seen is Seen.CHANGED else None,
        # What sitemaps say (`Hints.changefreq`) goes here as well, once URLs bring it along.
        hints=Hints(max_age=report.fresh_for or 0.0),
    )


def _modified_age(row: UrlRow, report: CrawlReported, since_last: float) -> float | None:
    """Seconds from the change to the fetch by Last-Modified; None if that is not to be trusted.

    It is where it was older than the fetch last time as well: a server that stamps its answers
    has always just changed the page.
    """
    then = http_dates.seconds(row.last_modified)
    now = http_dates.seconds(report.last_modified)
    if then is None or now is None or then >= now:
        return None
    least = _STAMPED * since_last
    if row.fetched - then < least or report.fetched_at - now < least:
        return None
    return report.fetched_at - now
