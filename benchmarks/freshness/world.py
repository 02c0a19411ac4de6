"""Pages whose changes are known: how often, in which manner, and how much each page counts."""

import math
from array import array
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

DAY = 86_400.0
Floats = NDArray[np.float64]

POISSON, PERIODIC, BURSTY, DEAD = range(4)
_SHARES = {
    "poisson": (1.0, 0.0, 0.0, 0.0),
    "periodic": (0.0, 1.0, 0.0, 0.0),
    "bursty": (0.0, 0.0, 1.0, 0.0),
    "dead": (0.5, 0.0, 0.0, 0.5),
    "mixed": (0.4, 0.2, 0.2, 0.2),
}
"""Pages of each kind, by process; `dead` is half dead."""
_MEDIAN, _SPREAD = 20 * DAY, 2.5
"""Interval between changes: 11 % of pages change within a day, a quarter not within 120 days."""
_FASTEST, _SLOWEST = 120.0, 3650 * DAY
_WEIGHT_SPREAD = 1.5
_OFTEN, _BURST = 0.9, 10.0
"""A bursty page's next change is soon with this chance, so many times as soon as in the mean."""
_MANY = 32
"""Changes drawn one by one at most; after that the process is in equilibrium."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What is simulated."""

    name: str
    process: str = "poisson"
    budget: float = 0.2
    """Recrawls a page and day."""
    weights: str = "spread"
    """`equal`; `spread`: lognormal; `correlated`: with the change rate, by one half."""
    drift: float = 0.0
    """Share of pages that get another change rate in the middle of the time."""


class World:
    """The pages of a scenario, and when each changes next; seconds since the beginning."""

    def __init__(self, scenario: Scenario, pages: int, seed: int) -> None:
        self.scenario = scenario
        self.pages = pages
        self._numpy = np.random.default_rng(seed)
        self._random = Random(seed)  # noqa: S311 - a simulation, no secret
        normal = self._numpy.standard_normal(pages)
        self.rates = self._rates(normal)
        self.kinds = self._numpy.choice(4, pages, p=_SHARES[scenario.process])
        self.rates[self.kinds == DEAD] = 0.0
        self.weights = self._weights(normal)
        self.ages = self._numpy.random(pages) * DAY / scenario.budget
        """Before the beginning each page was fetched once, at an even pace; seconds ago."""
        self.changes = array("d", bytes(8 * pages))
        """First change of each page after it was last fetched."""
        self._kind: list[int] = self.kinds.tolist()
        self._rate: list[float] = self.rates.tolist()
        self._phase: list[float] = self._numpy.random(pages).tolist()
        for page in range(pages):
            self.fetched(page, -float(self.ages[page]))

    def fetched(self, page: int, now: float) -> None:
        """The page is fresh `now`: draw its next change."""
        kind, rate = self._kind[page], self._rate[page]
        if kind == POISSON:
            self.changes[page] = now - math.log(1.0 - self._random.random()) / rate
        elif kind == PERIODIC:
            turns = math.floor(now * rate - self._phase[page]) + 1
            self.changes[page] = max((turns + self._phase[page]) / rate, now + 1e-6)
        elif kind == BURSTY:
            self.changes[page] = self._after_burst(page, now)
        else:
            self.changes[page] = math.inf

    def drift(self, now: float) -> None:
        """Another rate for some of the pages."""
        moved = np.flatnonzero(self._numpy.random(self.pages) < self.scenario.drift)
        rates = self._rates(self._numpy.standard_normal(len(moved)))
        for page, rate in zip(moved.tolist(), rates.tolist(), strict=True):
            if self._kind[page] == DEAD:
                continue
            self.rates[page] = self._rate[page] = rate
            if self.changes[page] > now:
                self.fetched(page, now)

    def alike(self, rate: float) -> None:
        """All pages change at this rate and were fetched at the beginning."""
        self.rates[:] = rate
        self._rate = self.rates.tolist()
        self.ages[:] = 0.0
        for page in range(self.pages):
            self.fetched(page, 0.0)

    def fresh(self, fetched: Floats, now: float) -> Floats:
        """The chance that each page's copy is the page as it is now.

        For Poisson pages the chance itself, which is steadier than what the draw made of it.
        """
        seen = (np.frombuffer(self.changes) > now).astype(np.float64)
        if self.scenario.drift:
            return seen
        expected = np.exp(-self.rates * (now - fetched))
        return np.where(self.kinds == POISSON, expected, seen)

    def _after_burst(self, page: int, now: float) -> float:
        mean = 1.0 / self._rate[page]
        change = self.changes[page] or now
        for _ in range(_MANY):
            if change > now:
                return change
            change += self._renewal(mean, _OFTEN)
        # How long it still is when one looks at any time: long renewals are met more often.
        soon = _OFTEN / _BURST
        return now + self._renewal(mean, soon)

    def _renewal(self, mean: float, often: float) -> float:
        """Two exponential times, the short one with chance `often`; squared variation is 8.3."""
        short = mean / _BURST
        long = (mean - _OFTEN * short) / (1 - _OFTEN)
        drawn = short if self._random.random() < often else long
        return -math.log(1.0 - self._random.random()) * drawn

    def _rates(self, normal: Floats) -> Floats:
        times = np.clip(_MEDIAN * np.exp(-_SPREAD * normal), _FASTEST, _SLOWEST)
        return np.asarray(1.0 / times)

    def _weights(self, normal: Floats) -> Floats:
        if self.scenario.weights == "equal":
            return np.ones(self.pages)
        other = self._numpy.standard_normal(self.pages)
        if self.scenario.weights == "correlated":
            other = 0.5 * normal + math.sqrt(0.75) * other
        weights = np.exp(_WEIGHT_SPREAD * other)
        return np.asarray(weights / weights.mean())
