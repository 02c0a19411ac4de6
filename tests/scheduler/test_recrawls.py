"""The recrawl policies at work in a partition: price, plan, weight, host, rules (A10, D8, G1)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.common import codec, topics
from services.common.errors import Stop
from services.common.records import Outcome, PartitionPlanned, PriceSet
from services.common.settings import Scheduler
from services.scheduler.events import Events
from services.scheduler.policies import State
from services.scheduler.policies.choice import read

DAY = 86_400.0
HOUR = 3600.0
URL = "http://h.test/"

Make = Callable[..., Any]


def state(d: Any, url: str = URL) -> State:  # noqa: ANN401 - the fixture's type
    row = d.row(url)
    return State.unpack(row.interval, row.plan)


def test_a_page_is_planned_at_the_price(desk: Make) -> None:
    cheap, dear = desk(), desk()
    cheap.set_price(DAY / 10)
    dear.set_price(DAY)
    for d in (cheap, dear):
        d.report(d.admit(URL)[0])
    assert cheap.row(URL).interval < dear.row(URL).interval


def test_a_page_sleeps_on_when_the_price_rose_meanwhile(desk: Make) -> None:
    d = desk()
    d.set_price(DAY / 10)
    d.report(d.admit(URL)[0])
    d.set_price(DAY)
    before = d.row(URL).due
    assert d.tick(before + HOUR - d.now) == []
    assert d.row(URL).due > before
    assert d.homeless() == []
    assert d.partition.recrawls.plan.planned == pytest.approx(state(d).rate)


def test_a_page_is_fetched_earlier_when_the_price_fell_meanwhile(desk: Make) -> None:
    d = desk()
    d.set_price(DAY)
    d.report(d.admit(URL)[0])
    planned = d.row(URL).fetched + d.row(URL).interval
    d.set_price(DAY / 100)
    woken = d.row(URL).due
    assert woken < planned
    assert [r.reason for r in d.tick(woken + HOUR - d.now)] == ["due"]


def test_a_page_that_a_job_wants_or_that_failed_is_not_asked_to_sleep(desk: Make) -> None:
    d = desk(retry_base=60)
    d.set_price(1e12)
    d.report(d.admit(URL)[0])
    d.tick(400 * DAY)
    d.report(d.under_way[0], Outcome.TRANSIENT)
    assert [r.reason for r in d.tick(120)] == ["retry"]


def test_many_that_sleep_on_take_several_events_and_none_is_lost(desk: Make) -> None:
    d = desk(host_window=1000, max_lag=DAY)
    d.proven()
    d.set_price(1.0)
    d.admit(*(f"http://h.test/{n}" for n in range(100)))
    while d.under_way:
        d.report(d.under_way[0])
    d.set_price(1e9)
    d.now = max(d.row(f"http://h.test/{n}").due for n in range(100)) + HOUR
    while d.partition.needs_tick(d.now):
        assert d.tick(0.5) == []
    assert d.homeless() == []
    assert all(d.row(f"http://h.test/{n}").due > d.now for n in range(100))


def test_the_price_and_the_plan_survive_a_restart(desk: Make) -> None:
    d = desk()
    d.set_price(5.0, priority=0.5)
    d.report(d.admit(URL)[0])
    before = d.partition.recrawls.plan
    d.restart()
    after = d.partition.recrawls.plan
    assert (after.planned, after.urls, after.priority) == (before.planned, 1, 1.0)
    d.report(d.admit("http://h.test/2")[0])
    assert state(d, "http://h.test/2").interval == pytest.approx(HOUR)


def test_an_older_price_does_not_replace_a_newer_one(desk: Make) -> None:
    d = desk()
    d.set_price(5.0)
    d.now -= HOUR
    d.set_price(DAY)
    d.report(d.admit(URL)[0])
    assert d.row(URL).interval == pytest.approx(HOUR)


@pytest.mark.parametrize(
    ("outcome", "retries"), [(Outcome.GONE, 1), (Outcome.PERMANENT, 1), (Outcome.TRANSIENT, 3)]
)
def test_what_is_given_up_has_no_part_in_the_plan(
    desk: Make, outcome: Outcome, retries: int
) -> None:
    d = desk(max_attempts=3, quarantine_after=0)
    d.report(d.admit(URL)[0])
    believed = state(d)
    d.tick(30 * DAY)
    for _ in range(retries):
        assert d.partition.recrawls.plan.urls == 1
        d.report(d.under_way[0], outcome)
        d.tick(DAY)
    assert d.partition.recrawls.plan.urls == 0
    assert d.partition.recrawls.plan.planned == 0
    changed = state(d).a != believed.a
    assert changed == (outcome is Outcome.GONE)


def test_gone_is_a_change_once(desk: Make) -> None:
    d = desk()
    d.report(d.admit(URL)[0])
    d.tick(30 * DAY)
    d.report(d.under_way[0], Outcome.GONE)
    believed = state(d)
    d.tick(60 * DAY)
    d.report(d.under_way[0], Outcome.GONE)
    assert (state(d).a, state(d).b) == (believed.a, believed.b)


def test_a_page_of_higher_priority_is_fetched_more_often(desk: Make) -> None:
    d = desk()
    d.set_price(DAY, priority=0.5)
    d.report(d.admit("http://h.test/1", priority=2.0)[0])
    d.report(d.admit("http://h.test/2", priority=0.5)[0])
    assert d.row("http://h.test/1").interval < d.row("http://h.test/2").interval


def test_a_priority_that_rises_is_in_the_plan(desk: Make) -> None:
    d = desk()
    d.report(d.admit(URL, priority=0.5)[0])
    d.admit(URL, priority=3.0)
    assert d.partition.recrawls.plan.priority == d.row(URL).priority == 3.0


def test_a_new_page_is_believed_to_be_like_its_host(desk: Make) -> None:
    """D8."""
    d = desk(host_prior_after=2, host_prior_shape=0.8, max_interval=2 * DAY, min_interval=DAY)
    d.report(d.admit(URL)[0])
    for _ in range(5):
        d.tick(3 * DAY)
        d.report(d.under_way[0], changed=True)
    belief = d.host().belief
    assert belief.seen == 5
    d.report(d.admit("http://h.test/new")[0])
    new = state(d, "http://h.test/new")
    assert new.a == pytest.approx(0.8)
    assert new.a / new.b == pytest.approx(belief.a / belief.b)


def test_a_page_that_may_be_cached_is_left_alone_as_long(desk: Make) -> None:
    d = desk(bucket_width=1)
    d.set_price(1e-9)
    d.report(d.admit(URL)[0], fresh_for=6 * HOUR)
    assert d.row(URL).due == d.now + 6 * HOUR


def test_the_plan_is_reported_once_a_period(desk: Make) -> None:
    d = desk(price_period=60)
    assert not d.partition.needs_tick(d.now + DAY)
    d.report(d.admit(URL)[0])
    d.tick(59)
    assert d.partition.recrawls.reports == []
    assert d.partition.needs_tick(d.now + 1)
    d.tick(1)
    d.tick(1)
    [report] = d.partition.recrawls.reports
    assert report.urls == 1
    assert report.planned == pytest.approx(state(d).rate)
    assert report.handed == 0


def test_policies_that_know_no_price_report_nothing(desk: Make) -> None:
    d = desk(policy="adaptive", price_period=60)
    d.report(d.admit(URL)[0])
    d.tick(600)
    assert d.partition.recrawls.reports == []


def test_reports_go_to_partition_0_and_prices_to_all(desk: Make) -> None:
    d = desk(price_period=60, budget=10)
    events = Events(d.tables, "worker-1", 3, clock=lambda: d.now, partitions=3)

    def decide(topic: topics.Topic, record: Any) -> list[Any]:  # noqa: ANN401 - any record
        value = codec.encode(topic, record)
        rows, outputs = events.decide(topic, value, 0, d.partition, replay=False)
        rows.flush()
        return outputs

    report = PartitionPlanned(partition=2, at=d.now, planned=1.0, urls=5, priorities=5.0)
    assert decide(topics.PARTITION_PLANNED, report) == []
    d.now += 60
    outputs = decide(topics.PARTITION_PLANNED, report)
    assert [(out.topic, out.partition) for out in outputs] == [
        (topics.PRICE_SET, number) for number in range(3)
    ]
    price = outputs[0].record
    assert isinstance(price, PriceSet)
    assert decide(topics.PRICE_SET, price) == []
    d.restart()
    d.report(d.admit(URL)[0])
    d.now += 60
    assert d.partition.needs_tick(d.now)
    [told] = decide(topics.CLOCK_TICKED, codec.decode(topics.CLOCK_TICKED, TICK))
    assert (told.topic, told.partition) == (topics.PARTITION_PLANNED, 0)


TICK = b'{"v":1,"at":0}'


def test_a_rules_file_says_which_policy(desk: Make, tmp_path: Path) -> None:
    """A10."""
    path = tmp_path / "policies.toml"
    path.write_text('[[rule]]\nhosts = ["*.test"]\npolicy = "fixed"\nfirst_interval = 7200\n')
    d = desk(policies_file=path)
    d.report(d.admit(URL)[0])
    assert d.row(URL).interval == 7200
    d.report(d.admit("http://h.other/", host="h.other")[0])
    assert d.row("http://h.other/").interval != 7200


def test_a_rules_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Stop, match=r"cannot read .*missing"):
        read(Scheduler(policies_file=tmp_path / "missing.toml"))
