"""What every Kafka client of ours is configured with, and the names of things in Kafka."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaException

from services.common.errors import Stop
from services.common.settings import Kafka
from services.common.topics import BY_NAME, Topic

Options = dict[str, Any]
"""As librdkafka's clients take them: numbers, texts, call-backs."""

PRODUCER: Options = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "linger.ms": 5,
    # As the Java client and Faust choose partitions, so that keyed topics meet in one table.
    "partitioner": "murmur2_random",
    # Topics refuse what is too large for them much earlier.
    "message.max.bytes": 32 * 1024 * 1024,
    "message.timeout.ms": 60_000,
    "queue.buffering.max.messages": 20_000,
    "queue.buffering.max.kbytes": 64 * 1024,
    "statistics.interval.ms": 1_000,
}
CONSUMER: Options = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "partition.assignment.strategy": "cooperative-sticky",
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 2_000,
    "allow.auto.create.topics": False,
    # Small prefetch: what is fetched and then paused is fetched again.
    "queued.min.messages": 1_000,
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.queue.backoff.ms": 20,
    "statistics.interval.ms": 1_000,
}

SPARING = 10.0


class Sparing(logging.Filter):
    """Lets one line of a kind through in `SPARING` seconds.

    Without a broker librdkafka logs dozens of failed connections a second. A kind is the line's
    beginning, as `FAIL [recrawl#consumer-1]`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        kind = record.getMessage().partition("]")[0][:60]
        if record.created - self._last.get(kind, -SPARING) < SPARING:
            return False
        self._last[kind] = record.created
        return True


_log = logging.getLogger("recrawl.kafka")
_log.addFilter(Sparing())


def client(settings: Kafka, ours: Options | None = None) -> Options:
    """Options of one client: ours , and the user's on top."""
    return {
        "bootstrap.servers": settings.bootstrap,
        "client.id": "recrawl",
        "logger": _log,
        "log.connection.close": False,
        "topic.metadata.refresh.interval.ms": 30_000,
        "reconnect.backoff.max.ms": 2_000,
        **(ours or {}),
        **settings.options,
    }


@contextmanager
def checked() -> Iterator[None]:
    """Make a client in this block: options that are wrong are the user's.

    Raises:
        Stop: naming the option.
    """
    try:
        yield
    except KafkaException as error:
        raise Stop(f"RECRAWL_KAFKA__OPTIONS: {error.args[0].str()}") from error


def physical(settings: Kafka, topic: Topic) -> str:
    """The topic's name in Kafka."""
    return settings.prefix + topic.name


def logical(settings: Kafka, name: str) -> Topic:
    """The topic with this name in Kafka."""
    return BY_NAME[name.removeprefix(settings.prefix)]


def group(settings: Kafka, service: str) -> str:
    """The consumer group of a service."""
    return settings.prefix + service
