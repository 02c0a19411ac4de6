"""`adaptive` (A2): changed -> interval / factor, unchanged -> interval x factor, in bounds."""

from services.scheduler.policies.base import Around, Observation, Policy, Seen, State


class Adaptive(Policy):
    """Multiplicative increase and decrease between a floor and a ceiling."""

    def interval(self, last: State | None, seen: Observation, around: Around) -> float:  # noqa: ARG002 - blind to it
        """See `Policy.interval`."""
        if last is None or seen.seen is Seen.FIRST:
            declared = seen.hints.changefreq if self.settings.use_hints else 0.0
            return declared or self.settings.first_interval
        if seen.seen is Seen.CHANGED:
            return last.interval / self.settings.factor
        return last.interval * self.settings.factor
