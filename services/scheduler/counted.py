"""The scheduler's metrics: what each event did, and the totals as they stand."""

from services.common import metrics
from services.common.records import DeadLetter, FetchRequested
from services.common.topics import Topic
from services.scheduler.core import Partition
from services.scheduler.events import Output
from services.scheduler.intake import Intake

_DAY = 86_400
_PENDING = {
    "waiting": metrics.urls_waiting,
    "in_flight": metrics.urls_in_flight,
    "known": metrics.urls_known,
    "hosts_quarantined": metrics.hosts_quarantined,
}


class Counted:
    """Feeds services.common.metrics."""

    def event(self, topic: Topic, outputs: list[Output]) -> None:
        """One record was handled."""
        metrics.records_in.labels(topic.name).inc()
        for output in outputs:
            metrics.records_out.labels(output.topic.name).inc()
            match output.record:
                case FetchRequested(reason=reason):
                    metrics.emitted.labels(reason).inc()
                case DeadLetter(reason=reason):
                    metrics.dead_letters.labels(topic.name, reason).inc()
                case _:
                    pass

    def partition(self, number: int, partition: Partition) -> None:
        """Totals of a partition after an event."""
        status = partition.status()
        for state, gauge in _PENDING.items():
            gauge.labels(number).set(status.get(state, 0))
        metrics.recrawl_lag_seconds.labels(number).set(partition.lag)
        recrawls = partition.recrawls
        metrics.recrawls_planned.labels(number).set(recrawls.plan.planned * _DAY)
        metrics.recrawl_price.set(recrawls.last_price)
        happened = partition.happened
        metrics.leases_expired.inc(happened.pop("lease-expired", 0))
        for reason in list(happened):
            metrics.events_without_effect.labels(reason).inc(happened.pop(reason))

    def intake(self, intake: Intake, held: int) -> None:
        """Whether new URLs are taken, and how many of their records are held."""
        metrics.intake_stopped.set(intake.stopped)
        metrics.records_held.set(held)

    def forget(self, number: int) -> None:
        """The partition moved to another worker."""
        for gauge in _PENDING.values():
            gauge.labels(number).set(0)
        metrics.recrawl_lag_seconds.labels(number).set(0)
        metrics.recrawls_planned.labels(number).set(0)
