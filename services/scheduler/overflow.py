"""New URLs beyond what a host may have waiting are due on a later day instead (A6).

They wait on disk in buckets of the timeline, a day's share in each, and are new when it comes.
"""

from services.scheduler import timeline
from services.scheduler.rows import HostRow, Rows, UrlRow

_DAY = 86_400.0
_DAYS = 30
"""Days that are filled one after another; when all are full, the emptiest takes more. Bounds the
buckets in the host's row."""


def file_new(
    rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float, *, limit: int
) -> None:
    """Let a URL wait for its turn now, or on the first day that has room; `limit` 0: always now."""
    if row.outcome or not 0 < limit <= timeline.new_count(host):
        timeline.file_now(rows, host, fingerprint, row)
        return
    row.due = _day(host, now, limit)
    timeline.file_at(rows, host, fingerprint, row, due=row.due, retry=False, fresh=True)


def _day(host: HostRow, now: float, limit: int) -> float:
    """When the first day begins that has room, by UTC."""
    tomorrow = (now // _DAY + 1) * _DAY
    taken = {bucket.due: bucket.count for bucket in host.buckets.values() if bucket.fresh}
    days = [tomorrow + _DAY * day for day in range(_DAYS)]
    free = next((day for day in days if taken.get(day, 0) < limit), None)
    return min(days, key=lambda day: taken[day]) if free is None else free
