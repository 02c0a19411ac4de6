"""What the tables hold, packed, and one event's view of them.

Three tables: `urls` (fingerprint -> UrlRow), `hosts` (host -> HostRow) and `timeline` (chunk key
-> fingerprints). A row is read at most once and written at most once per event, because a
table write costs a changelog record.
"""

from collections.abc import MutableMapping
from typing import Protocol

import msgspec

from services.common.records import Hop, PriceSet, Rules
from services.scheduler.policies.belief import HostBelief

NEW_FIRST, NEW, NEW_LAST = -2, 0, -3
"""Buckets of URLs that wait for their turn now, never fetched or asked for by a job, by
priority. Numbers above are those of buckets with a due time."""
NOWHERE = -1
"""Bucket of URLs that wait for nothing: their job has all its pages, or they are deleted."""


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """What the frontier said of a URL whose redirects lead nowhere."""

    at: float
    """`scheduled_at` of the report that said so."""
    reason: str


class UrlRow(msgspec.Struct, array_like=True, kw_only=True):
    """One known URL (A1). Times are epoch seconds, 0 for never."""

    url: str
    job: str
    depth: int
    bucket: int = NEW
    position: int = -1
    """Where in `bucket` it waits; with `bucket` the truth about its place in the timeline."""
    due: float = 0.0
    interval: float = 0.0
    plan: bytes = b""
    """What the recrawl policy remembers."""
    attempt: int = 0
    """Failures in a row."""
    outcome: str = ""
    scheduled: float = 0.0
    """`scheduled_at` of the newest report taken; older reports change nothing."""
    fetched: float = 0.0
    """Last successful fetch."""
    changed: float = 0.0
    follow: bool = False
    stored: bool = False
    """Counts towards its job's `max_pages`."""
    etag: str | None = None
    last_modified: str | None = None
    body_digest: bytes | None = None
    text_digest: bytes | None = None
    priority: float = 0.5
    """Which of the buckets of new URLs it waits in when its turn is now."""
    reason: str = ""
    """Why its last request was emitted (A16)."""
    moves: int = 0
    """Times in a row that it redirected to another writing of itself."""
    size: int = 0
    """Octets of the body last received."""
    sitemap_level: int = 0
    """Above 0: it was first known as a sitemap; see `UrlDiscovered`."""
    listing: bool = False
    """A sitemap or feed, by what was read or is expected: no page, whatever its job may store."""
    deleted: float = 0.0
    """When an operator deleted this one URL; 0 if nobody did. See deletion.py."""
    trail: list[Hop] = []
    """URLs that redirect here, until it is fetched; see dead_ends.py."""
    ended: Ended | None = None
    """None: its redirects never led to a dead end."""


class Bucket(msgspec.Struct, array_like=True):
    """A queue of fingerprints on disk; entries `read` to `write` are waiting or stale."""

    due: float
    read: int = 0
    write: int = 0
    stale: int = 0
    """Entries whose URL has moved elsewhere since."""
    retry: bool = False
    """Its URLs failed and are tried again soon: they count as pending."""
    moved: bool = False
    """An operator has set its due time; that of its URLs' rows counts no more."""
    asked: bool = False
    """An operator asked for its URLs now."""
    fresh: bool = False
    """Its URLs were never fetched, and too many to be due at once: see overflow.py."""

    @property
    def count(self) -> int:
        """URLs that wait in it."""
        return max(self.write - self.read - self.stale, 0)


class Flight(msgspec.Struct, array_like=True):
    """A request that was handed out and not reported back (A8)."""

    scheduled: float
    lease_until: float
    depth: int
    job: str
    """The job whose `max_pages` it counts towards; empty if none."""
    reason: str = ""
    """Why it was emitted."""


class Landed(msgspec.Struct, array_like=True):
    """A report that the host's row has counted; what it knows if the URL's row got lost."""

    scheduled: float
    state: str


class Mapping(msgspec.Struct, array_like=True, frozen=True, kw_only=True):
    """Where a host's permanent redirects lead as a whole; see host_mapping.py. Epoch seconds."""

    host: str = ""
    """The other host; empty if no redirect says so since `since`."""
    scheme: str = ""
    """The scheme there; empty: as the URL has it."""
    seen: tuple[bytes, ...] = ()
    """Fingerprints of the URLs that said so, as many as are needed."""
    since: float = 0.0
    """What was fetched up to this time counts no more."""
    at: float = 0.0
    """When the newest that counts was fetched."""
    until: float = 0.0
    """The mapping holds until then, as it was told; 0: not confirmed often enough."""


class Deleted(msgspec.Struct, array_like=True, frozen=True):
    """URLs of a host that an operator deleted, known and yet to be found."""

    prefix: str
    """How their paths begin."""
    at: float
    """When, in epoch seconds."""


class Sweep(msgspec.Struct, array_like=True, frozen=True):
    """A `move` that not all hosts have obeyed yet; see sweep.py and `Command`."""

    id: str
    due_from: float
    due_to: float | None
    at: float


class Silence(msgspec.Struct, array_like=True):
    """A host's failures to answer, since it last did."""

    since: float
    """When the first request that got no answer was emitted."""
    incidents: int = 0
    """How often; requests under way together count once."""
    last: float = 0.0
    """When the last of them was learnt of."""


