"""Puts one partition's URLs where they wait, and keeps the counts in step.

Where a URL waits is decided by its row; see timeline.py for what a place is.
"""

from services.common.settings import Scheduler
from services.scheduler import deletion, timeline
from services.scheduler.accounts import Accounts
from services.scheduler.recrawls import Recrawls
from services.scheduler.rows import HostRow, Rows, UrlRow


class Places:
    """The places of one partition's URLs."""

    def __init__(self, settings: Scheduler, accounts: Accounts, recrawls: Recrawls) -> None:
        self._settings = settings
        self._accounts = accounts
        self._recrawls = recrawls

    def file(self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float) -> None:
        """Let the URL wait for its due time."""
        retry = 0 < row.attempt < self._settings.max_attempts
        # A retry may be due sooner than the buckets of recrawls are wide.
        finest = self._settings.retry_base / 4 if retry else self._settings.bucket_width
        due = timeline.slot(row.due, now, min(finest, self._settings.bucket_width))
        timeline.file_at(rows, host, fingerprint, row, due=due, retry=retry)

    def put_back(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float
    ) -> None:
        """Let the URL wait where it waited before its request, behind the others."""
        if timeline.is_new(row.bucket):
            timeline.file_now(rows, host, fingerprint, row)
        else:
            self.file(rows, host, fingerprint, row, now)

    def heal(
        self,
        rows: Rows,
        host: HostRow,
        fingerprint: bytes,
        row: UrlRow,
        *,
        now: float,
        crashed: bool = True,
    ) -> bool:
        """Give a URL its place back that an event cut short may have left without one (A9).

        Gives whether it had none. `crashed`: the host's row may not have counted it; else only
        its place is gone.
        """
        if not timeline.is_lost(rows, host, fingerprint, row):
            return False
        if crashed:
            before = self._accounts.counted_as(rows, host, fingerprint, row)
            if not self._accounts.has_counted(host, fingerprint, row.scheduled):
                self._recrawls.plan.join(host, row)
        else:
            before = self._accounts.state(host, fingerprint, row)
        self.put_back(rows, host, fingerprint, row, now)
        after = self._accounts.state(host, fingerprint, row)
        self._accounts.move(host, before, after)
        self._accounts.note(host, fingerprint, row.scheduled, after)
        rows.save_url(fingerprint, row)
        rows.save_host(host)
        return True

    def bury(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow | None, before: str | None
    ) -> None:
        """Put a deleted URL away that came back; `before`: the state it is counted in."""
        if row is not None:
            self._recrawls.forget(host, row)
        deletion.bury(rows, self._accounts, host, fingerprint, row, before=before)


def write_again(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow) -> None:
    """Write once more what a process that was killed may not have written to the changelog."""
    rows.save_url(fingerprint, row)
    rows.save_host(host)
    if timeline.is_filed(rows, host, fingerprint, row):
        timeline.write_again(rows, host, row)
