"""The four services as child processes, on real engines."""

import time
from collections.abc import Callable

import psutil
import pytest

from services.common.errors import Stop
from services.common.kafka.commands import Commander
from services.common.settings import Kafka, Settings
from services.local.supervisor import ORDER, Pipeline, pipeline

PATIENCE = 90.0


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.1)


def test_the_pipeline_starts_survives_kills_and_leaves_nothing_behind(settings: Settings) -> None:
    """F1, E3: all four are ready; one killed is started again; the end is the end of all."""
    reports: list[str] = []
    with pipeline(settings, reports.append) as running:
        assert running.problems() == []
        with Commander(settings.kafka) as commander:
            results = commander.status()
        assert len(results) == settings.kafka.partitions
        before = running.pids
        assert sorted(before) == sorted(ORDER)
        running.kill("parser")
        eventually(lambda: running.pids.get("parser", 0) not in {0, before["parser"]}, "a new one")
        running.await_ready()
        assert running.deaths["parser"] == 1
        assert any("parser died" in line for line in reports)
        assert running.stop("frontier") == 0
        assert any("frontier" in problem for problem in running.problems())
        running.start("frontier")
        running.await_ready()
        processes = [psutil.Process(pid) for pid in running.pids.values()]
    assert not any(process.is_running() for process in processes)


def test_a_service_that_keeps_dying_is_given_up_with_the_end_of_its_log(
    settings: Settings,
) -> None:
    wrong = settings.model_copy(
        update={"kafka": Kafka(bootstrap=settings.kafka.bootstrap, options={"no.such": "option"})}
    )
    running = Pipeline(wrong, print)
    try:
        running.begin()
        with pytest.raises(Stop, match=r"keeps dying[\s\S]*no\.such"):
            running.await_ready(PATIENCE)
    finally:
        running.end()
