"""New URLs beyond what a host may have waiting (A6)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from services.common.records import Rules
from services.common.urls import fingerprint
from services.scheduler.audit import check
from services.scheduler.rows import Rows

Make = Callable[..., Any]
DAY = 86_400.0


def urls(first: int, last: int) -> list[str]:
    return [f"http://h.test/{n}" for n in range(first, last)]


def days(d: Any) -> Counter[float]:  # noqa: ANN401 - the fixture's Desk
    """URLs by the days from now on that they are due in."""
    return Counter(
        {
            bucket.due // DAY - d.now // DAY: bucket.count
            for bucket in d.host().buckets.values()
            if bucket.fresh
        }
    )


def drain(d: Any) -> list[str]:  # noqa: ANN401
    got = []
    while d.under_way:
        assert d.under_way[0].reason == "new"
        got.append(d.under_way[0].url)
        d.report(d.under_way[0])
    return got


def test_what_is_too_much_now_is_due_on_the_next_days(desk: Make) -> None:
    d = desk(max_new_per_host=10)
    d.admit(*urls(0, 35))
    assert days(d) == {1: 10, 2: 10, 3: 5}
    assert d.status()["waiting"] == 34
    assert d.status()["known"] == 35
    d.restart()
    got = drain(d)
    assert len(got) == 10
    for _ in range(3):
        d.tick(DAY)
        got += drain(d)
    assert sorted(got) == sorted(urls(0, 35))
    assert not check(d.tables, d.settings.max_attempts).faults


def test_without_a_limit_all_are_due_now(desk: Make) -> None:
    d = desk()
    d.admit(*urls(0, 200))
    assert days(d) == {}


def test_full_days_are_filled_up_evenly(desk: Make) -> None:
    d = desk(max_new_per_host=1)
    d.admit(*urls(0, 91))
    assert days(d) == dict.fromkeys(range(1, 31), 3)


def test_being_found_again_or_by_another_job_brings_none_forward(desk: Make) -> None:
    d = desk(max_new_per_host=2)
    d.admit(*urls(0, 6))
    d.now += 10
    d.admit(*urls(0, 6), rules=Rules(job="other", fresh_after=d.now))
    assert days(d) == {1: 2, 2: 2}


def test_explain_tells_the_day(desk: Make) -> None:
    d = desk(max_new_per_host=1)
    d.admit(*urls(0, 2))
    told = d.partition.explain("h.test", fingerprint(urls(0, 2)[1]), Rows(d.tables), d.now)
    assert (told["state"], told["next due"]) == ("waiting", "2023-11-15 00:00:00Z")
    assert told["waits for"] == "its due time, 2023-11-15 00:00:00Z"
