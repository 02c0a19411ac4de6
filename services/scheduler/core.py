"""What one partition decides: events in, rows changed, fetch requests out (A1-A3, A8).

A pure core: rows come in through a `Rows` view, the time as an argument. What is kept in memory
is derived from the host rows and rebuilt from them by `load`. Repeating an event changes
nothing, because Kafka delivers at least once.
"""

from collections import Counter
from collections.abc import Iterable

from services.common.records import (
    HANDED_OVER,
    AdmittedUrl,
    Command,
    CrawlReported,
    FetchRequested,
    HostUpdated,
    Outcome,
    Rules,
    UrlAdmitted,
)
from services.common.settings import Scheduler
from services.scheduler import (
    commands,
    dead_ends,
    deletion,
    explain,
    groups,
    history,
    host_mapping,
    overflow,
    pace,
    quarantine,
    timeline,
)
from services.scheduler.accounts import PENDING, Accounts
from services.scheduler.dispatch import Dispatcher
from services.scheduler.host_facts import host_facts
from services.scheduler.intake import Intake
from services.scheduler.jobs import JobLedger
from services.scheduler.known import wants_again
from services.scheduler.policies.choice import Chooser
from services.scheduler.ready import Ready
from services.scheduler.recrawls import Recrawls
from services.scheduler.rows import Flight, HostRow, Mapping, Rows, UrlRow
from services.scheduler.sweep import Sweeps, is_keeper

_WAKES = 128
"""Hosts looked at by one tick at most, so that no event takes long."""


