"""What an operator deleted: flagged at once, put away when its bucket is visited (A7).

Deleting a whole host is one write, whatever it holds. Rows under a deleted prefix are removed,
since the host's row goes on to refuse them; that of a URL deleted by itself stays as the only
thing that remembers it, in the state `deleted`.
"""

from services.scheduler import timeline
from services.scheduler.accounts import Accounts
from services.scheduler.rows import NOWHERE, Deleted, HostRow, Rows, UrlRow

LIMIT = 64
"""Prefixes of one host: each is compared with each of the host's URLs that is found or visited."""


def covers(host: HostRow, url: str) -> bool:
    """Whether a URL of the host is under a deleted prefix; `url` as it is fetched."""
    return covering(host, url) is not None


def covering(host: HostRow, url: str) -> Deleted | None:
    """The deletion that a URL of the host falls under, known or not; None if under none."""
    if not host.deleted:
        return None
    path = _path(url)
    return next((gone for gone in host.deleted if path.startswith(gone.prefix)), None)


def holds(host: HostRow, row: UrlRow) -> bool:
    """Whether a known URL is never to be fetched again."""
    return row.deleted > 0 or covers(host, row.url)


def bury(
    rows: Rows,
    accounts: Accounts,
    host: HostRow,
    fingerprint: bytes,
    row: UrlRow | None,
    *,
    before: str | None,
) -> None:
    """Put a deleted URL away that is not under way; `before`: the state it is counted in."""
    if row is not None:
        timeline.leave(host, row)
    host.landed.pop(fingerprint, None)
    if row is not None and row.deleted:
        row.bucket, row.due, row.attempt = NOWHERE, 0.0, 0
        accounts.move(host, before, "deleted")
        accounts.note(host, fingerprint, row.scheduled, "deleted")
        rows.save_url(fingerprint, row)
    else:
        accounts.move(host, before, None)
        host.known -= before is not None
        rows.delete_url(fingerprint)
    rows.save_host(host)


def refuse(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow | None) -> None:
    """A deleted URL was found again: nothing changes, but for what a crash left of it.

    Its host's row, written before its own, has counted it out already.
    """
    if row is None or not timeline.is_lost(rows, host, fingerprint, row):
        return
    if row.deleted:
        row.bucket = NOWHERE
        rows.save_url(fingerprint, row)
    else:
        rows.delete_url(fingerprint)


def _path(url: str) -> str:
    """Path and query; the host's part is the row's own, and may be written in several ways."""
    rest = url.partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"
