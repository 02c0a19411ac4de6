"""The price of a fetch, steered so that what is planned is what the budget allows (G1).

Partitions report the sum of their URLs' planned rates; the price that all of them plan with rises
when the sum is over the budget and falls when it is under. It follows the plan and not the queue,
because pages that become due together make a queue that no price is the cure for.
"""

import math
from collections.abc import Iterable

import msgspec

from services.common.settings import Scheduler
from services.scheduler.policies.value import value

_DAY = 86_400.0
_ELASTICITY = 0.6
"""How much the plan follows the price, about: d ln rate / d ln price."""
_STEP = 0.5
"""The logarithm of the price moves no more than this at once."""
_FRESH = 3
"""Periods for which a report counts."""
_QUEUE, _QUEUE_GAIN = 0.1, 0.2
"""Days of budget that may wait without the price rising; how fast it does, per day."""
_TRIM_GAIN, _TRIM_MOST = 0.03, 0.05
"""How fast, per day, and how far the plan may exceed the budget to make up for idle fetchers."""
_SHORTEST, _ROUNDS = 30 * _DAY, 7
"""The longest interval is so many rounds over all URLs, but no shorter than this."""


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one partition says of itself, once a period."""

    partition: int
    at: float
    """Epoch seconds."""
    planned: float
    """Sum of its URLs' planned rates: fetches a second."""
    urls: int
    """URLs in that sum."""
    backlog: int = 0
    """URLs that are due and not handed out."""
    idle: float = 0.0
    """Share of what it may hand out that was not used, 0 to 1."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What is told to every partition; complete, so that a new controller goes on from it."""

    price: float
    """Seconds of staleness times weight; see `Around.price`."""
    longest: float
    """Seconds; see `Around.longest`."""
    trim: float = 0.0
    """Share by which the plan exceeds the budget, because some of it is not used."""
    at: float = 0.0
    """When it was made; epoch seconds."""


def first_price(settings: Scheduler, urls: int, budget: float, now: float) -> Price:
    """Where to begin with this many URLs and this budget, fetches a second."""
    average = max(urls, 1) / budget
    within = min(max(average, settings.min_interval), settings.max_interval)
    return Price(
        price=value(settings.prior_shape, settings.prior_time, within),
        longest=_longest(settings, urls, budget),
        at=now,
    )


def next_price(
    settings: Scheduler, last: Price, reports: Iterable[PartitionReport], budget: float, now: float
) -> Price:
    """The price after the period that ends `now`; `budget` is in fetches a second.

    Only the newest report of a partition counts, and none older than three periods: a partition
    that is silent has no part in the budget until it is back. With no report the price stays.
    """
    heard: dict[int, PartitionReport] = {}
    for report in reports:
        known = heard.get(report.partition)
        fresh = report.at >= now - _FRESH * settings.price_period
        if fresh and (known is None or report.at > known.at):
            heard[report.partition] = report
    urls = sum(report.urls for report in heard.values())
    days = min(max(now - last.at, 0.0), settings.sleep) / _DAY
    if not urls or not days:
        return msgspec.structs.replace(last, at=now)
    planned = sum(report.planned for report in heard.values())
    queue = sum(report.backlog for report in heard.values()) / budget / _DAY
    idle = sum(report.idle * report.urls for report in heard.values()) / urls
    over = queue - _QUEUE
    trim = _clip(last.trim + _TRIM_GAIN * days * (idle - max(over, 0.0)), 0.0, _TRIM_MOST)
    miss = math.log(max(planned, 1e-12) / (budget * (1 + trim)))
    move = days * _DAY / (2 * settings.sleep) * miss / _ELASTICITY
    move += _QUEUE_GAIN * days * _clip(over, -_QUEUE, 0.5)
    least, most = _bounds(settings)
    return Price(
        price=_clip(last.price * math.exp(_clip(move, -_STEP, _STEP)), least, most),
        longest=_longest(settings, urls, budget),
        trim=trim,
        at=now,
    )


def relaxed_price(settings: Scheduler, last: Price, now: float) -> Price:
    """The price when there is no budget and nothing is late.

    It falls, if it had to rise, to where an average new page is fetched every `first_interval`.
    """
    least = value(settings.prior_shape, settings.prior_time, settings.first_interval)
    days = min(max(now - last.at, 0.0), settings.sleep) / _DAY
    fallen = last.price * math.exp(-days * _DAY / (2 * settings.sleep))
    return Price(price=max(fallen, least), longest=settings.max_interval, at=now)


def _bounds(settings: Scheduler) -> tuple[float, float]:
    """Prices beyond which nothing new happens, so that it is not far to go back from there."""
    a, b = settings.prior_shape, settings.prior_time
    return value(a, b, settings.min_interval), 1000 * value(a, b, settings.max_interval)


def _longest(settings: Scheduler, urls: int, budget: float) -> float:
    return min(max(_ROUNDS * urls / budget, _SHORTEST), settings.max_interval)


def _clip(number: float, low: float, high: float) -> float:
    return min(max(number, low), high)
