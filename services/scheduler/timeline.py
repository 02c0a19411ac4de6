"""Where a URL waits: per host, buckets of fingerprints by due time, each a queue on disk (A3).

Adding and taking touch one chunk, whatever the number of known URLs. Entries are hints: one
counts only if the URL's row still points at its bucket and position, which makes moving a URL
a single write. A bucket's due time is the bucket's alone, so moving a bucket moves its URLs.
"""

import math

from services.scheduler.rows import (
    NEW,
    NEW_FIRST,
    NEW_LAST,
    NOWHERE,
    Bucket,
    HostRow,
    Rows,
    UrlRow,
)

_ID = 16
"""Octets of a fingerprint."""
CHUNK = 64
"""Fingerprints per chunk; an append rewrites at most 1 KiB."""
_FINE = 32
"""Buckets of one width before the width doubles: a wait is rounded up by 1/16 at most."""


_FIRST, _LAST = 1.0, 0.2
"""A priority from which on a new URL goes before the others, and below which after them."""
_TURNS = 8
"""One new URL in so many is taken from the other end, so that none waits for ever."""


def front(priority: float) -> int:
    """The bucket of new URLs for a priority."""
    return NEW_FIRST if priority >= _FIRST else NEW if priority >= _LAST else NEW_LAST


def is_new(number: int) -> bool:
    """Whether it is a bucket of new URLs."""
    return number in (NEW_FIRST, NEW, NEW_LAST)


def slot(due: float, now: float, width: float) -> float:
    """The due time of the bucket that takes a URL due at `due`.

    Rounded up, coarser with distance, so that a host has at most about
    32 + 16 x log2(horizon / width) buckets.
    """
    wait = max(due - now, 0.0)
    doublings = max(0, math.ceil(math.log2(wait / (width * _FINE)))) if wait > 0 else 0
    coarse: float = width * 2.0**doublings
    return math.ceil(due / coarse) * coarse


def file_now(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow) -> None:
    """Let the URL wait for its turn now, among those of its priority."""
    number = front(row.priority)
    host.buckets.setdefault(number, Bucket(due=0.0))
    row.due = 0.0
    _append(rows, host, number, fingerprint, row)


def file_at(
    rows: Rows,
    host: HostRow,
    fingerprint: bytes,
    row: UrlRow,
    *,
    due: float,
    retry: bool,
    fresh: bool = False,
) -> None:
    """Let the URL wait in the bucket that comes due at `due`, a `slot`."""
    for number, bucket in host.buckets.items():
        kind = (bucket.due, bucket.retry, bucket.fresh)
        if not is_new(number) and kind == (due, retry, fresh):
            break
    else:
        number = host.next_bucket
        host.next_bucket += 1
        host.buckets[number] = Bucket(due=due, retry=retry, fresh=fresh)
    _append(rows, host, number, fingerprint, row)


def is_filed(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow) -> bool:
    """Whether the timeline really holds the URL where its row says (else it is an orphan)."""
    bucket = host.buckets.get(row.bucket)
    return (
        bucket is not None
        and bucket.read <= row.position < bucket.write
        and entry(rows, host, row.bucket, row.position) == fingerprint
    )


def is_lost(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow) -> bool:
    """Whether the URL waits nowhere, is not under way, and should be one of both."""
    return (
        row.bucket != NOWHERE
        and fingerprint not in host.flights
        and not is_filed(rows, host, fingerprint, row)
    )


def write_again(rows: Rows, host: HostRow, row: UrlRow) -> None:
    """Write the entry of a filed URL once more, though it has not changed."""
    key = _key(host, row.bucket, row.position)
    rows.save_chunk(key, rows.chunk(key))


