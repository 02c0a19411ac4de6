"""Whether every URL is in exactly one place, and the counters tell the truth (G2).

Checks one partition's rows as they are in its tables, from outside: the scheduler's own counters
and memory have no part in it.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from services.scheduler import deletion, timeline
from services.scheduler.accounts import Accounts
from services.scheduler.jobs import JobLedger
from services.scheduler.rows import NOWHERE, HostRow, Rows, Tables, UrlRow, decode_host, decode_url

_DONE = frozenset({"ok", "unchanged", "moved"})
_REFUSED = frozenset({"disallowed", "policy", "over_limit", "deleted"})
_NOWHERE = ("over_limit", "deleted")
"""States of URLs that wait nowhere."""
_PENDING = frozenset({"waiting", "in_flight", "retrying"})


class Fault(NamedTuple):
    """Something that must not be."""

    kind: str
    """`orphan`: a URL that waits nowhere; `twice`: one in two places; `counters`: a host that
    counts wrong; `bucket`: a bucket that does."""
    where: str
    """The URL, or the host."""
    detail: str
    fingerprint: bytes = b""
    """Of an orphan whose place can be given back; empty otherwise."""


@dataclass(slots=True)
class Audit:
    """What one or more partitions hold."""

    jobs: dict[str, Counter[str]] = field(default_factory=dict)
    """Job -> `done`, `failed`, `refused`, `pending` -> URLs."""
    faults: list[Fault] = field(default_factory=list)
    watched: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    """Fingerprint -> job and class, of those asked for that are known."""
    deleted: dict[str, HostRow] = field(default_factory=dict)
    """Hosts of which a part was deleted."""
    full: set[str] = field(default_factory=set)
    """Hosts that have all the URLs they may."""

    def add(self, other: "Audit") -> None:
        """Take in another partition's."""
        for job, counts in other.jobs.items():
            self.jobs.setdefault(job, Counter()).update(counts)
        self.faults += other.faults
        self.watched |= other.watched
        self.deleted |= other.deleted
        self.full |= other.full

    def refuses(self, host: str, url: str) -> bool:
        """Whether the scheduler takes no such URL if it does not know it: that leaves no row."""
        row = self.deleted.get(host)
        return host in self.full or (row is not None and deletion.covers(row, url))


def check(
    tables: Tables,
    max_attempts: int,
    watch: frozenset[bytes] = frozenset(),
    *,
    max_urls: int = 0,
) -> Audit:
    """Look at every row of a partition.

    `watch`: URLs whose class is to be told; `max_urls`: what a host may have, 0 for any number.
    """
    return _Check(tables, max_attempts, watch, max_urls).run()


def classed(state: str | None) -> str:
    """The class of a state: `done`, `failed`, `refused` or `pending`."""
    if state in _DONE:
        return "done"
    if state in _PENDING:
        return "pending"
    return "refused" if state in _REFUSED else "failed"


class _Check:
    def __init__(
        self, tables: Tables, max_attempts: int, watch: frozenset[bytes], max_urls: int
    ) -> None:
        self._tables = tables
        self._rows = Rows(tables)
        self._accounts = Accounts(max_attempts, JobLedger())
        self._watch = watch
        self._max_urls = max_urls
        self._audit = Audit()
        self._placed: dict[bytes, str] = {}
        self._nowhere: Counter[str] = Counter()

    def run(self) -> Audit:
        hosts = [decode_host(packed) for packed in self._tables.hosts.values()]
        counts, held = Counter[str](), Counter[str]()
        for host in hosts:
            counts.update(self._host(host))
            held.update({state: host.counts.get(state, 0) for state in _NOWHERE})
            if host.deleted:
                self._audit.deleted[host.name] = host
            if 0 < self._max_urls <= host.known:
                self._audit.full.add(host.name)
        for fingerprint, packed in self._tables.urls.items():
            if fingerprint not in self._placed:
                self._unplaced(fingerprint, decode_url(packed))
        known = sum(host.known for host in hosts)
        if known != len(self._tables.urls):
            self._fault("counters", "all hosts", f"{known} known, {len(self._tables.urls)} rows")
        if +held != self._nowhere:
            self._fault("counters", "all hosts", f"held {held}, {self._nowhere} rows")
        return self._audit

    def _host(self, host: HostRow) -> Counter[str]:
        """Every URL that the host's row leads to."""
        counts: Counter[str] = Counter()
        for fingerprint in host.flights:
            row = self._rows.url(fingerprint)
            counts["in_flight"] += 1
            self._place(fingerprint, row, "in_flight", f"under way at {host.name}")
        for number in host.buckets:
            counts.update(self._bucket(host, number))
        counted = {state: count for state, count in host.counts.items() if state not in _NOWHERE}
        settled = {state: n for state, n in counts.items() if state not in _PENDING}
        if counted != settled:
            self._fault("counters", host.name, f"counted {counted}, found {settled}")
        return counts

    def _bucket(self, host: HostRow, number: int) -> Counter[str]:
        bucket = host.buckets[number]
        counts: Counter[str] = Counter()
        for position in range(bucket.read, bucket.write):
            fingerprint = timeline.entry(self._rows, host, number, position)
            row = self._rows.url(fingerprint)
            if row is None or (row.bucket, row.position) != (number, position):
                continue  # stale: it has moved since
            if fingerprint in host.flights:
                continue  # counted as under way, and asked for again meanwhile
            state = self._accounts.state(host, fingerprint, row) or "unknown"
            counts[state] += 1
            self._place(fingerprint, row, state, f"bucket {number} of {host.name}")
        if counts.total() != bucket.count:
            detail = f"bucket {number} counts {bucket.count}, holds {counts.total()}"
            self._fault("bucket", host.name, detail)
        return counts

    def _place(self, fingerprint: bytes, row: UrlRow | None, state: str, place: str) -> None:
        before = self._placed.setdefault(fingerprint, place)
        if before != place:
            self._fault("twice", row.url if row else fingerprint.hex(), f"{before} and {place}")
        elif row is None:
            self._fault("orphan", fingerprint.hex(), f"{place}, but has no row")
        else:
            self._count(fingerprint, row, state)

    def _unplaced(self, fingerprint: bytes, row: UrlRow) -> None:
        if row.bucket == NOWHERE:
            state = "deleted" if row.deleted else "over_limit"
            self._nowhere[state] += 1
            self._count(fingerprint, row, state)
        else:
            detail = f"not in its bucket {row.bucket} at {row.position}"
            self._audit.faults.append(Fault("orphan", row.url, detail, fingerprint))

    def _count(self, fingerprint: bytes, row: UrlRow, state: str) -> None:
        found = classed(state)
        self._audit.jobs.setdefault(row.job, Counter())[found] += 1
        if fingerprint in self._watch:
            self._audit.watched[fingerprint] = (row.job, found)

    def _fault(self, kind: str, where: str, detail: str) -> None:
        self._audit.faults.append(Fault(kind, where, detail))
