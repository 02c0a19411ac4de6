"""Every known URL is in exactly one state; the counts are kept as things happen (G2, G4).

Pending URLs are counted where they wait (`Ready.pending`), from the host's row alone, so that
no crash can make the two disagree. The others are counted here, as they go from state to state.
"""

from collections import Counter

from services.common.records import Rules
from services.scheduler import timeline
from services.scheduler.jobs import JobLedger
from services.scheduler.rows import NOWHERE, Flight, HostRow, Landed, Rows, UrlRow

PENDING = ("waiting", "in_flight", "retrying", "paused")
_REMEMBERED = 64
"""Reports of a host that may be repeated after a crash; about 30 octets each in its row."""


class Accounts:
    """One partition's totals, and its share of the jobs' page limits."""

    def __init__(self, max_attempts: int, jobs: JobLedger) -> None:
        self.totals: Counter[str] = Counter()
        self.hosts = 0
        self.in_flight = 0
        self._max_attempts = max_attempts
        self._jobs = jobs
        self._stored: Counter[str] = Counter()
        self._under_way: Counter[str] = Counter()

    def load(self, host: HostRow) -> None:
        """Count in a host that was recovered."""
        self.hosts += 1
        self.totals.update(host.counts)
        self.in_flight += len(host.flights)
        for job, pages in host.pages.items():
            self._store(job, pages)
        for flight in host.flights.values():
            self._hold(flight.job, 1)

    def unload(self) -> None:
        """Take this partition's share out of the ledger; it moves to another worker."""
        for job, pages in self._stored.items():
            self._jobs.stored(job, -pages)
        for job, pages in self._under_way.items():
            self._jobs.under_way(job, -pages)

    def state(self, host: HostRow, fingerprint: bytes, row: UrlRow | None) -> str | None:
        """The state a URL is in; the pending ones are told apart by `Ready`.

        The others are `over_limit` (its job has all its pages), `deleted` (by an operator) and
        the outcome of its last fetch.

        A crash can keep a host's row and lose what the same event wrote into the URL's. The
        host's then says what it has counted, so that the event's repeat counts nothing twice.
        """
        if fingerprint in host.flights:
            return "in_flight"
        landed = host.landed.get(fingerprint)
        if landed is not None and (row is None or row.scheduled < landed.scheduled):
            return landed.state
        if row is None:
            return None
        if row.bucket == NOWHERE or timeline.is_new(row.bucket):
            held = "deleted" if row.deleted else "over_limit"
            return held if row.bucket == NOWHERE else "waiting"
        if 0 < row.attempt < self._max_attempts:
            return "retrying"
        return row.outcome or "waiting"

    def counted_as(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow | None
    ) -> str | None:
        """The state that the host's row has counted a URL in, None if it has not.

        That is the state the URL's row is in, unless a crash kept that and lost the host's.
        """
        if row is not None and row.scheduled and timeline.is_lost(rows, host, fingerprint, row):
            landed = host.landed.get(fingerprint)
            return None if landed is None else landed.state
        return self.state(host, fingerprint, row)

    @staticmethod
    def has_counted(host: HostRow, fingerprint: bytes, scheduled: float) -> bool:
        """Whether the host's row has counted this report, or a later one of the same URL."""
        landed = host.landed.get(fingerprint)
        return landed is not None and landed.scheduled >= scheduled

    def move(self, host: HostRow, before: str | None, after: str | None) -> None:
        """A URL went from one state to another; None is unknown."""
        if before == after:
            return
        for state, change in ((before, -1), (after, 1)):
            if state is not None and state not in PENDING:
                self.totals[state] += change
                host.counts[state] = host.counts.get(state, 0) + change
                if not host.counts[state]:
                    del host.counts[state]

    def take_off(self, host: HostRow, fingerprint: bytes, flight: Flight) -> None:
        """A request was handed out."""
        self.land(host, fingerprint)
        host.flights[fingerprint] = flight
        self.in_flight += 1
        self._hold(flight.job, 1)

    def land(self, host: HostRow, fingerprint: bytes) -> None:
        """A request came back or was given up; nothing happens if there was none."""
        flight = host.flights.pop(fingerprint, None)
        if flight is not None:
            self.in_flight -= 1
            self._hold(flight.job, -1)

    def note(self, host: HostRow, fingerprint: bytes, scheduled: float, state: str | None) -> None:
        """A report was counted: remember it for as long as a crash may bring it back."""
        host.landed.pop(fingerprint, None)
        host.landed[fingerprint] = Landed(scheduled, state or "")
        while len(host.landed) > _REMEMBERED:
            del host.landed[next(iter(host.landed))]

    def page_stored(self, host: HostRow, rules: Rules | None) -> None:
        """A page of a job was stored for the first time."""
        if rules is not None and rules.max_pages is not None:
            host.pages[rules.job] = host.pages.get(rules.job, 0) + 1
            self._store(rules.job, 1)

    def _hold(self, job: str, pages: int) -> None:
        if job:
            self._under_way[job] += pages
            self._jobs.under_way(job, pages)

    def _store(self, job: str, pages: int) -> None:
        self._stored[job] += pages
        self._jobs.stored(job, pages)
