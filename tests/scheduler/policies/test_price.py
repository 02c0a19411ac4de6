"""The price of a fetch follows the plan to the budget (G1)."""

import math

import msgspec
import pytest

from services.common.settings import Scheduler
from services.scheduler.policies.price import PartitionReport, Price, first_price, next_price
from services.scheduler.policies.value import age_worth, value

DAY, HOUR = 86_400.0, 3600.0
OVER = 0.03
"""The plan settles 2.4 % over the budget while no queue speaks against it."""
SETTINGS = Scheduler(price_period=HOUR)


class Fluid:
    """A partition's plan without chance: one URL in 24 is planned anew each hour."""

    def __init__(self, partition: int, urls: int) -> None:
        self.partition = partition
        self.urls = [(0.4 + n % 7, (1 + n % 11) ** 2 * DAY, 0.2 + n % 5) for n in range(urls)]
        self.rates = [1 / (20 * DAY)] * urls

    def hour(self, number: int, price: Price) -> PartitionReport:
        for n in range(number % 24, len(self.urls), 24):
            a, b, weight = self.urls[n]
            self.rates[n] = 1 / age_worth(a, b, price.price / weight, HOUR, price.longest)
        return PartitionReport(
            partition=self.partition,
            at=number * HOUR,
            planned=sum(self.rates),
            urls=len(self.urls),
        )


def course(
    parts: list[Fluid], budget: float, price: Price, days: int, silent: range = range(0)
) -> list[tuple[Price, float]]:
    """Price and plan after each hour; the last partition says nothing in the hours `silent`."""
    heard: dict[int, PartitionReport] = {}
    seen = []
    for number in range(1, days * 24 + 1):
        for part in parts:
            if part is parts[-1] and number in silent:
                continue
            heard[part.partition] = part.hour(number, price)
        price = next_price(SETTINGS, price, heard.values(), budget, number * HOUR)
        seen.append((price, sum(sum(part.rates) for part in parts)))
    return seen


@pytest.mark.parametrize("off", [0.01, 1.0, 100.0])
def test_the_plan_meets_the_budget_wherever_the_price_begins(off: float) -> None:
    part, budget = Fluid(0, 240), 240 / (20 * DAY)
    begin = first_price(SETTINGS, 240, budget, 0.0)
    begin = msgspec.structs.replace(begin, price=begin.price * off)
    planned = [plan for _, plan in course([part], budget, begin, 30)]
    assert all(plan == pytest.approx(budget, rel=OVER) for plan in planned[20 * 24 :])


def test_partitions_of_unequal_size_get_one_price() -> None:
    parts = [Fluid(0, 24), Fluid(1, 1200)]
    budget = 1224 / (20 * DAY)
    planned = course(parts, budget, first_price(SETTINGS, 1224, budget, 0.0), 30)
    assert planned[-1][1] == pytest.approx(budget, rel=OVER)


def test_a_silent_partition_counts_for_three_periods_and_is_taken_back() -> None:
    parts = [Fluid(0, 240), Fluid(1, 240)]
    budget = 480 / (20 * DAY)
    begin = first_price(SETTINGS, 480, budget, 0.0)
    silent = range(20 * 24, 40 * 24)
    seen = course(parts, budget, begin, 60, silent)
    before, held = seen[20 * 24 - 2][0].price, seen[20 * 24 + 1][0].price
    assert held == pytest.approx(before, rel=0.01)
    # Meanwhile the other one has the whole budget, and afterwards they share it again.
    alone = seen[40 * 24 - 2][0].price
    assert alone < before
    assert seen[-1][1] == pytest.approx(budget, rel=OVER)
    assert seen[-1][0].price == pytest.approx(before, rel=0.05)


def report(**fields: float) -> PartitionReport:
    known = {"partition": 0, "at": HOUR, "planned": 1.0, "urls": 100, **fields}
    return PartitionReport(**known)  # type: ignore[arg-type] # known names


PRICE = Price(price=DAY, longest=30 * DAY)


def test_no_report_no_change() -> None:
    then = next_price(SETTINGS, PRICE, [], 1.0, HOUR)
    assert then == msgspec.structs.replace(PRICE, at=HOUR)


def test_only_the_newest_report_of_a_partition_counts() -> None:
    both = [report(planned=9.0, at=HOUR - 1), report(), report(planned=9.0, at=HOUR - 2)]
    assert next_price(SETTINGS, PRICE, both, 1.0, HOUR) == next_price(
        SETTINGS, PRICE, [report()], 1.0, HOUR
    )


def test_one_step_is_bounded() -> None:
    late = [report(planned=1e9, at=5 * DAY)]
    dear = next_price(SETTINGS, PRICE, late, 1.0, 5 * DAY)
    assert dear.price == pytest.approx(PRICE.price * math.exp(0.5))


@pytest.mark.parametrize("planned", [0.0, 1e9])
def test_the_price_stays_within_what_makes_a_difference(planned: float) -> None:
    price = PRICE
    for number in range(1, 2000):
        at = number * DAY
        price = next_price(SETTINGS, price, [report(planned=planned, at=at)], 1.0, at)
    prior = SETTINGS.prior_shape, SETTINGS.prior_time
    least, most = value(*prior, HOUR), 1000 * value(*prior, 365 * DAY)
    assert price.price == pytest.approx(least if planned == 0 else most)


def test_what_fetchers_leave_unused_is_planned_on_top_up_to_a_twentieth() -> None:
    price = PRICE
    for number in range(1, 24 * 100):
        at = number * HOUR
        price = next_price(SETTINGS, price, [report(idle=0.5, at=at)], 1.0, at)
    assert price.trim == 0.05


def test_a_queue_raises_the_price_but_slowly() -> None:
    waiting = [report(backlog=10 * DAY)]
    then = next_price(SETTINGS, PRICE, waiting, 1.0, HOUR)
    assert then.price == pytest.approx(PRICE.price * math.exp(0.2 * 0.5 / 24))
    assert then.trim == 0


@pytest.mark.parametrize(("urls", "days"), [(1, 30), (10, 70), (10_000, 365)])
def test_no_page_waits_for_more_than_seven_rounds(urls: int, days: float) -> None:
    assert first_price(SETTINGS, urls, 1 / DAY, 0.0).longest == days * DAY
    told = next_price(SETTINGS, PRICE, [report(urls=urls)], 1 / DAY, HOUR)
    assert told.longest == days * DAY


def test_a_clock_set_back_changes_nothing() -> None:
    later = msgspec.structs.replace(PRICE, at=2 * HOUR)
    assert next_price(SETTINGS, later, [report()], 5.0, HOUR).price == PRICE.price
