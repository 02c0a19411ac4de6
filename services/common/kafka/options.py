"""What every Kafka client of ours is configured with, and the names of things in Kafka."""

import logging
from typing import Any

from services.common.settings import Kafka
from services.common.topics import BY_NAME, Topic

Options = dict[str, Any]
"""As librdkafka's clients take them: numbers, texts, call-backs."""

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


def physical(settings: Kafka, topic: Topic) -> str:
    """The topic's name in Kafka."""
    return settings.prefix + topic.name


def logical(settings: Kafka, name: str) -> Topic:
    """The topic with this name in Kafka."""
    return BY_NAME[name.removeprefix(settings.prefix)]


def group(settings: Kafka, service: str) -> str:
    """The consumer group of a service."""
    return settings.prefix + service
