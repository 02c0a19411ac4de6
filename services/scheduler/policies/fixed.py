"""`fixed`: every page at the same interval, whatever it does."""

from services.scheduler.policies.base import Around, Observation, Policy, State


class Fixed(Policy):
    """`first_interval`, always."""

    def interval(self, last: State | None, seen: Observation, around: Around) -> float:  # noqa: ARG002 - by design
        """See `Policy.interval`."""
        return self.settings.first_interval
