"""A compacted topic as a table: the newest value of each key, in memory, followed by a thread.

Every reader has all of it: all partitions, from the beginning, in no group. Decides nothing
about what it is for: the owner says what is worth keeping of a record.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

from services.common import codec, metrics
from services.common.errors import DeadLetter, Retry, Stop
from services.common.kafka import admin, options
from services.common.settings import Kafka
from services.common.topics import Topic

_log = logging.getLogger(__name__)

BATCH = 500
CLOSE_WITHIN = 5.0

V = TypeVar("V")


class Table(Generic[V]):
    """At most `most` keys of one topic; `keep` makes a value of a record, None to keep nothing.

    `get` and the other questions are for any thread. What comes when the table is full, and what
    is no record of the topic, is left out and counted. Partitions that are added to the topic
    later are read by who starts later.
    """

    def __init__(
        self, settings: Kafka, topic: Topic, keep: Callable[[Any], V | None], most: int
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._keep = keep
        self._most = most
        self._values: dict[str, V] = {}
        self._unread: set[int] = set()
        """Partitions that were not read to their end yet."""
        self._fault = ""
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> V | None:
        """The newest value of the key, None if there is none."""
        return self._values.get(key)

    @property
    def complete(self) -> bool:
        """Whether every partition has been read to its end."""
        return self._thread is not None and not self._unread

    def problems(self) -> list[str]:
        """Why the table is not to be relied on; empty if nothing is wrong."""
        if self._fault:
            return [f"a fault in the table of {self._topic.name}: {self._fault}"]
        return [] if self.complete else [f"reading {self._topic.name}"]

    def check(self) -> None:
        """Raises Stop if it is not followed any more."""
        if self._fault:
            raise Stop(self.problems()[0])

    def open(self) -> None:
        """Connect and begin to read; may be called again after a failure.

        Raises:
            Retry: no broker answers, or the topic is missing.
            Stop: the cluster refuses us, or the options are wrong.
        """
        name = options.physical(self._settings, self._topic)
        count = admin.partition_counts(self._settings).get(name, 0)
        if not count:
            raise Retry(f"topic {name} is missing: run `recrawl topics`")
        with options.checked():
            consumer = confluent_kafka.Consumer(
                options.client(
                    self._settings,
                    {
                        **options.CONSUMER,
                        # librdkafka wants a name; nothing joins or commits under it.
                        "group.id": options.group(self._settings, "tables"),
                        "enable.partition.eof": True,
                        "statistics.interval.ms": 0,
                    },
                )
            )
        self._unread = set(range(count))
        try:
            consumer.assign([TopicPartition(name, n, OFFSET_BEGINNING) for n in self._unread])
        except KafkaException as error:
            consumer.close()
            raise admin.mapped(self._settings, error.args[0]) from error
        self._thread = threading.Thread(
            target=self._run, args=(consumer,), name=f"table {self._topic.name}", daemon=True
        )
        self._thread.start()

    def await_complete(self, timeout: float) -> None:
        """Wait until all that the topic holds is read; `timeout` in seconds.

        Raises:
            Retry: not within that time.
            Stop: it cannot be read.
        """
        deadline = time.monotonic() + timeout
        while not self.complete:
            self.check()
            if time.monotonic() > deadline:
                raise Retry(f"{self._topic.name} was not read within {timeout:.0f} s")
            time.sleep(0.01)

    def close(self) -> None:
        """Stop following; what is in the table stays. Never raises."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(CLOSE_WITHIN)

    # The thread.

    def _run(self, consumer: confluent_kafka.Consumer) -> None:
        try:
            while not self._closing.is_set():
                for message in consumer.consume(BATCH, 0.1):
                    self._take(message)
            consumer.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the owner must hear of it
            _log.exception("a fault in the table of %s", self._topic.name)
            self._fault = f"{type(error).__name__}: {error}"

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._learn(message.key(), message.value())
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own name
            self._unread.discard(message.partition() or 0)
        else:
            _log.warning("table of %s: %s", self._topic.name, error.str())

    def _learn(self, octets: bytes | None, value: bytes | None) -> None:
        topic = self._topic.name
        metrics.records_in.labels(topic).inc()
        try:
            key = _text(octets)
            kept = None if value is None else self._keep(codec.decode(self._topic, value))
        except DeadLetter as error:
            _log.warning("left out of the table of %s: %s", topic, error)
            metrics.table_left_out.labels(topic, error.reason).inc()
            return
        if kept is None:
            self._values.pop(key, None)
        elif key in self._values or len(self._values) < self._most:
            self._values[key] = kept
        else:
            metrics.table_left_out.labels(topic, "full").inc()
        metrics.table_entries.labels(topic).set(len(self._values))


def _text(key: bytes | None) -> str:
    try:
        return (key or b"").decode()
    except UnicodeDecodeError as error:
        raise DeadLetter("encoding", f"the key is not UTF-8: {error.reason}") from error