class Partition:
    """The scheduler of one partition's hosts."""

    def __init__(
        self,
        number: int,
        settings: Scheduler,
        chooser: Chooser,
        jobs: JobLedger,
        intake: Intake | None = None,
    ) -> None:
        """`jobs` and `intake` are shared by one worker's partitions."""
        self.happened: Counter[str] = Counter()
        """Things worth counting since the shell last took them."""
        self.updated: dict[str, HostUpdated] = {}
        """What others are to be told of hosts, since the shell last took it."""
        self._number = number
        self._settings = settings
        self.recrawls = Recrawls(number, settings, chooser)
        self._jobs = jobs
        self._intake = intake or Intake(settings.max_waiting)
        self._accounts = Accounts(settings.max_attempts, jobs)
        self._ready = Ready(settings)
        self._mappings = host_mapping.Expiries()
        self._sweeps = Sweeps(number)
        self._dispatcher = Dispatcher(settings, self._ready, self._accounts, jobs, self.recrawls)

    def load(self, hosts: Iterable[HostRow], now: float) -> None:
        """Rebuild what is in memory, after the tables were recovered."""
        keeper = None
        for host in hosts:
            if is_keeper(host):
                keeper = host
                continue
            self._accounts.load(host)
            self.recrawls.load(host, now)
            self._ready.place(host, now)
            self._mappings.note(host.name, host.mapping)
        if keeper is not None:
            self._sweeps.load(keeper, self._ready.names())
        self._intake.count(self._number, self._ready.loads["uncrawled"])

    def unload(self) -> None:
        """The partition moves to another worker."""
        self._accounts.unload()
        self._intake.forget(self._number)

    def admit(
        self, event: UrlAdmitted, rows: Rows, now: float, *, replay: bool = False
    ) -> list[FetchRequested]:
        """URLs that passed the frontier: new ones wait for their turn, known ones mostly not.

        `replay`: the event may have been handled before by a process that was killed, here
        but not in the changelog; so what it wrote is written again.
        """
        host = self._host(rows, event.host)
        if history.only(event):
            # What a live job says of its rules is newer than what was told of its past.
            host.rules.setdefault(event.rules.job, event.rules)
        else:
            host.rules[event.rules.job] = event.rules
        for admitted in event.urls:
            row = rows.url(admitted.fingerprint)
            if deletion.covers(host, admitted.url) or (row is not None and row.deleted):
                self.happened["deleted"] += 1
                deletion.refuse(rows, host, admitted.fingerprint, row)
                if replay and row is not None:
                    rows.save_host(host)
                continue
            before = self._accounts.counted_as(rows, host, admitted.fingerprint, row)
            if admitted.past is not None:
                self._remember(event, admitted, rows, host, now=now, replay=replay)
                continue
            if row is None:
                if 0 < self._settings.max_urls_per_host <= host.known:
                    self.happened["host-full"] += 1
                    continue
                row = UrlRow(
                    url=admitted.url,
                    job=event.rules.job,
                    depth=admitted.depth,
                    priority=admitted.priority,
                    sitemap_level=admitted.sitemap_level,
                    listing=admitted.sitemap_level > 0,
                    trail=admitted.trail,
                )
                host.known += 1
            elif not self._wants_again(rows, event, host, admitted, row, now):
                self.happened["known"] += 1
                if replay:
                    _write_again(rows, host, admitted.fingerprint, row)
                continue
            limit = self._settings.max_new_per_host
            overflow.file_new(rows, host, admitted.fingerprint, row, now, limit=limit)
            rows.save_url(admitted.fingerprint, row)
            after = self._accounts.state(host, admitted.fingerprint, row)
            self._accounts.move(host, before, after)
        rows.save_host(host)
        self._ready.place(host, now)
        return self._dispatch(rows, now)

    def report(
        self, event: CrawlReported, rows: Rows, now: float, *, replay: bool = False
    ) -> list[FetchRequested]:
        """A fetch came back: learn from it, and let the URL wait for its next time.

        `replay`: as for `admit`.
        """
        host = self._host(rows, event.host)
        # A report that comes again teaches it nothing, and what a crash lost it learns anew.
        self._map(rows, host, host_mapping.learn(host.mapping, event, self._settings), now)
        if replay and host.mapping is not None:
            # The process that learned from it may have been killed before it told anyone; told
            # twice does no harm.
            self.updated[host.name] = host_facts(host, self._settings, now)
        row = rows.url(event.fingerprint)
        if row is not None and dead_ends.waits(host, event):
            dead_ends.note(row, event)
            rows.save_url(event.fingerprint, row)
        elif row is not None and event.scheduled_at <= row.scheduled:
            self.happened["duplicate"] += 1
            self._heal(rows, host, event.fingerprint, row, now=now)
            if replay:
                _write_again(rows, host, event.fingerprint, row)
        elif row is None and deletion.covers(host, event.url):
            self.happened["deleted"] += 1
            before = self._accounts.counted_as(rows, host, event.fingerprint, row)
            self._accounts.land(host, event.fingerprint)
            self._bury(rows, host, event.fingerprint, row, before)
        else:
            self._learn(event, rows, host, row, now)
        self._ready.place(host, now)
        return self._dispatch(rows, now)

    def tick(self, rows: Rows, now: float) -> list[FetchRequested]:
        """Time has passed: leases end, buckets come due, back-offs are over."""
        self.recrawls.report(self._ready.pending["due"], now)
        for _ in range(_WAKES):
            name = self._mappings.take(now)
            host = rows.host(name) if name is not None else None
            if host is None:
                break
            self._map(rows, host, host_mapping.expire(host.mapping, now), now)
        for _ in range(_WAKES):
            name = self._ready.wake(now)
            host = rows.host(name) if name is not None else None
            if host is None:
                break
            self._expire(rows, host, now)
            self._ready.place(host, now)
        if self._sweeps.count:
            for host in self._sweeps.go_on(rows, self._ready.names, now):
                self._ready.place(host, now)
        requests = self._dispatch(rows, now)
        if not requests and self._idle():
            requests = self._dispatcher.recrawl_idle(rows, now)
        return requests

    def needs_tick(self, now: float) -> bool:
        """Whether `tick` might find something to do."""
        times = (self._ready.next_wake(), self._mappings.next(), self.recrawls.reports_at())
        busy = self._dispatcher.waits() or self._idle() or self._sweeps.count > 0
        return busy or min(times) <= now

    @property
    def lag(self) -> float:
        """Seconds by which recrawls are handed out late (A5)."""
        return self._dispatcher.lag

    def status(self) -> dict[str, int]:
        """Counters, kept as things happen; never a scan (G4)."""
        settled = {state: count for state, count in self._accounts.totals.items() if count}
        pending = self._ready.pending
        known = sum(settled.values()) + sum(pending[state] for state in PENDING)
        stopped = {"partitions_stopped": 1} if self._intake.stopped else {}
        if self._sweeps.count:
            stopped["commands_under_way"] = self._sweeps.count
        return {**settled, **pending, **stopped, "known": known, "hosts": self._accounts.hosts}

    def explain(self, host_name: str, fingerprint: bytes, rows: Rows, now: float) -> dict[str, str]:
        """What is known of one URL, in words (G3)."""
        row, host = rows.url(fingerprint), rows.host(host_name)
        rules, filed = None, False
        if row is not None and host is not None:
            rules = host.rules.get(row.job)
            filed = timeline.is_filed(rows, host, fingerprint, row)
        view = explain.View(
            row=row,
            policy=None if row is None or host is None else self.recrawls.policy(host, row),
            price=self.recrawls.price(rows),
            host=host,
            flight=None if host is None else host.flights.get(fingerprint),
            state=None if host is None else self._accounts.state(host, fingerprint, row),
            filed=filed,
            job_has_room=self._jobs.room(rules or Rules()),
            in_flight=self._accounts.in_flight,
            partition_has_room=host is None or self._dispatcher.has_room(host),
        )
        return explain.explain(view, self._settings, now)

    def command(self, command: Command, rows: Rows, now: float) -> dict[str, int]:
        """Do what an operator wants; counts of what was done. See commands.py."""
        if not command.host:
            return self._sweeps.begin(command, rows, self._ready.names())
        host = rows.host(command.host)
        if host is None and (command.name not in commands.CREATING or command.fingerprint):
            return {"unknown": 1}
        host = host or self._host(rows, command.host)
        if command.fingerprint:
            row = rows.url(command.fingerprint)
            if row is not None:
                self.recrawls.plan.leave(host, row)
            done = commands.to_url(command, rows, self._accounts, host, row)
            if row is not None:
                self.recrawls.plan.join(host, row)
        else:
            done = commands.to_host(command, host, now)
            rows.save_host(host)
        self._ready.place(host, now)
        return {name: count for name, count in done.items() if count}

    def _dispatch(self, rows: Rows, now: float) -> list[FetchRequested]:
        requests = self._dispatcher.dispatch(rows, now)
        self._intake.count(self._number, self._ready.loads["uncrawled"])
        return requests

    def _idle(self) -> bool:
        return self._settings.recrawl_when_idle and self._accounts.in_flight == 0

    def _host(self, rows: Rows, name: str) -> HostRow:
        host = rows.host(name)
        if host is None:
            host = HostRow(name=name, partition=self._number)
            self._accounts.hosts += 1
            rows.save_host(host)
        return host

    def _wants_again(  # noqa: PLR0917 - one call
        self,
        rows: Rows,
        event: UrlAdmitted,
        host: HostRow,
        admitted: AdmittedUrl,
        row: UrlRow,
        now: float,
    ) -> bool:
        """`wants_again`, with the plan told of a priority that rises, and the trail kept."""
        if dead_ends.take_trail(host, row, admitted, now):
            rows.save_url(admitted.fingerprint, row)
        if admitted.priority <= row.priority:
            return wants_again(rows, event, host, admitted, row)
        self.recrawls.plan.leave(host, row)
        wanted = wants_again(rows, event, host, admitted, row)
        self.recrawls.plan.join(host, row)
        return wanted

    def _map(self, rows: Rows, host: HostRow, mapping: Mapping | None, now: float) -> None:
        """Keep what is known of where the host moved, and tell others if that is news."""
        before, host.mapping = host.mapping, mapping
        if mapping is before:
            return
        rows.save_host(host)
        if host_mapping.told(before) != host_mapping.told(mapping):
            self.updated[host.name] = host_facts(host, self._settings, now)
            self._mappings.note(host.name, mapping)

    def _learn(
        self, event: CrawlReported, rows: Rows, host: HostRow, row: UrlRow | None, now: float
    ) -> None:
        fetch, event = event, dead_ends.judged(row, event)
        before = self._accounts.counted_as(rows, host, event.fingerprint, row)
        flight = host.flights.get(event.fingerprint)
        counted = self._accounts.has_counted(host, event.fingerprint, event.scheduled_at)
        if row is None:
            # Part of the state was lost; the report says enough to know the URL again (A9).
            self.happened["unknown"] += 1
            row = UrlRow(url=event.url, job=event.job, depth=0, stored=True)
            host.known += 1
        self._land(host, flight, event)
        row.reason = flight.reason if flight is not None else row.reason
        if event.dead_end:
            dead_ends.note(row, event)
        else:
            self._hear(host, fetch, now)
        # A request that was given back unsent says nothing of its page.
        unsent = event.reason in {"held-back", HANDED_OVER}
        spared = unsent or quarantine.spares(host, event, self._settings)
        if spared:
            row.scheduled, row.outcome = event.scheduled_at, event.outcome.value
        else:
            self.recrawls.learn(rows, host, row, event, now, counted)
            row.trail = row.trail if row.attempt else []
        rules = host.rules.get(event.job)
        found = event.outcome in (Outcome.OK, Outcome.UNCHANGED)
        if found and not (row.stored or row.listing):
            row.stored = event.job == row.job
            self._accounts.page_stored(host, None if counted else rules)
        if event.fingerprint not in host.flights and deletion.holds(host, row):
            self._bury(rows, host, event.fingerprint, row, before)
            return
        self._wait_again(event, rows, host, row, now, flight=flight, spared=spared)
        after = self._accounts.state(host, event.fingerprint, row)
        self._accounts.move(host, before, after)
        if after != "in_flight":
            self._accounts.note(host, event.fingerprint, event.scheduled_at, after)
        rows.save_url(event.fingerprint, row)
        rows.save_host(host)

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
            self._put_back(rows, host, event.fingerprint, row, now)
        else:
            self._file(rows, host, event.fingerprint, row, now)

    def _land(self, host: HostRow, flight: Flight | None, event: CrawlReported) -> None:
        """The request that is reported is under way no more."""
        if flight is not None and flight.scheduled <= event.scheduled_at:
            self._accounts.land(host, event.fingerprint)
        elif not event.dead_end:
            self.happened["late"] += 1

    def _hear(self, host: HostRow, event: CrawlReported, now: float) -> None:
        """Learn of the host, and tell others if it goes into quarantine or comes out."""
        held = quarantine.holds(host, self._settings)
        pace.learn(host, event, self._settings, now)
        groups.learn(host, event, self._settings, now)
        if held != quarantine.holds(host, self._settings):
            self.updated[host.name] = host_facts(host, self._settings, now)

    def _expire(self, rows: Rows, host: HostRow, now: float) -> None:
        """Take back requests whose lease is over (A8)."""
        lost = [fp for fp, flight in host.flights.items() if flight.lease_until <= now]
        for fingerprint in lost:
            row = rows.url(fingerprint)
            self._accounts.land(host, fingerprint)
            self.happened["lease-expired"] += 1
            if row is not None and deletion.holds(host, row):
                self._bury(rows, host, fingerprint, row, "in_flight")
                continue
            if row is not None:
                row.outcome = row.outcome or Outcome.TRANSIENT.value
                if quarantine.holds(host, self._settings):
                    self._put_back(rows, host, fingerprint, row, now)
                else:
                    self.recrawls.fail(host, row, now)
                    self._file(rows, host, fingerprint, row, now)
                rows.save_url(fingerprint, row)
            self._accounts.move(host, "in_flight", self._accounts.state(host, fingerprint, row))
        if lost:
            groups.stay(host)
            rows.save_host(host)

    def _remember(
        self,
        event: UrlAdmitted,
        admitted: AdmittedUrl,
        rows: Rows,
        host: HostRow,
        *,
        now: float,
        replay: bool,
    ) -> None:
        """Take in a URL with its history, unless as much is known of it already."""
        name, past = admitted.fingerprint, admitted.past
        row = rows.url(name)
        if past is None:
            return
        if row is not None and (name in host.flights or past.scheduled_at <= row.scheduled):
            self.happened["known"] += 1
            self._heal(rows, host, name, row, now=now, crashed=replay)
            if replay:
                _write_again(rows, host, name, row)
            return
        before = self._accounts.counted_as(rows, host, name, row)
        counted = self._accounts.has_counted(host, name, past.scheduled_at)
        if row is None:
            if not counted and 0 < self._settings.max_urls_per_host <= host.known:
                self.happened["host-full"] += 1
                return
            row = UrlRow(
                url=admitted.url,
                job=event.rules.job,
                depth=admitted.depth,
                priority=admitted.priority,
            )
            host.known += not counted
        if not counted:
            self.recrawls.plan.leave(host, row)
        policy = self.recrawls.policy(host, row)
        history.take(row, name, past, policy, settings=self._settings, now=now)
        if not counted:
            self.recrawls.plan.join(host, row)
        if row.fetched and not row.stored:
            row.stored = True
            self._accounts.page_stored(host, None if counted else event.rules)
        self._file(rows, host, name, row, now)
        after = self._accounts.state(host, name, row)
        self._accounts.move(host, before, after)
        self._accounts.note(host, name, past.scheduled_at, after)
        rows.save_url(name, row)

    def heal(
        self, host_name: str, fingerprint: bytes, rows: Rows, now: float
    ) -> tuple[bool, list[FetchRequested]]:
        """Whether a URL had lost its place and has one again; and what can be fetched now (A9)."""
        host, row = rows.host(host_name), rows.url(fingerprint)
        if host is None or row is None:
            return False, []
        healed = self._heal(rows, host, fingerprint, row, now=now, crashed=False)
        self._ready.place(host, now)
        return healed, self._dispatch(rows, now)

    def _heal(
        self,
        rows: Rows,
        host: HostRow,
        fingerprint: bytes,
        row: UrlRow,
        *,
        now: float,
        crashed: bool = True,
    ) -> bool:
        """Give a URL its place back that an event cut short may have left without one."""
        lost = timeline.is_lost(rows, host, fingerprint, row)
        if lost:
            # After a crash the host's row may not have counted it; else only its place is gone.
            before = (
                self._accounts.counted_as(rows, host, fingerprint, row)
                if crashed
                else self._accounts.state(host, fingerprint, row)
            )
            if crashed and not self._accounts.has_counted(host, fingerprint, row.scheduled):
                self.recrawls.plan.join(host, row)
            self._put_back(rows, host, fingerprint, row, now)
            after = self._accounts.state(host, fingerprint, row)
            self._accounts.move(host, before, after)
            self._accounts.note(host, fingerprint, row.scheduled, after)
            rows.save_url(fingerprint, row)
            rows.save_host(host)
        return lost

    def _bury(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow | None, before: str | None
    ) -> None:
        """Put a deleted URL away that came back."""
        if row is not None:
            self.recrawls.forget(host, row)
        deletion.bury(rows, self._accounts, host, fingerprint, row, before=before)

    def _put_back(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float
    ) -> None:
        """Let the URL wait where it waited before its request, behind the others."""
        if timeline.is_new(row.bucket):
            timeline.file_now(rows, host, fingerprint, row)
        else:
            self._file(rows, host, fingerprint, row, now)

    def _file(self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float) -> None:
        retry = 0 < row.attempt < self._settings.max_attempts
        # A retry may be due sooner than the buckets of recrawls are wide.
        finest = self._settings.retry_base / 4 if retry else self._settings.bucket_width
        due = timeline.slot(row.due, now, min(finest, self._settings.bucket_width))
        timeline.file_at(rows, host, fingerprint, row, due=due, retry=retry)


def _write_again(rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow) -> None:
    rows.save_url(fingerprint, row)
    rows.save_host(host)
    if timeline.is_filed(rows, host, fingerprint, row):
        timeline.write_again(rows, host, row)