class HostRow(msgspec.Struct, array_like=True, kw_only=True):
    """One host: its pace, its part of the timeline and its requests under way."""

    name: str
    partition: int
    rules: dict[str, Rules] = {}
    buckets: dict[int, Bucket] = {}
    next_bucket: int = NEW + 1
    flights: dict[bytes, Flight] = {}
    counts: dict[str, int] = {}
    """URLs that are not pending, by state."""
    pages: dict[str, int] = {}
    """Stored pages of jobs that have a `max_pages`."""
    crawl_delay: float = 0.0
    backoff: float = 0.0
    troubled: float = 0.0
    """When the back-off was last widened."""
    not_before: float = 0.0
    """No request is handed out before this time."""
    landed: dict[bytes, Landed] = {}
    """The last reports, newest last, by fingerprint; see `Accounts.state`."""
    known: int = 0
    """URLs, in whatever state."""
    incidents: int = 0
    """Times in a row that the back-off was widened, without a success between."""
    mapping: Mapping | None = None
    """None: no URL of it ever redirected to the same URL of another host."""
    silence: Silence | None = None
    """None: its last answer is newer than its last failure to give one."""
    answered: float = 0.0
    """When the newest request that got an HTTP answer was emitted; 0 for none yet."""
    moving: str = ""
    """The group it goes to when nothing is under way; empty for none."""
    group: str = ""
    """The group its requests are served with, see `FetchRequested`; empty: not known yet."""
    belief: HostBelief | None = None
    """What its URLs taught of their changes; None before the first comparison."""
    planned: float = 0.0
    """Sum of its URLs' planned rates, fetches a second; see plan.py."""
    plans: int = 0
    """URLs in that sum."""
    priorities: float = 0.0
    """Sum of their priorities."""
    deleted: list[Deleted] = []
    """What of it is never to be fetched again; a short list."""
    paused: float = 0.0
    """Since when an operator wants nothing of it handed out; 0: not paused."""
    obeyed: list[str] = []
    """Ids of the last commands about it as a whole, newest last: they may come again."""
    sweeps: list[Sweep] = []
    """Of a partition's own row only."""


class Tables(Protocol):
    """Where rows are kept: Faust tables in the service, dicts in tests."""

    @property
    def urls(self) -> MutableMapping[bytes, bytes]: ...  # noqa: D102
    @property
    def hosts(self) -> MutableMapping[bytes, bytes]: ...  # noqa: D102
    @property
    def timeline(self) -> MutableMapping[bytes, bytes]: ...  # noqa: D102


_encode = msgspec.msgpack.Encoder().encode
decode_url = msgspec.msgpack.Decoder(UrlRow).decode
decode_host = msgspec.msgpack.Decoder(HostRow).decode
_decode_price = msgspec.msgpack.Decoder(PriceSet).decode
_PRICE = b"\0price"
"""Key of the price, which is no host's, among the chunks: no host's name begins so."""


class Rows:
    """One event's view of the tables: reads through, remembers, and writes at the end."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._urls: dict[bytes, UrlRow | None] = {}
        self._hosts: dict[str, HostRow | None] = {}
        self._chunks: dict[bytes, bytes] = {}
        self._dirty_urls: set[bytes] = set()
        self._dirty_hosts: set[str] = set()
        self._dirty_chunks: set[bytes] = set()

    def url(self, fingerprint: bytes) -> UrlRow | None:
        """The row of a URL, None if it is unknown."""
        if fingerprint not in self._urls:
            packed = self._tables.urls.get(fingerprint)
            self._urls[fingerprint] = decode_url(packed) if packed else None
        return self._urls[fingerprint]

    def host(self, name: str) -> HostRow | None:
        """The row of a host, None if it is unknown."""
        if name not in self._hosts:
            packed = self._tables.hosts.get(name.encode())
            self._hosts[name] = decode_host(packed) if packed else None
        return self._hosts[name]

    def chunk(self, key: bytes) -> bytes:
        """Fingerprints of one chunk of a bucket, one after another; empty if there is none."""
        if key not in self._chunks:
            self._chunks[key] = self._tables.timeline.get(key) or b""
        return self._chunks[key]

    def price(self) -> PriceSet | None:
        """The price of a recrawl that was set last, None before the first."""
        packed = self.chunk(_PRICE)
        return _decode_price(packed) if packed else None

    def save_price(self, price: PriceSet) -> None:
        """Write the price when the event ends."""
        self.save_chunk(_PRICE, _encode(price))

    def save_url(self, fingerprint: bytes, row: UrlRow) -> None:
        """Write the row when the event ends."""
        self._urls[fingerprint] = row
        self._dirty_urls.add(fingerprint)

    def delete_url(self, fingerprint: bytes) -> None:
        """Remove the row when the event ends."""
        self._urls[fingerprint] = None
        self._dirty_urls.add(fingerprint)

    def save_host(self, row: HostRow) -> None:
        """Write the row when the event ends."""
        self._hosts[row.name] = row
        self._dirty_hosts.add(row.name)

    def save_chunk(self, key: bytes, chunk: bytes) -> None:
        """Write the chunk when the event ends; an empty one is deleted."""
        self._chunks[key] = chunk
        self._dirty_chunks.add(key)

    def flush(self) -> None:
        """Write what changed.

        Places first, then what points at them: a crash between two writes leaves an entry
        without an owner rather than a URL without a place.
        """
        for key in self._dirty_chunks:
            if self._chunks[key]:
                self._tables.timeline[key] = self._chunks[key]
            else:
                self._tables.timeline.pop(key, None)
        for name in self._dirty_hosts:
            self._tables.hosts[name.encode()] = _encode(self._hosts[name])
        for fingerprint in self._dirty_urls:
            if self._urls[fingerprint] is None:
                self._tables.urls.pop(fingerprint, None)
            else:
                self._tables.urls[fingerprint] = _encode(self._urls[fingerprint])
        self._dirty_chunks.clear()
        self._dirty_hosts.clear()
        self._dirty_urls.clear()
