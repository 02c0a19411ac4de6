"""A crawl on a simulated clock: URLs wake, wait for their turn, and are fetched within a budget.

Everything that decides is the scheduler's: the policies and the price. What is left is a timeline
of buckets as wide as a tick, a queue, and as many fetches a tick as the budget has.
"""

import math
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from benchmarks.freshness.contenders import Known
from benchmarks.freshness.world import DAY, World
from services.scheduler.policies.base import Around, Next, Observation, Policy, Seen
from services.scheduler.policies.optimal import Optimal
from services.scheduler.policies.price import PartitionReport, first_price, next_price

TICK = DAY / 96
_PRICED = 4
"""Ticks between two prices."""
_LOOK = 24
"""Ticks between two looks at the freshness, each in the middle of a tick."""
_FIRST = Observation(seen=Seen.FIRST)


@dataclass
class Course:
    """How a run went."""

    days: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)
    """Weighted freshness on these days."""
    prices: list[float] = field(default_factory=list)
    queue: list[float] = field(default_factory=list)
    """URLs due and not fetched, in days of budget."""
    used: list[float] = field(default_factory=list)
    """Share of the budget used since the last look."""

    def score(self, begin: float, end: float = math.inf) -> float:
        """Mean freshness from day `begin` on."""
        looks = zip(self.days, self.fresh, strict=True)
        return float(np.mean([fresh for day, fresh in looks if begin <= day < end]))


class Crawl:
    """One policy in one world."""

    def __init__(self, world: World, policy: Policy, days: int) -> None:
        self._world = world
        self._policy = policy
        self._days = days
        self._budget = world.pages * world.scenario.budget / DAY
        self._around = Around()
        self._weights: list[float] = world.weights.tolist()
        self._buckets: list[list[int]] = [[] for _ in range(days * 96)]
        self._queue: deque[int] = deque()
        self._credit = 0.0
        self._spent, self._offered = 0, 0.0
        self._told, self._looked = (0, 0.0), (0, 0.0)
        """`_spent` and `_offered` at the last price and at the last look."""
        self._course = Course()
        self._fetched = array("d", (-world.ages).tolist())
        self._priced = isinstance(policy, Optimal)
        if self._priced:
            settings = policy.settings.model_copy(update={"price_period": _PRICED * TICK})
            self._settings = settings
            self._price = first_price(settings, world.pages, self._budget, 0.0)
            self._tell()
        begun = [self._begin(page) for page in range(world.pages)]
        self._states = [first.state for first in begun]
        self._planned = math.fsum(state.rate for state in self._states)
        for page, first in enumerate(begun):
            self._file(page, first.wake, -1)

    def run(self, budget_at: Callable[[float], float] = lambda _: 1.0) -> Course:
        """The whole time; `budget_at` (day) scales the budget."""
        whole, course, drift = self._budget, self._course, self._world.scenario.drift
        for tick in range(self._days * 96):
            now = tick * TICK
            if drift and tick == self._days * 48:
                self._world.drift(now)
            self._budget = whole * budget_at(now / DAY)
            if self._priced and tick % _PRICED == 0:
                self._set_price(now)
            self._wake(tick, now)
            self._fetch(tick, now)
            if tick % _LOOK == 0:
                self._look(now + TICK / 2)
        return course

    def _begin(self, page: int) -> Next:
        self._around.weight = self._weights[page]
        known = self._policy.begin(page) if isinstance(self._policy, Known) else None
        return self._policy.learn(known, _FIRST, self._around, self._fetched[page])

    def _wake(self, tick: int, now: float) -> None:
        policy, around, states = self._policy, self._around, self._states
        weights, fetched, queue = self._weights, self._fetched, self._queue
        for page in self._buckets[tick]:
            around.weight = weights[page]
            state = states[page]
            then = policy.wake(state, fetched[page], around, now)
            if then.due <= now:
                queue.append(page)
            else:
                self._planned += then.state.rate - state.rate
                states[page] = then.state
                self._file(page, then.wake, tick)
        self._buckets[tick] = []

    def _fetch(self, tick: int, now: float) -> None:
        policy, around, states, world = self._policy, self._around, self._states, self._world
        fetched, queue, changes = self._fetched, self._queue, self._world.changes
        per_tick = self._budget * TICK
        self._offered += per_tick
        self._credit = min(self._credit + per_tick, per_tick + 1)
        while self._credit >= 1 and queue:
            self._credit -= 1
            self._spent += 1
            page = queue.popleft()
            seen = Seen.UNCHANGED
            if changes[page] <= now:
                seen = Seen.CHANGED
                world.fetched(page, now)
            since = now - fetched[page]
            fetched[page] = now
            around.weight = self._weights[page]
            state = states[page]
            then = policy.learn(state, Observation(seen=seen, since_last=since), around, now)
            self._planned += then.state.rate - state.rate
            states[page] = then.state
            self._file(page, then.wake, tick)

    def _file(self, page: int, wake: float, tick: int) -> None:
        number = max(math.ceil(wake / TICK), tick + 1)
        if number < len(self._buckets):
            self._buckets[number].append(page)

    def _set_price(self, now: float) -> None:
        used = self._used(self._told)
        self._told = (self._spent, self._offered)
        report = PartitionReport(
            partition=0,
            at=now,
            planned=self._planned,
            urls=self._world.pages,
            backlog=len(self._queue),
            idle=max(1.0 - used, 0.0),
        )
        self._price = next_price(self._settings, self._price, [report], self._budget, now)
        self._tell()

    def _used(self, since: tuple[int, float]) -> float:
        offered = self._offered - since[1]
        return (self._spent - since[0]) / offered if offered else 1.0

    def _tell(self) -> None:
        self._around = msgspec.structs.replace(
            self._around, price=self._price.price, longest=self._price.longest
        )

    def _look(self, now: float) -> None:
        world, course = self._world, self._course
        fresh = world.fresh(np.frombuffer(self._fetched), now)
        course.days.append(now / DAY)
        course.fresh.append(float((fresh * world.weights).sum() / world.weights.sum()))
        course.prices.append(self._around.price)
        course.queue.append(len(self._queue) / self._budget / DAY)
        course.used.append(self._used(self._looked))
        self._looked = (self._spent, self._offered)
