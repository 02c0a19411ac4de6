"""Redirects that lead nowhere, told by their trail alone (HTTP-09 D, E)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.records import Hop, Link, Outcome, Rules, UrlDiscovered
from services.common.urls import fingerprint, parse
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed
from services.frontier.core import Admission, Limits, Memory, admit_links

NOW = 1.79e9
RULES = Rules(job="j", scope="any")
MOST = 10


def limits(most: int) -> Limits:
    return Limits(default_scope="any", max_url_length=200, max_record=900_000, max_redirects=most)


def hop(url: str, at: float = 1.7e9) -> Hop:
    parsed = parse(url)
    mark = fingerprint(parsed.identity)
    return Hop(url=url, fingerprint=mark, host=parsed.host, job="j", scheduled_at=at)


def memory() -> Memory:
    return Memory(passed=Passed(100), budgets=Budgets(10, 3))


def redirect(
    *way: str,
    most: int = MOST,
    cache: Memory | None = None,
) -> Admission:
    """What comes of a redirect to the last of the URLs, after redirects along the others."""
    *trail, target = way
    record = UrlDiscovered(
        host=parse(target).host,
        source=trail[-1],
        rules=RULES,
        depth=0,
        links=[Link(url=target, rel="redirect")],
        found_at=0.0,
        trail=[hop(url, 1.7e9 + number) for number, url in enumerate(trail)],
    )
    return admit_links(record, cache or memory(), limits(most), NOW)


@pytest.mark.parametrize(
    "way",
    [
        ["http://h.test/a", "http://h.test/b", "http://h.test/a"],
        ["http://h.test/", "https://h.test/", "http://h.test/"],
        ["http://h.test/a", "http://other.test/", "http://h.test/a#x"],
        ["http://h.test/in", "http://h.test/a", "http://h.test/b", "http://h.test/a"],
        ["http://h.test/a", "http://h.test/a"],
    ],
)
def test_a_target_on_its_own_trail_is_a_loop_and_each_url_of_the_trail_is_told(
    way: list[str],
) -> None:
    """HTTP-09 D, E, and one that is led into."""
    found = redirect(*way)
    assert (found.refused, found.admitted) == ({"redirect-loop": 1}, [])
    assert [(report.url, report.host) for report in found.reported] == [
        (url, parse(url).host) for url in way[:-1]
    ]
    for number, report in enumerate(found.reported):
        assert (report.outcome, report.reason) == (Outcome.PERMANENT, "redirect-loop")
        assert 1.7e9 + number < report.scheduled_at < 1.7e9 + number + 0.001
        assert (report.dead_end, report.job) == (True, "j")


@given(length=st.integers(1, MOST), entry=st.integers(0, MOST - 1))
def test_a_loop_of_any_length_up_to_the_limit_is_a_loop(length: int, entry: int) -> None:
    """Wherever on the trail it is entered; before the length of the chain is looked at."""
    urls = [f"http://h{number % 3}.test/{number}" for number in range(length)]
    found = redirect(*urls, urls[entry % length])
    assert found.refused == {"redirect-loop": 1}
    assert len(found.reported) == length


@given(start=st.integers(0, 5), most=st.integers(1, MOST))
def test_a_chain_of_ever_new_urls_ends_and_no_trail_is_longer_than_the_limit(
    start: int, most: int
) -> None:
    way = [f"http://h.test/{start}"]
    while True:
        way.append(f"http://h.test/{start + len(way)}")
        found = redirect(*way, most=most)
        if not found.admitted:
            break
        [admitted] = found.admitted[0].urls
        assert [each.url for each in admitted.trail] == way[:-1]
        assert len(admitted.trail) < most
    assert found.refused == {"too-many-redirects": 1}
    assert [report.url for report in found.reported] == way[:-1]
    assert len(way) == most + 1


def test_a_limit_of_nought_is_none() -> None:
    way = [f"http://h.test/{number}" for number in range(60)]
    assert redirect(*way, most=0).admitted


@given(seen=st.lists(st.integers(0, 9), max_size=8), trail=st.sets(st.integers(0, 8), min_size=1))
def test_what_was_seen_elsewhere_is_no_loop(seen: list[int], trail: set[int]) -> None:
    """Only the URL's own trail counts, whatever else passed the frontier."""
    cache = memory()
    for number in [9, *seen]:
        cache.passed.remember(redirect("http://x.test/", f"http://h.test/{number}").passed)
    found = redirect(*(f"http://h.test/{n}" for n in trail), "http://h.test/9", cache=cache)
    assert (found.refused, found.reported) == ({}, [])


def test_a_target_that_passed_lately_passes_again_with_its_trail() -> None:
    """Else the scheduler would not know how it was reached, and a loop would never close."""
    cache = memory()
    way = ("http://h.test/a", "http://h.test/b")
    cache.passed.remember(redirect(*way, cache=cache).passed)
    [record] = redirect(*way, cache=cache).admitted
    assert [hop.url for hop in record.urls[0].trail] == ["http://h.test/a"]


def test_another_writing_of_a_url_on_the_trail_may_be_the_page() -> None:
    """C1: the scheduler counts such moves, so that they end too."""
    found = redirect("http://h.test/a?utm_source=x", "http://h.test/b", "http://h.test/a")
    [admitted] = found.admitted[0].urls
    assert (admitted.moved, admitted.trail) == (True, [])


def test_ordinary_links_carry_no_trail() -> None:
    record = UrlDiscovered(
        host="h.test",
        source="http://h.test/",
        rules=RULES,
        depth=1,
        links=[Link(url="http://h.test/a")],
        found_at=0.0,
    )
    [admitted] = admit_links(record, memory(), limits(MOST), NOW).admitted[0].urls
    assert admitted.trail == []
