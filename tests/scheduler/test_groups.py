"""D6: the requests of a host go to one fetcher at a time, that of its IP address."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.common import codec, topics
from services.common.kafka.partitions import partition_of
from services.common.records import AdmittedUrl, FetchRequested, Outcome, Rules, UrlAdmitted
from services.common.urls import fingerprint
from services.scheduler.events import Events

Make = Callable[..., Any]
OLD, NEW = "192.0.2.1", "192.0.2.2"


def urls(count: int) -> list[str]:
    return [f"http://h.test/{n}" for n in range(count)]


def test_one_request_finds_the_group_and_the_others_go_there(desk: Make) -> None:
    d = desk(min_gap=1.0)
    [first] = d.admit(*urls(6))
    assert first.group == ""
    then = d.report(first, group=OLD, status=200)
    assert [request.group for request in then] == [OLD, OLD]


def test_one_request_at_a_time_while_no_group_is_known(desk: Make) -> None:
    """Also of a host that answers: two fetchers might find two."""
    d = desk(min_gap=1.0)
    [first] = d.admit(*urls(6))
    [second] = d.report(first, group="", status=200)
    assert second.group == ""


def test_a_host_moves_when_nothing_is_under_way_and_after_its_gap(desk: Make) -> None:
    d = desk(min_gap=1.0)
    [first] = d.admit(*urls(9))
    one, two = d.report(first, group=OLD, status=200)
    assert d.report(one, group=NEW, status=200) == []
    assert d.report(two, group=NEW, status=200) == []
    assert d.tick(0.9) == []
    assert {request.group for request in d.tick(0.2)} == {NEW}


def test_a_host_that_is_back_before_it_moved_stays(desk: Make) -> None:
    d = desk(min_gap=1.0)
    [first] = d.admit(*urls(9))
    one, two = d.report(first, group=OLD, status=200)
    d.report(one, group=NEW, status=200)
    assert {request.group for request in d.report(two, group=OLD, status=200)} == {OLD}


def test_a_lost_request_lets_the_host_stay_where_it_is(desk: Make) -> None:
    """Its fetcher may be at the host still."""
    d = desk(min_gap=1.0, lease=60.0)
    [first] = d.admit(*urls(9))
    one, _ = d.report(first, group=OLD, status=200)
    d.report(one, group=NEW, status=200)
    again = d.tick(100.0)
    assert {request.group for request in again} == {OLD}


def test_the_group_outlives_the_process(desk: Make) -> None:
    d = desk(min_gap=1.0)
    [first] = d.admit(*urls(9))
    one, two = d.report(first, group=OLD, status=200)
    d.restart()
    d.report(one, group=OLD, status=200)
    [*_, last] = d.report(two, group=OLD, status=200)
    assert last.group == OLD


@pytest.mark.parametrize("group", ["", OLD])
def test_a_request_goes_to_its_groups_partition(desk: Make, group: str) -> None:
    """Or to the host's own while the group is not known; the key stays the host."""
    d = desk()
    if group:
        [first] = d.admit("http://h.test/first")
        d.report(first, group=group, status=200)
    url, count = "http://h.test/a", 97
    event = UrlAdmitted(
        host="h.test",
        rules=Rules(),
        urls=[AdmittedUrl(url=url, fingerprint=fingerprint(url))],
    )
    value = codec.encode(topics.URL_ADMITTED, event)
    events = Events(d.tables, "worker-1", count, clock=lambda: d.now)
    _, [output] = events.decide(topics.URL_ADMITTED, value, 5, d.partition, replay=False)
    assert output.key == b"h.test"
    assert cast("FetchRequested", output.record).group == group
    assert output.partition == (partition_of(group, count) if group else 5)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["report", "tick", "lose"]), st.integers(0, 5), st.booleans()),
        max_size=60,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_host_is_never_at_two_fetchers(desk: Make, steps: list[tuple[str, int, bool]]) -> None:
    """Whatever its addresses do: what is under way has one group."""
    d = desk(min_gap=0.2, lease=60.0, retry_base=1.0)
    d.admit(*urls(200))
    for kind, number, moved in steps:
        if kind == "report" and d.under_way:
            request = d.under_way[number % len(d.under_way)]
            d.report(request, group=NEW if moved else OLD, status=200)
        else:
            d.tick(100.0 if kind == "lose" else 0.3)
        flights = d.host().flights
        d.under_way = [r for r in d.under_way if r.fingerprint in flights]
        assert len({request.group for request in d.under_way}) <= 1
        if not d.host().group:
            assert len(d.under_way) <= 1
    assert d.homeless() == []


def test_a_request_that_was_given_back_costs_its_url_no_attempt(desk: Make) -> None:
    """Of a thousand hosts on one address each waits long, and none for nothing."""
    d = desk(min_gap=1.0, max_attempts=2)
    [first] = d.admit("http://h.test/a")
    for _ in range(5):
        fields = {"reason": "held-back", "retry_after": 300.0, "group": OLD}
        assert d.report(first, Outcome.TRANSIENT, **fields) == []
        assert d.tick(290.0) == []
        [first] = d.tick(20.0)
        assert (first.attempt, first.group) == (0, OLD)
    assert d.homeless() == []
