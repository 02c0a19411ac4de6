"""Sends records and waits until the broker has them. Decides nothing about their meaning."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self
from uuid import uuid4

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from services.common import chunks, codec, metrics
from services.common.errors import DeadLetter, RecrawlError, Retry, Stop
from services.common.kafka import options, statistics
from services.common.records import Record
from services.common.settings import Kafka
from services.common.topics import Topic

_log = logging.getLogger(__name__)

_METADATA = 10.0
"""Seconds to wait for an answer about a topic."""

Headers = list[tuple[str, str | bytes | None]]
_Settle = tuple[asyncio.Future[None], RecrawlError | None]


class Producer:
    """A connection that delivers records in the order of `send` per partition.

    It belongs to the event loop that runs when it is made. Keys choose partitions as the Java
    client and Faust choose them (murmur2), so that keyed topics meet in one table.
    """

    def __init__(self, settings: Kafka) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._settled: list[_Settle] = []
        self._fatal = ""
        self._connected = False
        self._counts: dict[str, int] = {}
        self._counting = asyncio.Lock()
        self._closing = threading.Event()
        with options.checked():
            self._producer = confluent_kafka.Producer(
                options.client(
                    settings,
                    {
                        **options.PRODUCER,
                        "stats_cb": self._on_statistics,
                        "error_cb": self._on_error,
                    },
                )
            )
        self._thread = threading.Thread(target=self._poll, name="producer", daemon=True)
        self._thread.start()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(
        self,
        topic: Topic,
        record: Record,
        *,
        key: str | bytes | None,
        partition: int | None = None,
    ) -> None:
        """Deliver one record; returns when the broker has it.

        A value over `settings.max_record` travels in parts if the topic allows it.

        Raises:
            Retry: the broker did not take it in time; it may have, so a repeat may double it.
            DeadLetter: `too-large`, the topic does not take a record of this size.
            Stop: the producer is broken for good.
        """
        await self.send_value(topic, codec.encode(topic, record), key=key, partition=partition)

    async def send_value(
        self,
        topic: Topic,
        value: bytes,
        *,
        key: str | bytes | None,
        partition: int | None = None,
    ) -> None:
        """As `send`, for a value that is encoded already."""
        limit = topic.max_record or self._settings.max_record
        if len(value) <= limit:
            delivered = [await self._produce(topic, value, key, partition, [])]
        elif not topic.parts:
            raise DeadLetter("too-large", f"{len(value)} octets for {topic.name}")
        else:
            # Parts without a key would be spread over partitions.
            key = uuid4().bytes if key is None and partition is None else key
            delivered = [
                await self._produce(topic, piece, key, partition, [(chunks.HEADER, part.header())])
                for part, piece in chunks.split(value, limit, uuid4().hex)
            ]
        await _all(delivered)
        metrics.records_out.labels(topic.name).inc()

    async def partitions(self, topic: Topic) -> int:
        """How many partitions a topic has; asked of the cluster once.

        Raises:
            Retry: no broker answers, or the topic is not there.
        """
        name = options.physical(self._settings, topic)
        async with self._counting:
            if name not in self._counts:
                try:
                    found = await asyncio.to_thread(self._producer.list_topics, name, _METADATA)
                except KafkaException as error:
                    raise Retry(f"no metadata: {error.args[0].str()}") from error
                count = len(found.topics[name].partitions)
                if not count:
                    raise Retry(f"topic {name} has no partitions; run `recrawl topics`")
                self._counts[name] = count
        return self._counts[name]

    async def close(self, seconds: float = 5.0) -> None:
        """Deliver what is under way within the time, then stop. Never raises."""
        left = await asyncio.to_thread(self._flush, seconds)
        if left:
            _log.warning("closing with records not delivered records=%d", left)
            self._producer.purge()
        self._closing.set()
        await asyncio.to_thread(self._thread.join)
        self._producer.poll(0)
        _settle(self._settled)

    def problems(self) -> list[str]:
        """Why nothing can be sent at the moment; empty if nothing is known."""
        if self._fatal:
            return [f"the producer is broken: {self._fatal}"]
        return [] if self._connected else ["no broker is connected to the producer"]

    async def _produce(
        self,
        topic: Topic,
        value: bytes,
        key: str | bytes | None,
        partition: int | None,
        headers: Headers,
    ) -> asyncio.Future[None]:
        """Enqueue one record, waiting while the local queue is full."""
        future: asyncio.Future[None] = self._loop.create_future()
        future.add_done_callback(_seen)  # its sender may be gone by then
        while True:
            if self._fatal:
                raise Stop(f"the producer is broken: {self._fatal}")
            try:
                self._producer.produce(
                    options.physical(self._settings, topic),
                    value,
                    key,
                    partition=-1 if partition is None else partition,
                    on_delivery=self._on_delivery(future),
                    headers=headers,
                )
            except BufferError:
                await asyncio.sleep(0.02)
            except KafkaException as error:
                raise _mapped(error.args[0]) from error
            else:
                return future

    def _on_delivery(
        self, future: asyncio.Future[None]
    ) -> Callable[[KafkaError | None, object], None]:
        def settle(error: KafkaError | None, _message: object) -> None:
            self._settled.append((future, _mapped(error) if error else None))

        return settle

    def _flush(self, seconds: float) -> int:
        """Wait; `flush` itself would take the call-backs from the polling thread."""
        deadline = time.monotonic() + seconds
        while len(self._producer) and time.monotonic() < deadline:
            time.sleep(0.02)
        return len(self._producer)

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(0.1)
            if self._settled:
                settled, self._settled = self._settled, []
                self._loop.call_soon_threadsafe(_settle, settled)

    def _on_statistics(self, text: str) -> None:
        self._connected = statistics.read(text).connected

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - librdkafka's own name
            self._connected = False
        if error.fatal():
            self._fatal = error.str()
        _log.debug("producer: %s", error.str())  # librdkafka logs it itself


def _seen(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.exception()


async def _all(delivered: list[asyncio.Future[None]]) -> None:
    """Wait for every future, so that none is left behind, then raise the first error."""
    await asyncio.wait(delivered)
    for future in delivered:
        future.result()


def _settle(settled: list[_Settle]) -> None:
    for future, error in settled:
        if future.done():  # its sender was cancelled
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _mapped(error: KafkaError) -> RecrawlError:
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return DeadLetter("too-large", error.str())
    if error.fatal():
        return Stop(f"the producer is broken: {error.str()}")
    return Retry(f"not delivered: {error.str()}")
