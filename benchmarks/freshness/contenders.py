"""The policies that are compared. Recrawl's own are the scheduler's very code, not a copy."""

from collections.abc import Callable

from benchmarks.freshness.world import DAY, World
from services.common.settings import Scheduler
from services.scheduler.policies.adaptive import Adaptive
from services.scheduler.policies.base import Around, Next, Observation, Policy, Seen, State
from services.scheduler.policies.fixed import Fixed
from services.scheduler.policies.optimal import Optimal

_SURE = 1e6
"""Shape of a belief that is as good as knowledge."""
_NEVER = 1e-12


class WeightProportional(Policy):
    """As often as the page counts, whatever it does."""

    def interval(self, last: State | None, seen: Observation, around: Around) -> float:  # noqa: ARG002 - blind
        """See `Policy.interval`."""
        return self.settings.first_interval / around.weight


class NutchLike(Policy):
    """Apache Nutch's AdaptiveFetchSchedule with the constants of its nutch-default.xml.

    Written anew from its formulas. `State.b` is when the page was last seen to have changed.
    """

    def learn(self, last: State | None, seen: Observation, around: Around, now: float) -> Next:  # noqa: ARG002 - blind
        """Changed: x 0.8; unchanged: x 1.4; drawn towards the last change by 0.3."""
        interval = last.interval if last is not None else self.settings.first_interval
        changed = last.b if last is not None else now
        if seen.seen is Seen.CHANGED:
            interval, changed = interval * 0.8, now
        elif seen.seen is Seen.UNCHANGED:
            interval *= 1.4
        since = now - changed
        interval = max(interval, since)
        interval = min(max(interval, self.settings.min_interval), self.settings.max_interval)
        # With the interval at its most, the pull would pass it (NUTCH-1564).
        due = now + max(interval - 0.3 * since, self.settings.min_interval)
        return Next(State(interval, 0.0, changed, 1 / interval), due, due)

    def wake(self, state: State, fetched: float, around: Around, now: float) -> Next:  # noqa: ARG002 - on time
        """It wakes when it is due."""
        return Next(state, now, now)


class StormCrawlerLike(Policy):
    """Apache StormCrawler's AdaptiveScheduler, written anew from its formulas."""

    def interval(self, last: State | None, seen: Observation, around: Around) -> float:  # noqa: ARG002 - blind
        """Changed: half way to the least; unchanged: x 1.5."""
        if last is None:
            return self.settings.first_interval
        if seen.seen is Seen.CHANGED:
            return 0.5 * last.interval + 0.5 * self.settings.min_interval
        return 1.5 * last.interval


class Known(Optimal):
    """`optimal` that is told the change rates and has nothing to learn."""

    def __init__(self, settings: Scheduler, world: World) -> None:
        super().__init__(settings)
        self._world = world

    def begin(self, page: int) -> State:
        """The state of a page before its first fetch."""
        rate = max(float(self._world.rates[page]), _NEVER)
        return State(self.settings.first_interval, _SURE, _SURE / rate)

    def _believed(self, old: State, seen: Observation, around: Around) -> tuple[float, float]:  # noqa: ARG002 - knows
        return old.a, old.b


def _rounds(world: World) -> Scheduler:
    return Scheduler(first_interval=DAY / world.scenario.budget, max_interval=3650 * DAY)


def _adaptive(factor: float) -> Callable[[World], Policy]:
    return lambda _: Adaptive(Scheduler(factor=factor, max_interval=90 * DAY))


CONTENDERS: dict[str, Callable[[World], Policy]] = {
    "uniform": lambda world: Fixed(_rounds(world)),
    "weight-proportional": lambda world: WeightProportional(_rounds(world)),
    "adaptive, 2": _adaptive(2.0),
    "adaptive, 1.5": _adaptive(1.5),
    "Nutch-like": lambda _: NutchLike(
        Scheduler(first_interval=30 * DAY, min_interval=60, max_interval=90 * DAY)
    ),
    "StormCrawler-like": lambda _: StormCrawlerLike(
        Scheduler(first_interval=DAY, min_interval=3600, max_interval=14 * DAY)
    ),
    "optimal": lambda _: Optimal(Scheduler()),
    "known rates": lambda world: Known(Scheduler(), world),
}
