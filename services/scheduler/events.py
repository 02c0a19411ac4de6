"""Which record does what: one Kafka record in, what to send out. Applies rows, sends nothing."""

import time
from collections.abc import Callable
from typing import NamedTuple

from services.common import codec, metrics, topics
from services.common.records import (
    Command,
    CommandResult,
    CrawlReported,
    FetchRequested,
    Record,
    UrlAdmitted,
)
from services.common.topics import Topic
from services.scheduler.core import Partition
from services.scheduler.rows import Rows, Tables

INPUTS = (topics.URL_ADMITTED, topics.CRAWL_REPORTED, topics.CLOCK_TICKED, topics.COMMANDS)


class Output(NamedTuple):
    """A record to send; `partition` None lets the key decide."""

    topic: Topic
    record: Record
    key: bytes
    partition: int | None


class Events:
    """Handles the records of the worker's partitions, one at a time."""

    def __init__(self, tables: Tables, worker: str, clock: Callable[[], float] = time.time) -> None:
        self._tables = tables
        self._worker = worker
        self._clock = clock

    def handle(
        self, topic: Topic, value: bytes | None, number: int, partition: Partition, *, replay: bool
    ) -> list[Output]:
        """Decide on one record and write the rows it changes.

        `replay`: it may have been handled before, by a process that was killed.

        Raises:
            DeadLetter: the record cannot be used; no row was changed.
        """
        if value is None:
            metrics.tombstones.labels(topic.name).inc()
            return []
        record = codec.decode(topic, value)
        if topic is topics.COMMANDS:
            return [self._answer(record, number, partition)]
        rows = Rows(self._tables)
        requests = _decide(record, partition, rows, self._clock(), replay=replay)
        rows.flush()
        return [
            Output(topics.FETCH_REQUESTED, request, request.host.encode(), number)
            for request in requests
        ]

    def _answer(self, command: Command, number: int, partition: Partition) -> Output:
        result = CommandResult(
            id=command.id,
            name=command.name,
            partition=number,
            worker=self._worker,
            result=partition.status(),
        )
        return Output(topics.COMMAND_RESULTS, result, command.id.encode(), None)


def _decide(
    record: Record, partition: Partition, rows: Rows, now: float, *, replay: bool
) -> list[FetchRequested]:
    match record:
        case UrlAdmitted():
            return partition.admit(record, rows, now, replay=replay)
        case CrawlReported():
            return partition.report(record, rows, now, replay=replay)
        case _:
            return partition.tick(rows, now)
