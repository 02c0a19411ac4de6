"""`optimal` at work: the budget goes where it keeps most fresh (G1), with intervals of seconds."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common import topics
from services.common.settings import Settings
from services.common.topics import Topic
from services.local.demo import DemoWeb, Running

DAY = 86_400.0
PAGES = 40
BUDGET = 4.0
"""Fetches a second: one in ten seconds for each page."""
ROUNDS = 3
PATIENCE = 200.0


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """Pages that change every 8 to 64 seconds, and more that never do."""
    return DemoWeb(hosts=2, pages=PAGES, odd=False, trap=False, change_period=8.0)


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    """Days become seconds."""
    return {
        "scheduler": {
            "policy": "optimal",
            "budget": BUDGET * DAY,
            "first_interval": 10.0,
            "min_interval": 2.0,
            "max_interval": 600.0,
            "prior_time": 10.0,
            "sleep": 2.0,
            "price_period": 1.0,
            "bucket_width": 0.25,
        }
    }


@pytest.fixture(scope="module")
def told(
    read_topic: Callable[[Settings, Topic], list[Any]], place: Settings
) -> Callable[[Topic], list[Any]]:
    """Reads what the scheduler's partitions tell each other."""
    return lambda topic: read_topic(place, topic)


def test_pages_that_change_get_more_of_the_budget_than_those_that_never_do(
    web: Running,
    seed: Callable[..., None],
    fetches: Callable[[str], dict[str, list[Any]]],
    eventually: Callable[..., None],
    told: Callable[[Topic], list[Any]],
) -> None:
    """G1: by what was fetched, by the price, and by the plan that it is steered with."""
    seed(*web.seeds, job="optimal", scope="any")
    calm, lively = urls(web.web, "never"), urls(web.web, "period")
    assert min(len(calm), len(lively)) > 5

    def told_apart() -> bool:
        counts = {url: len(rows) for url, rows in fetches("optimal").items()}
        if min(counts.get(url, 0) for url in calm) < ROUNDS:
            return False
        return mean(counts, lively) > 2 * mean(counts, calm)

    eventually(told_apart, "pages that change were fetched twice as often", PATIENCE)
    prices = told(topics.PRICE_SET)
    moments = {price.at for price in prices}
    assert len(moments) > 1
    # Each is told to both partitions; the newest may be under way.
    assert len(prices) >= 2 * len(moments) - 1
    newest = {r.partition: r for r in sorted(told(topics.PARTITION_PLANNED), key=at)}
    planned = sum(report.planned for report in newest.values())
    assert BUDGET / 2 < planned < BUDGET * 2


def at(report: Any) -> float:  # noqa: ANN401 - a record
    """When it was made."""
    return float(report.at)


def mean(counts: dict[str, int], of: set[str]) -> float:
    """Fetches of a page."""
    return sum(counts.get(url, 0) for url in of) / len(of)


def urls(web: DemoWeb, change: str) -> set[str]:
    """The pages that change so."""
    return {
        web.page_url(host, page)
        for host in range(web.hosts)
        for page in range(web.sizes[host])
        if web.change(host, page) == change
    }
