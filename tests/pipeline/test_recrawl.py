"""Pages that change are fetched sooner, pages that do not are left alone longer (A2).

Seen from outside: the rows in Cassandra and the web's own log, with intervals of seconds.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC
from itertools import pairwise
from typing import Any

import pytest

from services.common.cassandra import connect
from services.common.settings import Settings
from services.local.demo import DemoWeb, Running, edition, live_version
from services.parser import store

FIRST = 2.0
LEAST = 1.0
ROUNDS = 3
"""Unchanged fetches in a row of a page that never changes: 2, 4 and 8 seconds apart."""


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """Pages that change every second or every few, and pages that never do."""
    return DemoWeb(hosts=2, pages=16, odd=False, trap=False, change_period=1.0)


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    """Days become seconds."""
    return {
        "scheduler": {
            "first_interval": FIRST,
            "min_interval": LEAST,
            "max_interval": 64.0,
            "bucket_width": 0.25,
            "policy": "adaptive",
        }
    }


@pytest.fixture(scope="module")
def history(
    web: Running,
    seed: Callable[..., None],
    fetches: Callable[[str], dict[str, list[Any]]],
    eventually: Callable[..., None],
) -> dict[str, list[Any]]:
    """Each page's fetches, once every page that never changes was found unchanged often enough."""
    seed(*web.seeds, job="recrawl", scope="any")
    calm = urls(web.web, "never")

    def rested() -> bool:
        rows = fetches("recrawl")
        return all(len(rows.get(url, ())) > ROUNDS for url in calm)

    eventually(rested, "the pages that never change were fetched four times")
    return fetches("recrawl")


def urls(web: DemoWeb, change: str) -> set[str]:
    return {
        web.page_url(host, page)
        for host in range(web.hosts)
        for page in range(web.sizes[host])
        if web.change(host, page) == change
    }


def gaps(rows: list[Any]) -> list[float]:
    """Seconds between the fetches of a page."""
    return [
        (later.fetched_at - earlier.fetched_at).total_seconds() for earlier, later in pairwise(rows)
    ]


def intervals(rows: list[Any]) -> list[float]:
    """The interval after each fetch, by the rule: halved by a change, doubled by none."""
    found = [FIRST]
    for row in rows[1:]:
        found.append(max(LEAST, found[-1] / 2) if row.changed else found[-1] * 2)
    return found


def test_an_unchanged_pages_interval_doubles(web: Running, history: dict[str, list[Any]]) -> None:
    """A2."""
    calm = urls(web.web, "never")
    assert len(calm) > 3
    for url in calm:
        assert [row.changed for row in history[url]][1:] == [False] * (len(history[url]) - 1)
        first, second, third = gaps(history[url])[:ROUNDS]
        assert first >= FIRST
        assert second >= 2 * FIRST
        assert third >= 4 * FIRST


def test_a_change_outside_the_text_is_none(web: Running, history: dict[str, list[Any]]) -> None:
    """D7: a counter on the page does not make it a changing page."""
    noisy = urls(web.web, "noise")
    assert noisy
    for url in noisy:
        assert {row.changed for row in history[url][1:]} == {False}


def test_a_changed_pages_interval_halves_down_to_the_floor(
    web: Running, history: dict[str, list[Any]]
) -> None:
    """A2: the page is fetched more often than any that does not change."""
    lively = {url for url in urls(web.web, "period") if any(r.changed for r in history[url])}
    assert lively
    shortest = min(min(gaps(history[url])) for url in lively)
    assert LEAST <= shortest < FIRST
    most = max(len(history[url]) for url in urls(web.web, "never"))
    assert max(len(history[url]) for url in lively) > most


def test_no_page_is_fetched_before_its_interval_is_over(history: dict[str, list[Any]]) -> None:
    """A2: every gap of every page, changed or not."""
    too_soon = {
        url: (gaps(rows), intervals(rows))
        for url, rows in history.items()
        if any(gap < wait for gap, wait in zip(gaps(rows), intervals(rows), strict=False))
    }
    assert too_soon == {}


async def test_what_is_stored_is_the_version_that_the_web_showed(
    web: Running,
    history: dict[str, list[Any]],
    fetches: Callable[[str], dict[str, list[Any]]],
    place: Settings,
) -> None:
    """D7, E6: the newest text of a page that changes; the crawl goes on meanwhile."""
    changing = sorted(urls(web.web, "period") & history.keys())
    async with await connect(place.cassandra) as cassandra:
        pages = await asyncio.gather(*(store.latest_page(cassandra, url) for url in changing))
    rows = fetches("recrawl")
    for url, page in zip(changing, pages, strict=True):
        assert page is not None
        (row,) = [r for r in rows[url] if r.fetched_at.replace(tzinfo=UTC) == page.fetched_at]
        began = row.started_at.replace(tzinfo=UTC).timestamp()
        shown = {live_version(web.web, url, at) for at in (began, began + row.elapsed)}
        assert edition(page.text) in shown, url


def test_each_version_of_a_changing_page_is_kept(
    web: Running, history: dict[str, list[Any]]
) -> None:
    """E6: one row per fetch; a page that changed has several versions."""
    versions = {url: sum(row.changed is not False for row in rows) for url, rows in history.items()}
    assert {versions[url] for url in urls(web.web, "never")} == {1}
    assert max(versions[url] for url in urls(web.web, "period")) > 1
