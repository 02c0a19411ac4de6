"""Engines and services together: what `recrawl up`, `crawl` and `demo` run on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.common.settings import Settings
from services.local import running
from services.local.engines import Endpoints, engines
from services.local.supervisor import Pipeline, pipeline

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that was started, and the settings it runs with."""

    settings: Settings
    endpoints: Endpoints
    pipeline: Pipeline


@contextmanager
def whole(settings: Settings, report: Report) -> Iterator[Whole]:
    """Engines, topics, tables and services for this block; known to others by `running.json`.

    Raises:
        Stop: something cannot be started; the message says what to do.
    """
    with engines(settings, report) as endpoints:
        placed = _placed(settings, endpoints)
        with (
            pipeline(placed, report) as services,
            running.announce(placed, services.ports),
        ):
            yield Whole(placed, endpoints, services)


def _placed(settings: Settings, endpoints: Endpoints) -> Settings:
    """The settings with the engines' addresses, and the tables kept with the engines' data."""
    scheduler = settings.scheduler
    if "data_dir" not in scheduler.model_fields_set:
        tables = settings.local.data_dir / "scheduler"
        scheduler = scheduler.model_copy(update={"data_dir": tables})
    return settings.model_copy(
        update={
            "kafka": settings.kafka.model_copy(update={"bootstrap": endpoints.kafka}),
            "cassandra": settings.cassandra.model_copy(
                update={"contact_points": endpoints.cassandra}
            ),
            "scheduler": scheduler,
        }
    )
