"""`adaptive` (A2): changed -> interval / factor, unchanged -> interval x factor, in bounds."""

from services.common.settings import Scheduler
from services.scheduler.policies import Observation, Plan


class Adaptive:
    """Multiplicative increase and decrease between a floor and a ceiling."""

    def __init__(self, settings: Scheduler) -> None:
        self._settings = settings

    def next(self, last: Plan | None, seen: Observation) -> Plan:
        """See `Policy.next`."""
        limits = self._settings
        if last is None or seen.changed is None:
            interval = limits.first_interval
        elif seen.changed:
            interval = last.interval / limits.factor
        else:
            interval = last.interval * limits.factor
        return Plan(interval=min(max(interval, limits.min_interval), limits.max_interval))
