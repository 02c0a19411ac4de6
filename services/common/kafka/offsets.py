"""How far each service has read its topics, as the broker knows it. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # not in its stubs

from services.common.kafka import admin, options
from services.common.settings import Kafka
from services.common.topics import Topic

TIMEOUT = 10.0

_FIRST = OffsetSpec.earliest()  # type: ignore[no-untyped-call] # the library's gap
_END = OffsetSpec.latest()  # type: ignore[no-untyped-call] # same


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One partition as one service reads it."""

    service: str
    topic: str
    partition: int
    committed: int | None
    """None: nothing was ever committed, so reading begins at `first`."""
    first: int
    end: int
    """The offset that the next record will get."""

    @property
    def lag(self) -> int:
        """Records that are not finished yet."""
        begin = self.first if self.committed is None else max(self.committed, self.first)
        return max(0, self.end - begin)


class Offsets:
    """Reads the positions of several consumer groups; keeps its connections.

    Commits are asked for by a consumer of each group that never joins it. The administrative
    call for that crashes the process when the coordinator is not ready (librdkafka 2.16: the
    error's handler takes every client for a consumer).
    """

    def __init__(self, settings: Kafka) -> None:
        self._settings = settings
        self._admin = admin.connect(settings)
        self._members: dict[str, confluent_kafka.Consumer] = {}

    def close(self) -> None:
        """Close the connections."""
        for member in self._members.values():
            member.close()
        self._members.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self, reads: Mapping[str, Sequence[Topic]]) -> list[Place]:
        """The places of all partitions of each service's topics.

        Ends are read after commits, so a record that arrives in between counts as lag.

        Raises:
            Retry: no broker answers, or a topic is missing.
            Stop: the cluster refuses.
        """
        try:
            return self._read(reads)
        except KafkaException as error:
            raise admin.mapped(self._settings, error.args[0]) from error

    def _read(self, reads: Mapping[str, Sequence[Topic]]) -> list[Place]:
        counts = admin.partition_counts(self._settings, self._admin)
        places = {
            service: [
                TopicPartition(name, number)
                for topic in topics
                for name in [options.physical(self._settings, topic)]
                for number in range(counts.get(name, 0))
            ]
            for service, topics in reads.items()
        }
        commits = {service: self._committed(service, asked) for service, asked in places.items()}
        every = {place for asked in places.values() for place in asked}
        firsts = self._bounds(every, _FIRST)
        ends = self._bounds(every, _END)
        return [
            Place(
                service=service,
                topic=place.topic.removeprefix(self._settings.prefix),
                partition=place.partition,
                committed=commits[service].get((place.topic, place.partition)),
                first=firsts[(place.topic, place.partition)],
                end=ends[(place.topic, place.partition)],
            )
            for service, asked in places.items()
            for place in asked
        ]

    def _committed(self, service: str, asked: list[TopicPartition]) -> dict[tuple[str, int], int]:
        if not asked:
            return {}
        if service not in self._members:
            member = {"group.id": options.group(self._settings, service)}
            with options.checked():
                self._members[service] = confluent_kafka.Consumer(
                    options.client(self._settings, member)
                )
        found = self._members[service].committed(asked, timeout=TIMEOUT)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def _bounds(self, places: set[TopicPartition], which: OffsetSpec) -> dict[tuple[str, int], int]:
        if not places:
            return {}
        answers = self._admin.list_offsets(dict.fromkeys(places, which), request_timeout=TIMEOUT)
        return {
            (place.topic, place.partition): answer.result().offset
            for place, answer in answers.items()
        }
