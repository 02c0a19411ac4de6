"""Which record does what: one Kafka record in, rows to write and records to send out."""

import time
from collections.abc import Callable
from typing import NamedTuple

from services.common import codec, metrics, topics
from services.common.kafka.partitions import partition_of
from services.common.records import (
    Command,
    CommandResult,
    CrawlReported,
    FetchRequested,
    PartitionPlanned,
    PriceSet,
    Record,
    UrlAdmitted,
)
from services.common.topics import Topic
from services.scheduler.core import Partition
from services.scheduler.rows import Rows, Tables

INPUTS = (
    topics.URL_ADMITTED,
    topics.CRAWL_REPORTED,
    topics.CLOCK_TICKED,
    topics.PARTITION_PLANNED,
    topics.PRICE_SET,
    topics.COMMANDS,
)
_CONTROLLER = 0
"""The partition that sets the price for all."""


class Output(NamedTuple):
    """A record to send; `partition` None lets the key decide."""

    topic: Topic
    record: Record
    key: bytes
    partition: int | None


class Events:
    """Handles the records of the worker's partitions, one at a time."""

    def __init__(
        self,
        tables: Tables,
        worker: str,
        fetch_partitions: int,
        clock: Callable[[], float] = time.time,
        *,
        partitions: int = 1,
    ) -> None:
        """`partitions`: how many there are in all; `fetch-requested` has `fetch_partitions`."""
        self._tables = tables
        self._fetch_partitions = fetch_partitions
        self._partitions = partitions
        self._worker = worker
        self._clock = clock

    def decide(
        self, topic: Topic, value: bytes | None, number: int, partition: Partition, *, replay: bool
    ) -> tuple[Rows, list[Output]]:
        """What follows from one record; nothing is written or sent yet.

        `replay`: it may have been handled before, by a process that was killed.

        Raises:
            DeadLetter: the record cannot be used.
        """
        rows = Rows(self._tables)
        if value is None:
            metrics.tombstones.labels(topic.name).inc()
            return rows, []
        record = codec.decode(topic, value)
        answers: list[Output] = []
        if topic is topics.COMMANDS and record.name == "heal":
            healed, requests = partition.heal(record.host, record.fingerprint, rows, self._clock())
            answers = [self._result(record, number, counts={"healed": int(healed)})]
        elif topic is topics.COMMANDS:
            return rows, [self._answer(record, number, partition, rows)]
        else:
            requests = _decide(record, partition, rows, self._clock(), replay=replay)
        updated = list(partition.updated.values())
        partition.updated.clear()
        return rows, [
            *answers,
            *(self._request(request, number) for request in requests),
            *(Output(topics.HOST_UPDATED, facts, facts.host.encode(), None) for facts in updated),
            *self._priced(partition),
        ]

    def _priced(self, partition: Partition) -> list[Output]:
        """Reports of the plan, and prices for every partition, since they were last taken."""
        recrawls = partition.recrawls
        reports, prices = recrawls.reports, recrawls.prices
        recrawls.reports, recrawls.prices = [], []
        return [
            *(Output(topics.PARTITION_PLANNED, report, b"", _CONTROLLER) for report in reports),
            *(
                Output(topics.PRICE_SET, price, b"", number)
                for price in prices
                for number in range(self._partitions)
            ),
        ]

    def _request(self, request: FetchRequested, number: int) -> Output:
        """To the fetcher of its group; to that of the host's own partition while none is known."""
        if request.group:
            number = partition_of(request.group, self._fetch_partitions)
        return Output(topics.FETCH_REQUESTED, request, request.host.encode(), number)

    def _answer(self, command: Command, number: int, partition: Partition, rows: Rows) -> Output:
        counts: dict[str, int] = {}
        detail: dict[str, str] = {}
        if command.name == "status":
            counts = partition.status()
        elif command.name != "explain":
            counts = partition.command(command, rows, self._clock())
        else:
            now = self._clock()
            detail = partition.explain(command.host, command.fingerprint, rows, now)
        return self._result(command, number, counts=counts, detail=detail)

    def _result(
        self,
        command: Command,
        number: int,
        *,
        counts: dict[str, int],
        detail: dict[str, str] | None = None,
    ) -> Output:
        result = CommandResult(
            id=command.id,
            name=command.name,
            partition=number,
            worker=self._worker,
            result=counts,
            detail=detail or {},
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
        case PartitionPlanned():
            partition.recrawls.hear(record, rows, now)
            return []
        case PriceSet():
            partition.recrawls.set_price(record, rows)
            return []
        case _:
            return partition.tick(rows, now)
