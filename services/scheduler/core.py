"""What one partition decides: events in, rows changed, fetch requests out (A1-A3, A8).

A pure core: rows come in through a `Rows` view, the time as an argument. What is kept in memory
is derived from the host rows and rebuilt from them by `load`. Repeating an event changes
nothing, because Kafka delivers at least once.
"""

from collections import Counter
from collections.abc import Iterable

from services.common.records import (
    Command,
    CrawlReported,
    FetchRequested,
    HostUpdated,
    Rules,
    UrlAdmitted,
)
from services.common.settings import Scheduler
from services.scheduler import commands, explain, host_mapping, timeline
from services.scheduler.accounts import PENDING, Accounts
from services.scheduler.admission import Admission
from services.scheduler.dispatch import Dispatcher
from services.scheduler.host_facts import host_facts
from services.scheduler.intake import Intake
from services.scheduler.jobs import JobLedger
from services.scheduler.places import Places
from services.scheduler.policies.choice import Chooser
from services.scheduler.ready import Ready
from services.scheduler.recrawls import Recrawls
from services.scheduler.returns import Returns
from services.scheduler.rows import HostRow, Mapping, Rows
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
        self._places = Places(settings, self._accounts, self.recrawls)
        shared = (settings, self._accounts, self.recrawls, self._places, self.happened)
        self._admission = Admission(*shared)
        self._returns = Returns(*shared, updated=self.updated)

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

        `replay`: as for `Admission.take`.
        """
        host = self._host(rows, event.host)
        self._admission.take(event, rows, host, now, replay=replay)
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
        self._returns.take(event, rows, host, now, replay=replay)
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
            self._returns.expire(rows, host, now)
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

    def _map(self, rows: Rows, host: HostRow, mapping: Mapping | None, now: float) -> None:
        """Keep what is known of where the host moved, and tell others if that is news."""
        before, host.mapping = host.mapping, mapping
        if mapping is before:
            return
        rows.save_host(host)
        if host_mapping.told(before) != host_mapping.told(mapping):
            self.updated[host.name] = host_facts(host, self._settings, now)
            self._mappings.note(host.name, mapping)

    def heal(
        self, host_name: str, fingerprint: bytes, rows: Rows, now: float
    ) -> tuple[bool, list[FetchRequested]]:
        """Whether a URL had lost its place and has one again; and what can be fetched now (A9)."""
        host, row = rows.host(host_name), rows.url(fingerprint)
        if host is None or row is None:
            return False, []
        healed = self._places.heal(rows, host, fingerprint, row, now=now, crashed=False)
        self._ready.place(host, now)
        return healed, self._dispatch(rows, now)
