"""The price of a recrawl, steered over partitions (G1). Pure."""

import math

import pytest

from services.common.records import PartitionPlanned, PriceSet
from services.common.settings import Scheduler
from services.scheduler.policies.value import age_worth, value
from services.scheduler.pricing import Controller

DAY = 86_400.0
HOUR = 3600.0
START = 1_700_000_000.0


class Pages:
    """Partitions of equal pages that plan by the price they were told last."""

    def __init__(self, settings: Scheduler, counts: list[int]) -> None:
        self.settings = settings
        self.counts = counts
        self.controller = Controller(settings)
        self.price: PriceSet | None = None
        self.now = START

    def rate(self) -> float:
        """Of one page."""
        low, high = self.settings.min_interval, self.settings.max_interval
        if self.price is None:
            return 1 / self.settings.first_interval
        return 1 / age_worth(0.4, 2 * DAY, self.price.price, low, high)

    def run(self, hours: int, *, can: float = math.inf, backlog: int = 0) -> None:
        """`can`: fetches a second that are handed out at most; `backlog` waits if that is less."""
        for _ in range(hours):
            self.now += HOUR
            rate = self.rate()
            share = min(can / (rate * sum(self.counts)), 1.0)
            for number, count in enumerate(self.counts):
                self.tell(number, count, rate, share, backlog if share < 1 else 0)

    def tell(self, number: int, count: int, rate: float, share: float, backlog: int) -> None:
        report = PartitionPlanned(
            partition=number,
            at=self.now,
            planned=count * rate,
            urls=count,
            priorities=count / 2,
            backlog=backlog,
            handed=count * rate * share,
        )
        self.price = self.controller.hear(report, self.price, self.now) or self.price


def test_all_partitions_together_come_to_the_budget() -> None:
    pages = Pages(Scheduler(budget=1000, price_period=HOUR), [3000, 500, 0])
    pages.run(24 * 20)
    assert pages.rate() * 3500 * DAY == pytest.approx(1000, rel=0.06)


def test_without_a_budget_an_average_page_is_fetched_every_first_interval() -> None:
    pages = Pages(Scheduler(price_period=HOUR), [3000, 500])
    pages.run(24)
    assert pages.rate() == pytest.approx(1 / (14 * DAY), rel=1e-3)
    assert pages.price is not None
    assert pages.price.priority == 0.5


def test_without_a_budget_what_is_late_makes_recrawls_dearer_and_then_cheap_again() -> None:
    pages = Pages(Scheduler(price_period=HOUR), [3000])
    pages.run(24 * 20, can=100 / DAY, backlog=50)
    assert pages.rate() * 3000 * DAY == pytest.approx(100, rel=0.1)
    pages.run(24 * 20)
    assert pages.rate() == pytest.approx(1 / (14 * DAY), rel=1e-3)


def test_a_new_controller_goes_on_from_the_last_price() -> None:
    pages = Pages(Scheduler(budget=1000, price_period=HOUR), [3000, 500])
    pages.run(24 * 20)
    settled = pages.price
    pages.controller = Controller(pages.settings)
    pages.run(3)
    assert settled is not None
    assert pages.price is not None
    assert pages.price is not settled
    assert pages.price.price == pytest.approx(settled.price, rel=0.01)


def test_the_first_price_waits_for_all_partitions() -> None:
    pages = Pages(Scheduler(budget=1000, price_period=HOUR), [3000, 500])
    pages.run(1)
    assert pages.price is None
    pages.run(1)
    assert pages.price is not None


def test_a_price_is_set_once_a_period() -> None:
    pages = Pages(Scheduler(budget=1000, price_period=HOUR), [1] * 64)
    pages.run(2)
    first = pages.price
    pages.tell(0, 1, 1.0, 1.0, 0)
    assert pages.price is first


def test_reports_from_before_a_restart_count_for_nothing() -> None:
    controller = Controller(Scheduler(budget=1000, price_period=HOUR))
    old = PartitionPlanned(partition=0, at=START, planned=1e9, urls=10)
    assert controller.hear(old, None, START + DAY) is None
    assert controller.hear(old, None, START + 2 * DAY) is None


def test_nothing_handed_out_is_no_reason_for_a_price_without_end() -> None:
    """The fetchers are down: all is late, and no price would help."""
    settings = Scheduler(price_period=HOUR)
    pages = Pages(settings, [3000])
    pages.run(24 * 30, can=1e-12, backlog=3000)
    assert pages.price is not None
    assert pages.price.price <= 1000 * value(0.4, 2 * DAY, settings.max_interval)
