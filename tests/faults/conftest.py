"""A crawl of the demo web that something is done to, on engines that may be stopped."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from services.cli.audit import look
from services.common import quiet, records
from services.common.records import Outcome
from services.common.settings import Cassandra, Kafka, Settings
from services.local import stored
from services.local.crawl import crawl
from services.local.demo import DemoWeb, Running, expected, serve
from services.local.engines import Endpoints
from services.local.engines import engines as local_engines
from services.local.live import Progress
from services.local.supervisor import Pipeline, pipeline

JOB = "faults"
WORLD = DemoWeb(hosts=5, pages=40, trap=False, crawl_delay=0.1)
PATIENCE = 120.0


class Fault(Protocol):
    """What is done to the running pipeline."""

    def __call__(self, running: Pipeline) -> None:
        """Do it; the crawl goes on when it returns."""


@pytest.fixture(scope="session")
def breakable(
    engines: Endpoints, engine_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoints]:
    """Engines that can be stopped: the session's, or our own if those are somebody's."""
    if engines.kafka_node is not None and engines.cassandra_node is not None:
        yield engines
        return
    place = {"data_dir": tmp_path_factory.mktemp("breakable")}
    nowhere = engine_settings.model_copy(
        update={
            "kafka": Kafka(),
            "cassandra": Cassandra(),
            "local": engine_settings.local.model_copy(update=place),
        }
    )
    with local_engines(nowhere, print) as own:
        yield own


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Running]:
    """The demo web, served."""
    with serve(WORLD, tmp_path / "access.log") as running:
        yield running


@dataclass(frozen=True)
class Trial:
    """Settings under which what is lost is soon found again, and the truth."""

    settings: Settings
    web: Running

    @property
    def homes(self) -> list[str]:
        """Seeds: every host but the one that is closed."""
        closed = [n for n in range(self.web.web.hosts) if self.web.web.role(n) == "closed"]
        return [self.web.web.home(n) for n in range(self.web.web.hosts) if n not in closed]

    @property
    def truth(self) -> dict[str, str]:
        """What each URL must come to."""
        return {
            url: right.outcome.value
            for home in self.homes
            for url, right in expected(self.web.web, [home], scope="host").items()
        }

    def found(self) -> dict[str, str]:
        """What each URL has come to; seen to be current counts as stored."""
        outcomes = stored.outcomes(self.settings.cassandra, JOB)
        return {
            url: Outcome.OK.value if outcome in stored.PAGE else outcome
            for url, outcome in outcomes.items()
        }


@pytest.fixture
def crawl_with(
    web: Running,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    tmp_path: Path,
) -> Callable[[Endpoints, Sequence[tuple[int, Fault]]], None]:
    """Crawls on these engines; does each fault once so many pages are stored; checks the end."""

    def run(on: Endpoints, faults: Sequence[tuple[int, Fault]]) -> None:
        with fresh(on, tmp_path) as own:
            trial = Trial(_hurried(own, web), web)
            with pipeline(trial.settings, print) as services:
                _check(trial, _follow(trial, services, faults))
                services.await_ready(PATIENCE)
                _account(trial.settings)

    return run


def _account(settings: Settings) -> None:
    """`recrawl audit` finds every seed and every URL in its place, once nothing moves (G2)."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found, _, lost = look(settings)
        if not found.faults and not lost:
            return
        assert time.monotonic() < deadline, (found.faults, lost)
        time.sleep(1)


def _hurried(own: Settings, web: Running) -> Settings:
    scheduler = {"min_gap": 0.05, "lease": 8.0, "retry_base": 0.5, "bucket_width": 0.5}
    fetcher = {"allow_private": web.networks, "contact": web.seeds[0]}
    runtime = {"retry_most": 2.0}
    return own.model_copy(
        update={
            "scheduler": own.scheduler.model_copy(update=scheduler),
            "fetcher": own.fetcher.model_copy(update=fetcher),
            "runtime": own.runtime.model_copy(update=runtime),
        }
    )


def _follow(trial: Trial, services: Pipeline, faults: Sequence[tuple[int, Fault]]) -> Progress:
    left = list(faults)
    deadline = time.monotonic() + PATIENCE

    def show(progress: Progress) -> None:
        assert time.monotonic() < deadline, f"still pending: {dict(progress.status)}"
        if left and progress.tally.stored >= left[0][0]:
            _, fault = left.pop(0)
            fault(services)

    progress = crawl(
        trial.settings.kafka,
        [records.Seed(url=home, job=JOB, scope="host") for home in trial.homes],
        ports=services.ports.values(),
        show=show,
        check=services.check,
        pending=quiet.RETRYING,
    )
    assert left == [], "the crawl was over before the fault"
    return progress


def _check(trial: Trial, progress: Progress) -> None:
    """Same truth as without faults; each URL in one state (G2), none of them pending."""
    assert trial.found() == trial.truth
    counts = dict(progress.status)
    known, hosts = counts.pop("known"), counts.pop("hosts")
    assert {name: counts.pop(name, 0) for name in quiet.RETRYING} == dict.fromkeys(
        quiet.RETRYING, 0
    )
    assert (sum(counts.values()), known) == (len(trial.truth), len(trial.truth))
    assert hosts == len(trial.homes)
