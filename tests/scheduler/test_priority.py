"""New URLs of one host by priority (D9)."""

from collections.abc import Callable
from typing import Any

from services.common.records import Rules
from services.scheduler import timeline
from services.scheduler.rows import NEW, NEW_FIRST, NEW_LAST

Make = Callable[..., Any]


def pages(name: str, count: int) -> list[str]:
    return [f"http://h.test/{name}{n}" for n in range(count)]


def served(d: Any) -> str:  # noqa: ANN401 - the fixture's Desk
    """The order in which one after another is fetched, by the first letter of the name."""
    letters = ""
    while d.under_way:
        request = d.under_way[0]
        letters += request.url.removeprefix("http://h.test/")[0]
        d.report(request)
    return letters


def test_a_priority_has_its_bucket() -> None:
    assert [timeline.front(p) for p in (100.0, 1.0, 0.999, 0.2, 0.199, 0.0)] == [
        NEW_FIRST,
        NEW_FIRST,
        NEW,
        NEW,
        NEW_LAST,
        NEW_LAST,
    ]


def test_seeds_go_first_and_what_is_far_from_them_last_but_not_never(desk: Make) -> None:
    """D9: every eighth turn is the others'."""
    d = desk(host_window=1)
    d.admit(*pages("low", 4), depth=9)
    d.admit(*pages("mid", 4), depth=1)
    d.admit(*pages("seed", 12))
    # the first was handed out before the others were there
    assert served(d) == "l" + "ssssss" + "l" + "ssssss" + "m" + "l" + "mmm" + "l"


def test_a_url_found_nearer_to_a_seed_moves_forward(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*pages("low", 3), depth=9)
    d.admit("http://h.test/risen", depth=9)
    d.admit("http://h.test/risen", depth=0)
    d.admit("http://h.test/risen", depth=5)
    assert d.status()["waiting"] == 3
    assert d.homeless() == []
    assert served(d) == "lrll"


def test_a_job_of_higher_priority_lends_it_to_urls_that_wait(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*pages("low", 3), depth=9)
    d.admit("http://h.test/wanted", depth=9)
    rules = Rules(job="urgent", priority=20)
    d.admit("http://h.test/wanted", depth=9, rules=rules, priority=20)
    assert served(d) == "lwll"


def test_a_full_job_in_front_does_not_hold_up_those_behind(desk: Make) -> None:
    d = desk(host_window=2)
    d.admit(*pages("limited", 3), rules=Rules(job="small", max_pages=1))
    d.admit(*pages("other", 2), depth=1, rules=Rules(job="big"))
    assert sorted(served(d)) == ["l", "o", "o"]
    assert d.status()["over_limit"] == 2
