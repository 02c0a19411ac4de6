"""Whatever happens in whatever order, no URL is lost and each is in one state (G2)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.common.records import Command, Outcome, Rules
from services.common.urls import fingerprint
from services.scheduler.audit import check
from services.scheduler.policies import State
from services.scheduler.rows import decode_url

HOSTS = ["a.test", "b.test"]
PENDING = ("waiting", "in_flight", "retrying")

steps = st.one_of(
    st.tuples(
        st.just("admit"),
        st.sampled_from(HOSTS),
        st.lists(st.integers(0, 30), min_size=1, max_size=8),
        st.sampled_from([0, 1, 3, 9]),
    ),
    st.tuples(st.just("report"), st.integers(0, 100), st.sampled_from(list(Outcome))),
    st.tuples(st.just("repeat"), st.integers(0, 100)),
    st.tuples(st.just("dead end"), st.integers(0, 100), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 30.0, 700.0, 86_400.0, 40 * 86_400.0])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("job"), st.integers(0, 3)),
    st.tuples(st.just("price"), st.sampled_from([1.0, 5e4, 5e6])),
    st.tuples(
        st.just("command"),
        st.sampled_from(["delete", "undelete", "boost", "recrawl"]),
        st.sampled_from(HOSTS),
        st.integers(0, 30),
        st.sampled_from([0.0, 0.5, 1.0]),
    ),
    st.tuples(
        st.just("host command"),
        st.sampled_from(["delete", "undelete", "pause", "resume", "move", "recrawl"]),
        st.sampled_from(HOSTS),
        st.sampled_from(["", "/1", "/2"]),
        st.sampled_from([0.0, 100.0, 50 * 86_400.0]),
    ),
    st.tuples(st.just("command again"), st.integers(0, 100)),
)


def operate(d: Any, step: tuple[Any, ...], sent: list[Command]) -> None:  # noqa: ANN401 - the fixture's Desk
    """An operator's step; `sent`: the commands so far."""
    ids = {"id": f"{len(sent)}", "asked_at": d.now}
    match step:
        case ("command", name, host, number, weight):
            key = fingerprint(f"http://{host}/{number}")
            sent.append(Command(**ids, name=name, host=host, fingerprint=key, weight=weight))
            d.obey(sent[-1])
        case ("host command", name, host, prefix, later):
            sent.append(Command(**ids, name=name, host=host, prefix=prefix, at=d.now + later))
            d.obey(sent[-1])
        case ("command again", pick) if sent:
            d.obey(sent[pick % len(sent)])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(plan=st.lists(steps, max_size=60))
def test_every_url_stays_in_one_place_and_one_state(
    desk: Callable[..., Any], plan: list[tuple[Any, ...]]
) -> None:
    d = desk(
        host_window=3,
        partition_window=5,
        bucket_width=10,
        max_attempts=3,
        retry_base=5,
        max_new_per_host=4,
    )
    reports: list[Any] = []
    commands: list[Any] = []
    rules = Rules()
    for step in plan:
        match step:
            case ("admit", host, numbers, depth):
                urls = [f"http://{host}/{n}" for n in numbers]
                d.admit(*urls, host=host, depth=depth, rules=rules)
            case ("report", pick, outcome) if d.under_way:
                event = d.reported(d.under_way[pick % len(d.under_way)], outcome)
                reports.append(event)
                d.deliver(event)
            case ("repeat", pick) if reports:
                d.deliver(reports[pick % len(reports)])
            case ("dead end", pick, early) if (early and d.under_way) or (not early and reports):
                some = [d.reported(request) for request in d.under_way] if early else reports
                reports.append(d.ended(some[pick % len(some)]))
                d.deliver(reports[-1])
            case ("wait", seconds):
                d.tick(seconds)
            case ("restart",):
                d.restart()
            case ("price", price):
                d.set_price(price)
            case ("job", number):
                rules = Rules(job=f"job-{number}", fresh_after=d.now)
            case _:
                operate(d, step, commands)
        assert d.homeless() == []
        status = d.status()
        assert status["known"] == len(d.tables.urls)
        assert all(count >= 0 for count in status.values())
        assert check(d.tables, max_attempts=3).faults == []
        planned(d)


def planned(d: Any) -> None:  # noqa: ANN401 - the fixture's type
    """The plan is the sum over the URLs, whatever it was made from."""
    rows = [decode_url(packed) for packed in d.tables.urls.values()]
    rates = {row.url: State.unpack(row.interval, row.plan).rate for row in rows}
    plan = d.partition.recrawls.plan
    assert plan.urls == sum(rate > 0 for rate in rates.values())
    assert plan.planned == pytest.approx(sum(rates.values()))
    assert plan.priorities == pytest.approx(sum(row.priority for row in rows if rates[row.url]))


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(numbers=st.lists(st.integers(0, 200), min_size=1, max_size=80))
def test_every_url_is_fetched_exactly_once_when_all_goes_well(
    desk: Callable[..., Any], numbers: list[int]
) -> None:
    d = desk(host_window=2, partition_window=3)
    fetched: list[str] = []
    for n in numbers:
        host = HOSTS[n % 2]
        d.admit(f"http://{host}/{n}", host=host)
    while d.under_way:
        request = d.under_way[0]
        fetched.append(request.url)
        d.report(request)
    assert sorted(fetched) == sorted({f"http://{HOSTS[n % 2]}/{n}" for n in numbers})
    assert not any(d.status().get(state) for state in PENDING)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, 6), count=st.integers(1, 12))
def test_a_crash_between_two_table_writes_loses_no_url(
    desk: Callable[..., Any], cut: int, count: int
) -> None:
    """The event is delivered again, over tables that hold only part of its writes."""
    d = desk(host_window=2)
    urls = [f"http://a.test/{n}" for n in range(count)]
    before = {name: dict(getattr(d.tables, name)) for name in ("timeline", "hosts", "urls")}
    d.admit(*urls, host="a.test")
    after = {name: dict(getattr(d.tables, name)) for name in before}
    writes = [(name, key) for name in before for key in after[name]]
    for name, key in writes[cut:]:
        table = getattr(d.tables, name)
        if key in before[name]:
            table[key] = before[name][key]
        else:
            del table[key]
    d.under_way.clear()
    d.restart()
    d.admit(*urls, host="a.test")
    assert d.homeless() == []
    d.tick(1000)
    d.tick(1000)
    fetched = set()
    for _ in range(200):
        d.tick(100)
        if d.under_way:
            fetched.add(d.under_way[0].url)
            d.report(d.under_way[0])
    assert fetched == set(urls)


def test_writes_lost_on_the_way_to_the_changelog_are_made_good_by_the_replay(
    desk: Callable[..., Any],
) -> None:
    """A9: killed before the changelog had it, delivered again, and then the disk is lost."""
    d = desk(host_window=2)
    urls = [f"http://a.test/{n}" for n in range(10)]
    for table in d.tables.all:
        table.connected = False
    d.admit(*urls, host="a.test")
    report = d.reported(d.under_way[0])
    d.deliver(report)
    for table in d.tables.all:
        table.connected = True
    d.restart()
    d.admit(*urls, host="a.test", replay=True)
    d.deliver(report, replay=True)
    for table in d.tables.all:
        table.recover()
    d.restart()
    d.tick(1000)
    assert d.homeless() == []
    fetched = {report.url}
    for _ in range(30):
        d.tick(100)
        for request in list(d.under_way):
            fetched.add(request.url)
            d.report(request)
    assert fetched == set(urls)
    assert d.status()["ok"] == 10
