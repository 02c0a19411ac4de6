"""No more new URLs are taken than may wait, and none is refused for it."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.common.records import Outcome
from services.scheduler.intake import Intake


def test_it_stops_at_the_limit_and_goes_on_below_nine_tenths() -> None:
    intake = Intake(100)
    for waiting, stopped in ((99, False), (100, True), (95, True), (90, True), (89, False)):
        intake.count(0, waiting)
        assert intake.stopped == stopped


def test_the_workers_partitions_count_together_and_leave_together() -> None:
    intake = Intake(100)
    intake.count(0, 60)
    intake.count(1, 40)
    assert intake.stopped
    intake.forget(1)
    assert not intake.stopped


@given(counts=st.lists(st.integers(0, 10**9)))
def test_without_a_limit_it_never_stops(counts: list[int]) -> None:
    intake = Intake(0)
    for count in counts:
        intake.count(0, count)
        assert not intake.stopped


def test_a_limit_of_one_reopens(desk: Callable[..., Any]) -> None:
    d = desk(max_waiting=1, host_window=1)
    d.admit("http://h.test/1", "http://h.test/2")
    assert d.status()["partitions_stopped"] == 1
    d.report(d.under_way[0], status=200)
    assert "partitions_stopped" not in d.status()


def test_urls_of_a_host_in_quarantine_stop_nobody(desk: Callable[..., Any]) -> None:
    d = desk(max_waiting=5, quarantine_after=1, host_window=1)
    d.admit(*(f"http://h.test/{n}" for n in range(9)))
    assert d.status()["partitions_stopped"] == 1
    d.report(d.under_way[0], Outcome.TRANSIENT, reason="connect-timeout")
    assert "partitions_stopped" not in d.status()
