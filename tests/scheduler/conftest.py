"""A partition over plain dicts, with a clock that the test moves."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from services.common.records import (
    AdmittedUrl,
    Command,
    CrawlReported,
    FetchRequested,
    HostUpdated,
    Outcome,
    PriceSet,
    Rules,
    UrlAdmitted,
)
from services.common.settings import Scheduler
from services.common.urls import fingerprint
from services.scheduler import timeline
from services.scheduler.core import Partition
from services.scheduler.jobs import JobLedger
from services.scheduler.policies import choice
from services.scheduler.rows import HostRow, Rows, UrlRow, decode_host

HOUR = 3600.0
START = 1_700_000_000.0


class Table(dict[bytes, bytes]):
    """A table with a changelog, which a killed process may not have written to."""

    def __init__(self) -> None:
        super().__init__()
        self.changelog: dict[bytes, bytes] = {}
        self.connected = True

    def __setitem__(self, key: bytes, value: bytes) -> None:
        super().__setitem__(key, value)
        if self.connected:
            self.changelog[key] = value

    def recover(self) -> None:
        """The local store is gone; the changelog makes it anew."""
        self.clear()
        self.update(self.changelog)


@dataclass
class DictTables:
    urls: Table = field(default_factory=Table)
    hosts: Table = field(default_factory=Table)
    timeline: Table = field(default_factory=Table)

    @property
    def all(self) -> tuple[Table, Table, Table]:
        return self.urls, self.hosts, self.timeline


class Desk:
    """One scheduler partition; `under_way` is what it handed out and nobody reported yet."""

    def __init__(self, **settings: object) -> None:
        self.settings = Scheduler.model_validate({"min_gap": 0.0, **settings})
        self.tables = DictTables()
        self.jobs = JobLedger()
        self.now = START
        self.commands = 0
        self.under_way: list[FetchRequested] = []
        self.told: list[HostUpdated] = []
        """What others were told of hosts."""
        self.partition = self._new_partition()

    def admit(
        self,
        *urls: str,
        rules: Rules | None = None,
        depth: int = 0,
        host: str = "h.test",
        replay: bool = False,
        priority: float = 1.0,
    ) -> list[FetchRequested]:
        event = UrlAdmitted(
            host=host,
            rules=rules or Rules(),
            urls=[
                AdmittedUrl(
                    url=u, fingerprint=fingerprint(u), depth=depth, priority=priority / (1 + depth)
                )
                for u in urls
            ],
        )
        rows = Rows(self.tables)
        return self._done(rows, self.partition.admit(event, rows, self.now, replay=replay))

    def report(
        self, request: FetchRequested, outcome: Outcome = Outcome.OK, **fields: object
    ) -> list[FetchRequested]:
        return self.deliver(self.reported(request, outcome, **fields))

    def reported(
        self, request: FetchRequested, outcome: Outcome = Outcome.OK, **fields: object
    ) -> CrawlReported:
        made = CrawlReported(
            host=request.host,
            fingerprint=request.fingerprint,
            scheduled_at=request.scheduled_at,
            url=request.url,
            job=request.rules.job,
            outcome=outcome,
            reason="ok",
            fetched_at=self.now,
            elapsed=0.1,
            group=request.group or request.host,
        )
        return msgspec.structs.replace(made, **fields)

    def ended(self, fetch: CrawlReported) -> CrawlReported:
        """What the frontier says of a fetch whose redirect leads nowhere."""
        return CrawlReported(
            host=fetch.host,
            fingerprint=fetch.fingerprint,
            scheduled_at=fetch.scheduled_at + 0.0005,
            url=fetch.url,
            job=fetch.job,
            outcome=Outcome.PERMANENT,
            reason="redirect-loop",
            fetched_at=self.now,
            elapsed=0.0,
            dead_end=True,
        )

    def deliver(self, event: CrawlReported, *, replay: bool = False) -> list[FetchRequested]:
        self.under_way = [
            r
            for r in self.under_way
            if r.scheduled_at != event.scheduled_at or r.fingerprint != event.fingerprint
        ]
        rows = Rows(self.tables)
        return self._done(rows, self.partition.report(event, rows, self.now, replay=replay))

    def command(
        self, name: str, host: str = "h.test", url: str = "", **fields: object
    ) -> dict[str, int]:
        """What an operator is answered; `fields` as of `Command`."""
        self.commands += 1
        made = {
            "id": f"{self.commands}",
            "name": name,
            "asked_at": self.now,
            "host": host,
            "fingerprint": fingerprint(url) if url else b"",
        }
        return self.obey(msgspec.convert({**made, **fields}, Command))

    def obey(self, command: Command) -> dict[str, int]:
        rows = Rows(self.tables)
        done = self.partition.command(command, rows, self.now)
        rows.flush()
        return done

    def tick(self, seconds: float = 0.0) -> list[FetchRequested]:
        self.now += seconds
        rows = Rows(self.tables)
        return self._done(rows, self.partition.tick(rows, self.now))

    def set_price(self, price: float, *, longest: float = 0.0, priority: float = 1.0) -> None:
        """The controller's word reaches the partition."""
        rows = Rows(self.tables)
        record = PriceSet(price=price, longest=longest, priority=priority, at=self.now)
        self.partition.recrawls.set_price(record, rows)
        rows.flush()

    def restart(self) -> None:
        """A new process over the same tables; requests under way go on elsewhere."""
        self.jobs = JobLedger()
        self.partition = self._new_partition()
        hosts = [decode_host(packed) for packed in self.tables.hosts.values()]
        self.partition.load(hosts, self.now)

    def proven(self, name: str = "h.test") -> None:
        """Let the host have answered before."""
        rows = Rows(self.tables)
        rows.save_host(HostRow(name=name, partition=0, answered=START - HOUR, group=name))
        rows.flush()
        self.restart()

    def row(self, url: str) -> UrlRow:
        row = Rows(self.tables).url(fingerprint(url))
        assert row is not None
        return row

    def host(self, name: str = "h.test") -> HostRow:
        host = Rows(self.tables).host(name)
        assert host is not None
        return host

    def homeless(self) -> list[str]:
        """URLs that are neither under way, nor in the timeline, nor held: must be none."""
        rows = Rows(self.tables)
        lost = []
        for name in self.tables.hosts:
            host = rows.host(name.decode())
            assert host is not None
            for key in self.tables.urls:
                row = rows.url(key)
                assert row is not None
                if f"//{host.name}/" not in row.url or key in host.flights or row.bucket == -1:
                    continue
                if not timeline.is_filed(rows, host, key, row):
                    lost.append(row.url)
        return lost

    def status(self) -> dict[str, int]:
        return self.partition.status()

    def _new_partition(self) -> Partition:
        return Partition(0, self.settings, choice.read(self.settings), self.jobs)

    def _done(self, rows: Rows, requests: list[FetchRequested]) -> list[FetchRequested]:
        rows.flush()
        self.under_way += requests
        self.told += self.partition.updated.values()
        self.partition.updated.clear()
        return requests


@pytest.fixture
def desk() -> Callable[..., Desk]:
    return Desk
