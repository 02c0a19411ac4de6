"""Whether the pipeline has nothing left to do. Decides from readings; reads nothing itself."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.common import topics
from services.common.kafka.offsets import Place
from services.common.topics import Topic

READS: Mapping[str, Sequence[Topic]] = {
    "frontier": (topics.SEEDS, topics.URL_DISCOVERED),
    "scheduler": (topics.URL_ADMITTED, topics.CRAWL_REPORTED),
    "fetcher": (topics.FETCH_REQUESTED,),
    "parser": (topics.FETCH_COMPLETED,),
}
"""What each service reads of the loop; the clock and commands always move and do not count."""

PENDING = ("waiting", "in_flight", "due")
"""Counters of the scheduler's status that are work for now. A retry that is due later is not:
it would keep a finished crawl open for minutes."""
RETRYING = (*PENDING, "retrying")
"""The same with those retries, for whoever has the time."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How far every service had read at one moment."""

    places: Sequence[Place]

    @property
    def lag(self) -> int:
        """Records on the way."""
        return sum(place.lag for place in self.places)

    @property
    def ends(self) -> dict[tuple[str, int], int]:
        """Where every partition ended."""
        return {(place.topic, place.partition): place.end for place in self.places}


def is_quiet(
    before: Reading,
    status: Mapping[str, int],
    after: Reading,
    pending: Sequence[str] = PENDING,
) -> bool:
    """Whether nothing was on the way, and nothing pending, between two readings.

    `pending` names the counters that must be nought. `status` must have been asked for and
    answered between the readings: then whatever the scheduler emitted before its answer shows
    in `after`, and what reached it later shows in both.
    """
    return (
        before.lag == after.lag == 0
        and before.ends == after.ends
        and not any(status.get(name, 0) for name in pending)
    )


def beyond(status: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The status without the retries that waited `before` a crawl began: they are not its own.

    An earlier crawl's may wait for hours.
    """
    retrying = status.get("retrying", 0) - before.get("retrying", 0)
    return {**status, "retrying": max(0, retrying)}


def total(results: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of the answers of all partitions."""
    summed: Counter[str] = Counter()
    for result in results:
        summed.update(result)
    return dict(summed)
