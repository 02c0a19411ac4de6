"""Requests come back, or do not: what a report teaches, and what a lease's end means (A8, C6).

The URL waits for its next time afterwards, or is put away. Repeating a report changes nothing.
"""

from collections import Counter

from services.common.records import UNSENT, CrawlReported, HostUpdated, Outcome
from services.common.settings import Scheduler
from services.scheduler import dead_ends, deletion, groups, pace, quarantine, timeline
from services.scheduler.accounts import Accounts
from services.scheduler.host_facts import host_facts
from services.scheduler.places import Places, write_again
from services.scheduler.recrawls import Recrawls
from services.scheduler.rows import Flight, HostRow, Rows, UrlRow


class Returns:
    """How one partition takes requests back."""

    def __init__(
        self,
        settings: Scheduler,
        accounts: Accounts,
        recrawls: Recrawls,
        places: Places,
        happened: Counter[str],
        *,
        updated: dict[str, HostUpdated],
    ) -> None:
        """`updated` takes what others are to be told of hosts."""
        self._settings = settings
        self._accounts = accounts
        self._recrawls = recrawls
        self._places = places
        self._happened = happened
        self._updated = updated

    def take(
        self, event: CrawlReported, rows: Rows, host: HostRow, now: float, *, replay: bool
    ) -> None:
        """Take a report in; the host is to be placed anew. `replay`: as for `Admission.take`."""
        name = event.fingerprint
        row = rows.url(name)
        if row is not None and dead_ends.waits(host, event):
            dead_ends.note(row, event)
            rows.save_url(name, row)
        elif row is not None and event.scheduled_at <= row.scheduled:
            self._happened["duplicate"] += 1
            self._places.heal(rows, host, name, row, now=now)
            if replay:
                write_again(rows, host, name, row)
        elif row is None and deletion.covers(host, event.url):
            self._happened["deleted"] += 1
            before = self._accounts.counted_as(rows, host, name, row)
            self._accounts.land(host, name)
            self._places.bury(rows, host, name, row, before)
        else:
            self._learn(event, rows, host, row, now)

    def expire(self, rows: Rows, host: HostRow, now: float) -> None:
        """Take back requests whose lease is over."""
        lost = [fp for fp, flight in host.flights.items() if flight.lease_until <= now]
        for fingerprint in lost:
            row = rows.url(fingerprint)
            self._accounts.land(host, fingerprint)
            self._happened["lease-expired"] += 1
            if row is not None and deletion.holds(host, row):
                self._places.bury(rows, host, fingerprint, row, "in_flight")
                continue
            if row is not None:
                row.outcome = row.outcome or Outcome.TRANSIENT.value
                if quarantine.holds(host, self._settings):
                    self._places.put_back(rows, host, fingerprint, row, now)
                else:
                    self._recrawls.fail(host, row, now)
                    self._places.file(rows, host, fingerprint, row, now)
                rows.save_url(fingerprint, row)
            self._accounts.move(host, "in_flight", self._accounts.state(host, fingerprint, row))
        if lost:
            groups.stay(host)
            rows.save_host(host)

    def _learn(
        self, event: CrawlReported, rows: Rows, host: HostRow, row: UrlRow | None, now: float
    ) -> None:
        fetch, event = event, dead_ends.judged(row, event)
        name = event.fingerprint
        before = self._accounts.counted_as(rows, host, name, row)
        flight = host.flights.get(name)
        counted = self._accounts.has_counted(host, name, event.scheduled_at)
        if row is None:
            # Part of the state was lost; the report says enough to know the URL again (A9).
            self._happened["unknown"] += 1
            row = UrlRow(url=event.url, job=event.job, depth=0, stored=True)
            host.known += 1
        self._land(host, flight, event)
        row.reason = flight.reason if flight is not None else row.reason
        if event.dead_end:
            dead_ends.note(row, event)
        else:
            self._hear(host, fetch, now)
        unsent = event.reason in UNSENT
        spared = unsent or quarantine.spares(host, event, self._settings)
        if spared:
            row.scheduled = event.scheduled_at
            row.outcome = (unsent and row.outcome) or event.outcome.value
        else:
            self._recrawls.learn(rows, host, row, event, now, counted)
            row.trail = row.trail if row.attempt else []
        found = event.outcome in (Outcome.OK, Outcome.UNCHANGED)
        if found and not (row.stored or row.listing):
            row.stored = event.job == row.job
            self._accounts.page_stored(host, None if counted else host.rules.get(event.job))
        if name not in host.flights and deletion.holds(host, row):
            self._places.bury(rows, host, name, row, before)
            return
        self._wait_again(event, rows, host, row, now, flight=flight, spared=spared)
        after = self._accounts.state(host, name, row)
        self._accounts.move(host, before, after)
        if after != "in_flight":
            self._accounts.note(host, name, event.scheduled_at, after)
        rows.save_url(name, row)
        rows.save_host(host)

    def _land(self, host: HostRow, flight: Flight | None, event: CrawlReported) -> None:
        """The request that is reported is under way no more."""
        if flight is not None and flight.scheduled <= event.scheduled_at:
            self._accounts.land(host, event.fingerprint)
        elif not event.dead_end:
            self._happened["late"] += 1

    def _hear(self, host: HostRow, event: CrawlReported, now: float) -> None:
        """Learn of the host, and tell others if it goes into quarantine or comes out."""
        held = quarantine.holds(host, self._settings)
        pace.learn(host, event, self._settings, now)
        groups.learn(host, event, self._settings, now)
        if held != quarantine.holds(host, self._settings):
            self._updated[host.name] = host_facts(host, self._settings, now)

    def _wait_again(
        self,
        event: CrawlReported,
        rows: Rows,
        host: HostRow,
        row: UrlRow,
        now: float,
        *,
        flight: Flight | None,
        spared: bool,
    ) -> None:
        """Let a URL that was reported wait for its next time; `flight`: its request."""
        rules = host.rules.get(event.job)
        deeper = flight is not None and row.depth < flight.depth
        limited = rules is not None and rules.max_depth is not None
        other = event.url != row.url or event.job != row.job
        if event.fingerprint in host.flights:
            pass  # A later request is under way; its report files the URL.
        elif other or (deeper and limited):
            # While it was under way it moved, another job took it over, or it came nearer to
            # a seed.
            row.follow = True
            timeline.file_now(rows, host, event.fingerprint, row)
        elif spared:
            self._places.put_back(rows, host, event.fingerprint, row, now)
        else:
            self._places.file(rows, host, event.fingerprint, row, now)
