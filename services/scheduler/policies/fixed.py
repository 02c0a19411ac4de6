"""`fixed`: every page at the same interval, whatever it does."""

from services.common.settings import Scheduler
from services.scheduler.policies import Observation, Plan


class Fixed:
    """`first_interval`, always."""

    def __init__(self, settings: Scheduler) -> None:
        self._plan = Plan(interval=settings.first_interval)

    def next(self, last: Plan | None, seen: Observation) -> Plan:  # noqa: ARG002 - by design
        """See `Policy.next`."""
        return self._plan
