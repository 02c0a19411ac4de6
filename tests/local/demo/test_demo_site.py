"""The demo web's definition: equal for equal numbers, small, and normal in its URLs."""

import tracemalloc
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common import urls
from services.local.demo import DemoWeb
from services.local.demo.site import ROLES
from services.local.demo.spelling import spell

WEB = DemoWeb()
LARGE = DemoWeb(hosts=200, pages=100_000)
PLACES = st.integers(0, WEB.pages - 1).map(WEB.place)


def test_sizes_add_up_and_are_unequal() -> None:
    for web in (WEB, LARGE, DemoWeb(hosts=3, pages=3), DemoWeb(hosts=1, pages=50)):
        assert sum(web.sizes) == web.pages
        assert min(web.sizes) >= 1
        assert list(web.sizes) == sorted(web.sizes, reverse=True)
    assert LARGE.sizes[0] > 20 * LARGE.sizes[-1]


def test_each_role_has_one_host_and_none_is_given_when_they_are_off() -> None:
    assert sorted(role for role in map(WEB.role, range(10)) if role != "plain") == sorted(ROLES)
    assert {*map(DemoWeb(odd=False).role, range(10))} == {"plain"}
    assert DemoWeb(hosts=1, pages=1).role(0) == "plain"


@pytest.mark.parametrize(
    "wrong",
    [
        {"hosts": 0},
        {"hosts": 70_000, "pages": 100_000},
        {"hosts": 5, "pages": 4},
        {"change_period": 0.5},
        {"change_period": -1},
    ],
)
def test_numbers_that_describe_no_web_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|at least"):
        DemoWeb(**wrong)


@given(st.integers(0, LARGE.hosts - 1))
def test_addresses_lead_back_to_their_hosts(host: int) -> None:
    assert LARGE.host_at(LARGE.address(host)) == host
    assert LARGE.host_at(LARGE.authority(host)) == host


def test_foreign_addresses_lead_nowhere() -> None:
    for address in ("127.0.0.1", "127.0.1.0", "127.0.1.11", "10.0.0.1", "does-not-exist.invalid"):
        assert WEB.host_at(address) is None


@given(st.integers(0, LARGE.pages - 1))
def test_paths_lead_back_to_their_pages(number: int) -> None:
    host, page = LARGE.place(number)
    path = LARGE.path(host, page)
    assert LARGE.find(host, path) == page
    assert LARGE.find(host, path.lower() + "x") is None


@given(PLACES)
def test_page_urls_are_their_own_identities(place: tuple[int, int]) -> None:
    """D3: the truth's keys can be compared with what the pipeline remembers."""
    url = urls.parse(WEB.page_url(*place))
    assert url.href == url.identity == WEB.page_url(*place)
    assert url.host == WEB.authority(place[0])


@given(PLACES, PLACES, st.integers())
def test_every_spelling_means_the_same_url(
    source: tuple[int, int], target: tuple[int, int], seed: int
) -> None:
    """D3, C5: however a link is written, it resolves to the canonical URL."""
    base, url = WEB.page_url(*source), WEB.page_url(*target)
    raw = spell(Random(seed), url, base)
    assert urls.parse(raw, base).identity == url


def test_a_large_web_needs_little_memory() -> None:
    tracemalloc.start()
    try:
        web = DemoWeb(hosts=200, pages=100_000)
        for number in range(0, web.pages, 997):
            host, page = web.place(number)
            web.targets(host, page)
            web.version(host, page, web.epoch)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_equal_numbers_give_an_equal_web_and_another_seed_another() -> None:
    place = WEB.place(200)
    assert DemoWeb().targets(*place) == WEB.targets(*place)
    assert WEB.path(*place) == "/food/willow-inlet-inlet-7.html"
    assert DemoWeb(seed=2).targets(*place) != WEB.targets(*place)
    assert DemoWeb(seed=2).path(*place) != WEB.path(*place)
