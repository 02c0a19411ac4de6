"""Reads what topics hold from given offsets to where they end now. Joins and commits nothing."""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import uuid4

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

from services.common.errors import Retry
from services.common.kafka import admin, options
from services.common.settings import Kafka

TIMEOUT = 15.0
_BATCH = 5_000
_PATIENCE = 0.1
_PREFETCH: options.Options = {"queued.min.messages": 100_000, "queued.max.messages.kbytes": 65_536}


class Stored(NamedTuple):
    """One record as it lies in a partition."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def read(settings: Kafka, begins: Mapping[tuple[str, int], int]) -> Iterator[Stored]:
    """Every record from `begins` ((physical topic, partition) -> offset) to the ends as of now.

    An offset before a partition's first record means the first. Those of one partition come in
    order.

    Raises:
        Retry: no broker answers, or it stops answering.
        Stop: the cluster refuses us, or the options are wrong.
    """
    with options.checked():
        consumer = confluent_kafka.Consumer(
            options.client(
                settings,
                {
                    "group.id": f"recrawl-read-{uuid4().hex}",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "enable.partition.eof": False,
                    **_PREFETCH,
                },
            )
        )
    try:
        yield from _read(consumer, begins)
    except KafkaException as error:
        raise admin.mapped(settings, error.args[0]) from error
    finally:
        consumer.close()


def _read(
    consumer: confluent_kafka.Consumer, begins: Mapping[tuple[str, int], int]
) -> Iterator[Stored]:
    ends: dict[tuple[str, int], int] = {}
    for (topic, number), begin in begins.items():
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=TIMEOUT)
        if max(begin, first) < end:
            ends[topic, number] = end
    consumer.assign([TopicPartition(*place, begins[place]) for place in ends])
    heard = time.monotonic()
    while ends:
        # Waits for a whole batch, or for all of its time.
        messages = consumer.consume(_BATCH, _PATIENCE)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > TIMEOUT:
            raise Retry(f"no answer from Kafka within {TIMEOUT:.0f} s")
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            place, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
            if offset < ends.get(place, 0):
                yield Stored(*place, offset, message.key(), message.value())
            # The newest record of a partition is never compacted away.
            if place in ends and offset + 1 >= ends[place]:
                del ends[place]
