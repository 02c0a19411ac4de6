"""Takes records in a thread of its own that never stops polling, and commits what is finished.

What may be committed and when to pause is decided in hand.py; committer.py commits it. Never
handles a record: that is the event loop's work, however long it takes, and a slow record never
costs us our place in the group.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from services.common import chunks, metrics
from services.common.errors import Stop
from services.common.kafka import options, statistics
from services.common.kafka.committer import Committer
from services.common.kafka.hand import Hand, Place
from services.common.kafka.incoming import Incoming
from services.common.kafka.takeover import TakeOver
from services.common.settings import Kafka
from services.common.topics import Topic

_log = logging.getLogger(__name__)

POLL = 0.1
POLL_WAITED_FOR = 0.005
"""Seconds of one poll, while somebody waits for a commit."""
CLOSE_WITHIN = 5.0
"""Seconds to commit and leave the group; without a broker it cannot be done at all."""
BATCH = 500
TROUBLED_FOR = 30.0
"""Seconds that an error of a topic makes us unready."""


RELEASE_WITHIN = 5.0
"""Seconds that a partition is kept for `release`; the others of the group wait as long."""

Release = Callable[[Callable[[Incoming], bool]], Awaitable[None]]
"""Ends the work on the records for which the argument is true."""


class Consumer:
    """The records of some topics for one service. It belongs to the running event loop.

    `take` and `done` are called from the event loop; everything else happens in the thread.
    """

    def __init__(
        self,
        settings: Kafka,
        service: str,
        topics: Sequence[Topic],
        *,
        in_hand: int = 1000,
        release: Release | None = None,
    ) -> None:
        """`release` ends what is under way of partitions before another consumer gets them."""
        self._settings = settings
        self._topics = {options.physical(settings, topic): topic for topic in topics}
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Incoming] = deque()
        self._arrived = asyncio.Event()
        self._hand = Hand(in_hand)
        self._release = release
        self._since: dict[Place, float] = {}
        """When each partition became ours, by the monotonic clock."""
        self._lock = threading.Lock()
        """Held around every use of `_hand`."""
        self._closing = threading.Event()
        self._committer = Committer(self._hand, self._lock)
        self._take_over = TakeOver(self._topics, self._hand, self._lock, self._committer)
        self._assigned = False
        self._connected = True
        self._fault = ""
        self._trouble = ("", 0.0)
        """The last error and when it came."""
        self.polled_at = time.monotonic()
        """When the thread last made progress."""
        with options.checked():
            self._consumer = confluent_kafka.Consumer(
                options.client(
                    settings,
                    {
                        "group.id": options.group(settings, service),
                        **options.CONSUMER,
                        "stats_cb": self._on_statistics,
                        "error_cb": self._on_error,
                        "on_commit": self._committer.on_commit,
                    },
                )
            )
        self._thread = threading.Thread(target=self._run, name="consumer", daemon=True)
        self._thread.start()

    async def take(self) -> Incoming:
        """The next record; waits for one. A null value is a record too.

        Raises:
            Stop: the thread came to an end by a fault.
        """
        while not self._ready:
            if self._fault:
                raise Stop(f"a fault in the consumer: {self._fault}")
            self._arrived.clear()
            await self._arrived.wait()
        return self._ready.popleft()

    def done(self, message: Incoming) -> None:
        """All effects of the record are done: its offset may be committed."""
        with self._lock:
            self._hand.done(self._place(message), message.offset)
        metrics.records_in.labels(message.topic.name).inc()

    @property
    def careful(self) -> bool:
        """Whether records are to be handled one at a time, each after `begin`."""
        with self._lock:
            return self._hand.careful

    async def begin(self, message: Incoming) -> int | None:
        """Have it on record that this one is handled, alone: how often that killed a process.

        None: its partition went elsewhere meanwhile, and the record with it.

        Raises:
            Stop: the thread came to an end by a fault.
        """
        place = self._place(message)
        with self._lock:
            deaths = self._hand.begin(place, message.offset)
        await self.settled()
        with self._lock:
            ours = self._hand.tries(place, message.offset)
            if not ours:
                self._hand.drop(place, message.offset)
        return deaths if ours else None

    async def settled(self) -> None:
        """Wait until the broker has all that can be committed.

        Raises:
            Stop: the thread came to an end by a fault.
        """
        await self._committer.settled()
        if self._fault:
            raise Stop(f"a fault in the consumer: {self._fault}")

    def drop(self, message: Incoming) -> None:
        """The record was given up: whoever has its partition next begins it anew."""
        with self._lock:
            self._hand.drop(self._place(message), message.offset)

    def problems(self) -> list[str]:
        """Why nothing arrives at the moment; empty if nothing is wrong."""
        found = []
        if not self._assigned:
            found.append("no partitions are assigned yet")
        if not self._connected:
            found.append("no broker is connected to the consumer")
        trouble, at = self._trouble
        if trouble and time.monotonic() - at < TROUBLED_FOR:
            found.append(f"the consumer's last error: {trouble}")
        return found

    async def close(self) -> None:
        """Commit what is finished, leave the group, stop. Never raises."""
        self._closing.set()
        await asyncio.to_thread(self._thread.join, CLOSE_WITHIN)
        if self._thread.is_alive():
            _log.warning("the consumer did not leave its group in time; the broker notices later")

    # The thread.

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop must hear of it
            _log.exception("a fault in the consumer")
            self._fault = f"{type(error).__name__}: {error}"
            self._loop.call_soon_threadsafe(self._arrived.set)
            self._committer.wake()

    def _work(self) -> None:
        self._consumer.subscribe(
            list(self._topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        while not self._closing.is_set():
            first = self._consumer.poll(POLL_WAITED_FOR if self._committer.waited_for else POLL)
            if first is not None:
                self._take_in([first, *self._consumer.consume(BATCH, 0)])
            self.polled_at = now = time.monotonic()
            self._expire(time.time())
            self._press()
            self._committer.commit(self._consumer, now)
        self._consumer.close()

    def _take_in(self, messages: Iterable[Message]) -> None:
        arrived = []
        with self._lock:
            for message in messages:
                if (error := message.error()) is not None:
                    self._trouble = (error.str(), time.monotonic())
                    _log.warning("consumer: %s", error.str())
                elif (incoming := self._received(message)) is not None:
                    arrived.append(incoming)
        if arrived:
            self._loop.call_soon_threadsafe(self._arrive, arrived)

    def _arrive(self, arrived: list[Incoming]) -> None:
        self._ready.extend(arrived)
        self._arrived.set()

    def _received(self, message: Message) -> Incoming | None:
        # These are set on every message that is not an error.
        name, number = cast("str", message.topic()), cast("int", message.partition())
        offset = cast("int", message.offset())
        topic, timestamp = self._topics[name], message.timestamp()[1] / 1000
        part = _part_of(message) if topic.parts else None
        taken = self._hand.take((name, number), offset, message.value(), part, timestamp)
        if taken is None:
            return None
        return Incoming(
            topic=topic,
            partition=number,
            offset=taken[0],
            key=message.key(),
            value=taken[1],
            timestamp=timestamp,
            since=self._since.get((name, number), 0.0),
            inherited=self._take_over.inherits((name, number), taken[0]),
        )

    def _expire(self, wall: float) -> None:
        with self._lock:
            dropped = self._hand.expire(self._end_of, wall)
        for (name, _), count in dropped.items():
            metrics.parts_dropped.labels(self._topics[name].name).inc(count)

    def _end_of(self, place: Place) -> int:
        """The offset after the partition's last record, as last heard from the broker."""
        return self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)[1]

    def _press(self) -> None:
        """Pause what we cannot hold more of, resume what we can."""
        with self._lock:
            paused, resumed = self._hand.press()
            metrics.careful.set(self._hand.careful)
        if paused:
            self._consumer.pause([TopicPartition(*place) for place in paused])
        if resumed:
            self._consumer.resume([TopicPartition(*place) for place in resumed])

    # Callbacks of librdkafka, in the thread, out of `poll`.

    def _on_assign(
        self, consumer: confluent_kafka.Consumer, assigned: list[TopicPartition]
    ) -> None:
        with self._lock:
            self._hand.assign(_places(assigned))
        self._since.update(dict.fromkeys(_places(assigned), time.monotonic()))
        consumer.incremental_assign(assigned)
        # A partition that was paused when it was lost comes back paused (seen with 2.16).
        consumer.resume(assigned)
        self._take_over.take(consumer, assigned)
        self._assigned = True
        _log.info("assigned partitions=%s", _listed(assigned))

    def _on_revoke(self, consumer: confluent_kafka.Consumer, revoked: list[TopicPartition]) -> None:
        with self._lock:
            self._hand.let_go(_places(revoked))
        try:
            self._committer.commit_now(consumer, _places(revoked))
        except KafkaException as error:
            _log.warning("commit at revocation failed, work is repeated error=%s", error)
        self._forget(revoked)
        consumer.incremental_unassign(revoked)
        _log.info("revoked partitions=%s", _listed(revoked))

    def _on_lost(self, consumer: confluent_kafka.Consumer, lost: list[TopicPartition]) -> None:
        """Someone else may have these already: nothing is committed."""
        self._assigned = False
        self._committer.give_up()
        self._forget(lost)
        consumer.incremental_unassign(lost)
        _log.warning("lost, work is repeated elsewhere partitions=%s", _listed(lost))

    def _forget(self, partitions: list[TopicPartition]) -> None:
        gone = set(_places(partitions))
        with self._lock:
            self._hand.forget(gone)
        try:
            ended = asyncio.run_coroutine_threadsafe(self._let_go(gone), self._loop)
            ended.result(RELEASE_WITHIN)
        except TimeoutError:
            _log.warning("work on partitions that are not ours any more does not end")

    async def _let_go(self, gone: set[Place]) -> None:
        self._drop_ready(gone)
        if self._release is not None:
            await self._release(lambda message: self._place(message) in gone)

    def _drop_ready(self, gone: set[Place]) -> None:
        """Drop records of partitions that are not ours any more and were not begun."""
        dropped = [message for message in self._ready if self._place(message) in gone]
        if not dropped:
            return
        with self._lock:
            for message in dropped:
                self._hand.drop(self._place(message), message.offset)
        kept = [message for message in self._ready if self._place(message) not in gone]
        self._ready.clear()
        self._ready.extend(kept)

    def _place(self, message: Incoming) -> Place:
        return options.physical(self._settings, message.topic), message.partition

    def _on_statistics(self, text: str) -> None:
        state = statistics.read(text)
        self._connected = state.connected
        for name, lag in state.lag.items():
            if name in self._topics:
                metrics.lag.labels(self._topics[name].name).set(lag)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - librdkafka's own name
            self._connected = False
        _log.debug("consumer: %s", error.str())  # librdkafka logs it itself


def _part_of(message: Message) -> chunks.Part | None:
    headers = message.headers() or []
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        if name == chunks.HEADER and isinstance(value, bytes):
            return chunks.read_header(value)
    return None


def _places(partitions: list[TopicPartition]) -> list[Place]:
    return [(partition.topic, partition.partition) for partition in partitions]


def _listed(places: list[TopicPartition]) -> str:
    return ",".join(f"{place.topic}/{place.partition}" for place in places) or "none"
