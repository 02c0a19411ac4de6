"""The price of a recrawl, set by partition 0 for all from what every partition reports (G1).

Reports and prices are records like any others, so whoever has partition 0 is the controller, and
nothing is elected. policies/price.py has the law.
"""

import math
from collections.abc import Iterable

from services.common.records import PartitionPlanned, PriceSet
from services.common.settings import Scheduler
from services.scheduler.policies.price import (
    PartitionReport,
    Price,
    first_price,
    next_price,
    relaxed_price,
)

_DAY = 86_400.0
_FRESH = 3
"""Periods for which a report counts."""
_SMOOTH = 0.1
"""Weight of the newest period in what is handed out lately."""
_LATE = 0.1
"""Days of work that may wait before recrawls count as late."""


class Controller:
    """Hears of every partition and sets the price once a period."""

    def __init__(self, settings: Scheduler) -> None:
        self._settings = settings
        self._heard: dict[int, PartitionPlanned] = {}
        self._since = math.inf
        self._last: PriceSet | None = None
        self._handed = -1.0

    def hear(self, report: PartitionPlanned, known: PriceSet | None, now: float) -> PriceSet | None:
        """The new price, if it is time for one; `known` is the one that is in force, if any."""
        period = self._settings.price_period
        if report.at < now - _FRESH * period:
            return None  # from before a restart
        if self._last is None or (known is not None and known.at > self._last.at):
            self._last = known
        before = self._heard.get(report.partition)
        if before is None or report.at > before.at:
            self._heard[report.partition] = report
        # A controller that has just begun hears all partitions first.
        self._since = min(self._since, now)
        if now - self._since < period:
            return None
        self._since = now
        fresh = [r for r in self._heard.values() if r.at >= now - _FRESH * period]
        self._last = self._set(fresh, now)
        return self._last

    def _set(self, heard: list[PartitionPlanned], now: float) -> PriceSet:
        settings = self._settings
        urls = sum(report.urls for report in heard)
        handed = sum(report.handed for report in heard)
        self._handed += (handed - self._handed) * (_SMOOTH if self._handed >= 0 else 1.0)
        budget = settings.budget / _DAY
        last = self._price(urls, budget, now)
        if budget:
            idle = min(max(1.0 - self._handed / budget, 0.0), 1.0)
            price = next_price(settings, last, _reports(heard, idle), budget, now)
        elif self._is_late(heard):
            price = next_price(settings, last, _reports(heard, 0.0), self._handed, now)
        else:
            price = relaxed_price(settings, last, now)
        priorities = sum(report.priorities for report in heard)
        return PriceSet(
            price=price.price,
            longest=price.longest,
            trim=price.trim,
            at=price.at,
            priority=priorities / urls if urls else 0.0,
        )

    def _is_late(self, heard: list[PartitionPlanned]) -> bool:
        backlog = sum(report.backlog for report in heard)
        return 0 < self._handed * _DAY * _LATE < backlog

    def _price(self, urls: int, budget: float, now: float) -> Price:
        last = self._last
        if last is None:
            before = now - self._settings.price_period
            average = max(urls, 1) / self._settings.first_interval
            return first_price(self._settings, urls, budget or average, before)
        return Price(price=last.price, longest=last.longest, trim=last.trim, at=last.at)


def _reports(heard: Iterable[PartitionPlanned], idle: float) -> list[PartitionReport]:
    return [
        PartitionReport(
            partition=report.partition,
            at=report.at,
            planned=report.planned,
            urls=report.urls,
            backlog=report.backlog,
            idle=idle,
        )
        for report in heard
    ]
