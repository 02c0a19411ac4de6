"""`optimal` (G1): fetch a page when what that is worth, times its weight, reaches one price.

The price is the same for all URLs and is steered so that the plan as a whole spends the budget;
see price.py. Without a controller it is the one at which an average new page would be fetched
every `first_interval`.
"""

from services.common.settings import Scheduler
from services.scheduler.policies.base import Around, Next, Observation, Policy, State
from services.scheduler.policies.value import age_worth, value

_HALF = 0.5
_ROUNDING = 0.999
"""A value so near to the price has reached it."""


class Optimal(Policy):
    """The threshold on the expected value under the belief: no other exploration is needed."""

    priced = True

    def __init__(self, settings: Scheduler) -> None:
        super().__init__(settings)
        self._price = value(settings.prior_shape, settings.prior_time, settings.first_interval)

    def wake(self, state: State, fetched: float, around: Around, now: float) -> Next:
        """See `Policy.wake`: the price may have changed since the URL was planned."""
        settings, age = self.settings, now - fetched
        longest = self._longest(around)
        price = (around.price or self._price) / around.weight
        if age >= longest or (
            age >= settings.min_interval and value(state.a, state.b, age) >= _ROUNDING * price
        ):
            return Next(state, now, now)
        interval = age_worth(
            state.a, state.b, price, settings.min_interval, longest, state.interval
        )
        due = max(fetched + interval, now)
        return Next(State(interval, state.a, state.b, 1.0 / interval), due, self._look(due, now))

    def _longest(self, around: Around) -> float:
        longest = self.settings.max_interval
        return min(around.longest, longest) if around.longest else longest

    def _interval(
        self,
        state: State,
        last: State | None,
        seen: Observation,  # noqa: ARG002 - the belief has it
        around: Around,
    ) -> float:
        settings = self.settings
        return age_worth(
            state.a,
            state.b,
            (around.price or self._price) / around.weight,
            settings.min_interval,
            self._longest(around),
            last.interval if last is not None else 0.0,
        )

    def _planned(self, state: State, seen: Observation, now: float) -> Next:
        kept = self._kept(seen)
        due = now + max(state.interval, kept)
        return Next(state, due, max(self._look(due, now), now + kept))

    def _look(self, due: float, now: float) -> float:
        """When to ask again whether a URL is due, because prices change.

        Half way, each time: a long wait costs few looks, and a price that was wrong for a while
        puts no page to sleep for ever (docs/decisions.md).
        """
        return min(due, now + max(self.settings.sleep, _HALF * (due - now)))