def peek(rows: Rows, host: HostRow, number: int) -> tuple[bytes, UrlRow] | None:
    """The first URL that really waits in the bucket, left there.

    Stale entries before it are dropped, and the bucket itself when nothing is left. The last
    entry of a URL whose row points nowhere (a crash kept its host's row only) is not stale.
    """
    while (bucket := host.buckets.get(number)) is not None and bucket.read < bucket.write:
        fingerprint = entry(rows, host, number, bucket.read)
        row = rows.url(fingerprint) if fingerprint else None
        if row is not None and (
            (row.bucket, row.position) == (number, bucket.read)
            or is_lost(rows, host, fingerprint, row)
        ):
            return fingerprint, row
        bucket.stale = max(bucket.stale - 1, 0)
        advance(rows, host, number)
    return None


def advance(rows: Rows, host: HostRow, number: int) -> None:
    """Take the first entry out of the bucket; an empty bucket goes, but for those of new URLs."""
    bucket = host.buckets[number]
    bucket.read += 1
    last = bucket.read == bucket.write and not is_new(number)
    if last:
        del host.buckets[number]
    if last or bucket.read % CHUNK == 0:
        rows.save_chunk(_key(host, number, bucket.read - 1), b"")


def leave(host: HostRow, row: UrlRow) -> None:
    """The URL waits no more where its row says; does not change the row."""
    left = host.buckets.get(row.bucket)
    if left is not None and left.read <= row.position < left.write:
        left.stale += 1


def first_due(host: HostRow, now: float) -> int | None:
    """The bucket that has been due longest, None if none is."""
    ready = [
        (bucket.due, number)
        for number, bucket in host.buckets.items()
        if not is_new(number) and bucket.due <= now
    ]
    return min(ready)[1] if ready else None


def next_due_after(host: HostRow, now: float) -> float:
    """When the host's next bucket comes due after `now`; infinity without one."""
    later = (
        bucket.due
        for number, bucket in host.buckets.items()
        if not is_new(number) and bucket.due > now
    )
    return min(later, default=math.inf)


def due_count(host: HostRow, now: float) -> int:
    """URLs in buckets that are due."""
    return sum(
        bucket.count
        for number, bucket in host.buckets.items()
        if not is_new(number) and bucket.due <= now
    )


def has_new(host: HostRow) -> bool:
    """Whether there is anything to look at in the buckets of new URLs."""
    return any(bucket.read < bucket.write for bucket in _new(host))


def new_order(host: HostRow) -> list[int]:
    """The host's buckets of new URLs in the order in which they are to be asked now (D9)."""
    order = [number for number in (NEW_FIRST, NEW, NEW_LAST) if number in host.buckets]
    taken = sum(host.buckets[number].read for number in order)
    return order if (taken + 1) % _TURNS else order[::-1]


def new_count(host: HostRow) -> int:
    """URLs that wait for their turn now."""
    return sum(bucket.count for bucket in _new(host))


def retry_count(host: HostRow) -> int:
    """URLs that wait to be tried again after a failure."""
    return sum(bucket.count for bucket in host.buckets.values() if bucket.retry)


def fresh_count(host: HostRow) -> int:
    """URLs that were never fetched and wait for a later day."""
    return sum(bucket.count for bucket in host.buckets.values() if bucket.fresh)


def _new(host: HostRow) -> list[Bucket]:
    return [bucket for number, bucket in host.buckets.items() if is_new(number)]


def _append(rows: Rows, host: HostRow, number: int, fingerprint: bytes, row: UrlRow) -> None:
    bucket = host.buckets[number]
    key = _key(host, number, bucket.write)
    # What lies past `write` is left from a crash; it is written over.
    chunk = rows.chunk(key)[: bucket.write % CHUNK * _ID].ljust(bucket.write % CHUNK * _ID, b"\0")
    rows.save_chunk(key, chunk + fingerprint)
    leave(host, row)
    row.bucket, row.position = number, bucket.write
    bucket.write += 1


def entry(rows: Rows, host: HostRow, number: int, position: int) -> bytes:
    """The fingerprint at a position of a bucket, stale or not; empty if there is none."""
    offset = position % CHUNK * _ID
    return rows.chunk(_key(host, number, position))[offset : offset + _ID]


def _key(host: HostRow, number: int, position: int) -> bytes:
    return b"%s\0%d\0%d" % (host.name.encode(), number, position // CHUNK)
