"""Whether a URL that is known already has to wait for its turn again, and why.

Updates the URL's row by what was found; files nothing.
"""

from services.common.records import AdmittedUrl, UrlAdmitted
from services.scheduler import timeline
from services.scheduler.rows import NOWHERE, HostRow, Rows, UrlRow

_MAX_MOVES = 3
"""Redirects in a row from a URL to another writing of itself that are followed."""


def wants_again(
    rows: Rows, event: UrlAdmitted, host: HostRow, admitted: AdmittedUrl, row: UrlRow
) -> bool:
    """Whether a known URL has to be filed as new (again); updates its row."""
    filed = timeline.is_filed(rows, host, admitted.fingerprint, row)
    flies = admitted.fingerprint in host.flights
    # One that was never asked for waits for its turn, be it on a later day.
    waits_now = flies or (filed and (timeline.is_new(row.bucket) or not row.outcome))
    if admitted.moved and admitted.url != row.url and row.moves < _MAX_MOVES:
        # One under way is the redirect itself; its report files the target.
        row.url = admitted.url
        row.moves += 1
        rows.save_url(admitted.fingerprint, row)
        return not waits_now
    same_job = row.job == event.rules.job
    rises = _rises(rows, admitted, row) and filed
    stale = row.scheduled < event.rules.fresh_after
    if stale and not (same_job and (waits_now or row.attempt)):
        # A job wants it afresh. One under way comes back to be filed for that job.
        row.job, row.depth = event.rules.job, admitted.depth
        row.follow, row.stored, row.attempt = True, False, 0
        rows.save_url(admitted.fingerprint, row)
        return rises or not waits_now
    if same_job and admitted.depth < row.depth:
        # Nearer to a seed than we knew: links once refused as too deep may pass now.
        row.depth = admitted.depth
        row.follow = row.fetched > 0 and event.rules.max_depth is not None
        rows.save_url(admitted.fingerprint, row)
        return rises or (row.follow and not waits_now)
    return rises or (not filed and not flies and row.bucket != NOWHERE)


def _rises(rows: Rows, admitted: AdmittedUrl, row: UrlRow) -> bool:
    """Whether a URL that waits among new ones belongs before where it is; updates its row."""
    if admitted.priority <= row.priority:
        return False
    row.priority = admitted.priority
    rows.save_url(admitted.fingerprint, row)
    return timeline.is_new(row.bucket) and timeline.front(row.priority) != row.bucket
