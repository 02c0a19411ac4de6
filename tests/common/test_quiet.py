"""When a crawl is over."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.kafka.offsets import Place
from services.common.quiet import RETRYING, Reading, beyond, is_quiet, total

PLACE = Place(service="parser", topic="fetch-completed", partition=0, committed=5, first=2, end=5)
DONE = Reading([PLACE])


def test_all_read_and_nothing_pending_is_quiet() -> None:
    assert is_quiet(DONE, {"known": 9, "waiting": 0}, DONE)


def test_a_record_on_the_way_is_not() -> None:
    behind = Reading([replace(PLACE, committed=4)])
    assert not is_quiet(behind, {}, DONE)
    assert not is_quiet(DONE, {}, behind)


def test_a_record_that_came_and_went_between_the_readings_is_not() -> None:
    moved = Reading([replace(PLACE, committed=6, end=6)])
    assert not is_quiet(DONE, {}, moved)


@pytest.mark.parametrize("state", ["waiting", "in_flight", "due"])
def test_work_in_the_scheduler_is_not(state: str) -> None:
    assert not is_quiet(DONE, {state: 1}, DONE)


def test_retries_for_later_count_only_if_asked() -> None:
    assert is_quiet(DONE, {"retrying": 1}, DONE)
    assert not is_quiet(DONE, {"retrying": 1}, DONE, RETRYING)


def test_retries_of_an_earlier_crawl_are_not_waited_for() -> None:
    """They may be due in an hour, and the demo would wait for them."""
    assert beyond({"retrying": 8, "ok": 3}, {"retrying": 8}) == {"retrying": 0, "ok": 3}
    assert beyond({"retrying": 9}, {"retrying": 8}) == {"retrying": 1}
    assert beyond({"retrying": 1}, {"retrying": 8}) == {"retrying": 0}
    assert beyond({"waiting": 2}, {}) == {"waiting": 2, "retrying": 0}


def test_a_group_that_never_committed_lags_by_what_the_topic_holds() -> None:
    assert replace(PLACE, committed=None).lag == 3
    assert replace(PLACE, committed=None, first=5).lag == 0


def test_records_that_expired_unread_are_no_lag() -> None:
    assert replace(PLACE, committed=0, first=5).lag == 0


@given(st.lists(st.dictionaries(st.sampled_from(["known", "ok", "due"]), st.integers(0, 99))))
def test_the_status_is_the_sum_over_partitions(results: list[dict[str, int]]) -> None:
    assert total(results) == {
        name: sum(result.get(name, 0) for result in results)
        for result in results
        for name in result
    }
