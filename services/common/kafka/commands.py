"""Asks partitions of the scheduler something, or tells them, and collects the answers."""

import time
from types import TracebackType
from typing import Self
from uuid import uuid4

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

from services.common import codec, records, topics
from services.common.errors import DeadLetter, Retry, Stop
from services.common.kafka import admin, options
from services.common.settings import Kafka

TIMEOUT = 15.0


class Commander:
    """Sends commands and waits for their results; keeps its connections. Not for two threads."""

    def __init__(self, settings: Kafka) -> None:
        self._settings = settings
        self._commands = options.physical(settings, topics.COMMANDS)
        self._results = options.physical(settings, topics.COMMAND_RESULTS)
        with options.checked():
            self._producer = confluent_kafka.Producer(
                options.client(
                    settings,
                    {
                        "acks": "all",
                        "message.timeout.ms": int(TIMEOUT * 1000),
                        # As producer.py's: a host's command must meet its URLs.
                        "partitioner": "murmur2_random",
                    },
                )
            )
            self._consumer = confluent_kafka.Consumer(
                options.client(
                    settings,
                    {"group.id": f"recrawl-ask-{uuid4().hex}", "enable.auto.commit": False},
                )
            )
        self._assigned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def status(self, timeout: float = TIMEOUT) -> list[records.CommandResult]:
        """One result per partition of the scheduler.

        Raises:
            Retry: not all partitions answered in time.
            Stop: there are no topics, or the cluster refuses.
        """
        return self.send(
            records.Command(id=uuid4().hex, name="status", asked_at=time.time()), timeout
        )

    def explain(
        self, host: str, fingerprint: bytes, timeout: float = TIMEOUT
    ) -> records.CommandResult:
        """What the host's partition of the scheduler knows of a URL.

        Raises:
            Retry: it did not answer in time.
            Stop: there are no topics, or the cluster refuses.
        """
        command = records.Command(
            id=uuid4().hex,
            name="explain",
            asked_at=time.time(),
            host=host,
            fingerprint=fingerprint,
        )
        return self.send(command, timeout)[0]

    def heal(self, host: str, fingerprint: bytes, timeout: float = TIMEOUT) -> bool:
        """Let a URL be given its place back if that is lost; whether it was.

        Raises:
            Retry: the scheduler did not answer in time.
            Stop: there are no topics, or the cluster refuses.
        """
        command = records.Command(
            id=uuid4().hex,
            name="heal",
            asked_at=time.time(),
            host=host,
            fingerprint=fingerprint,
        )
        return bool(self.send(command, timeout)[0].result.get("healed"))

    def send(
        self, command: records.Command, timeout: float = TIMEOUT
    ) -> list[records.CommandResult]:
        """To the partition of its host, or to all if it names none; their answers.

        Raises:
            Retry: not all answered in time. They may still do it; it does no harm twice.
            Stop: there are no topics, or the cluster refuses.
        """
        try:
            count = self._begin()
            value = codec.encode(topics.COMMANDS, command)
            if command.host:
                count = 1
                self._producer.produce(self._commands, value, key=command.host)
            else:
                for partition in range(count):
                    self._producer.produce(self._commands, value, partition=partition)
            self._producer.flush(timeout)
            return self._collect(command.id, count, time.monotonic() + timeout)
        except KafkaException as error:
            raise admin.mapped(self._settings, error.args[0]) from error

    def _begin(self) -> int:
        """Listen from the end on; the partition count of `commands`."""
        counts = admin.partition_counts(self._settings)
        if self._commands not in counts or self._results not in counts:
            raise Stop(f"topic {self._commands} is missing: run `recrawl topics`")
        if not self._assigned:
            places = [TopicPartition(self._results, n) for n in range(counts[self._results])]
            for place in places:
                place.offset = self._consumer.get_watermark_offsets(place, timeout=TIMEOUT)[1]
            self._consumer.assign(places)
            self._assigned = True
        return counts[self._commands]

    def _collect(self, command: str, count: int, deadline: float) -> list[records.CommandResult]:
        answers: dict[int, records.CommandResult] = {}
        while len(answers) < count:
            if time.monotonic() > deadline:
                raise Retry(
                    f"the scheduler answered for {len(answers)} of {count} partitions: is it"
                    " running (`recrawl run scheduler`), and ready?"
                )
            message = self._consumer.poll(0.1)
            if message is None or message.error() or (value := message.value()) is None:
                continue
            try:
                result: records.CommandResult = codec.decode(topics.COMMAND_RESULTS, value)
            except DeadLetter:
                continue  # anyone may write there
            if result.id == command:
                answers[result.partition] = result
        return [answers[partition] for partition in sorted(answers)]
