"""The Faust edge: the application, its tables, the agent that writes them, the timer.

Faust lets a table be written only while an event of the same partition is processed, so time
itself arrives as an event: the timer sends `clock-ticked` to our own partitions. Decides
nothing; see core.py.
"""

import logging
import os
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

import faust
from faust.transport.producer import ProducerBuffer
from faust.types import TP, EventT, ProducerT, StreamT

from services.common import codec, dead_letters, topics
from services.common.errors import DeadLetter
from services.common.kafka import Incoming, options
from services.common.records import ClockTicked
from services.common.settings import Settings
from services.common.topics import Topic
from services.scheduler import rows
from services.scheduler.core import Partition
from services.scheduler.counted import Counted
from services.scheduler.events import INPUTS, Events, Output
from services.scheduler.intake import Intake
from services.scheduler.jobs import JobLedger
from services.scheduler.policies import choice

_log = logging.getLogger(__name__)

_NEVER = 1 << 62
_SKEW = 60.0
"""Seconds by which clocks may differ. Records older than our taking over a partition, by this
clock, may have been handled already."""
_RELEASED = 20
"""Records held that one event brings along at most, so that no event takes long."""
_OCTETS: Mapping[str, Any] = {"key_type": bytes, "value_type": bytes}
_RAW: Mapping[str, Any] = {**_OCTETS, "key_serializer": "raw", "value_serializer": "raw"}


class _App(faust.App):
    """Faust's application, without a detour."""

    async def maybe_start_producer(self) -> ProducerT:
        """The producer, at once if it runs.

        Faust asks before each record it sends, and its answer takes three turns of the event
        loop: records are sent one after another, so an event that writes four of them, each
        three turns, is slower sent than handled.
        """
        producer = self.producer
        return producer if producer.started else await super().maybe_start_producer()


def application(settings: Settings, partitions: int) -> faust.App:
    """The Faust application; `partitions` is what the broker says of the input topics."""
    kafka, scheduler = settings.kafka, settings.scheduler
    # One event of ours makes up to a few hundred table writes; Faust's limit stalls it at 100.
    ProducerBuffer.max_messages = 10_000
    return _App(
        options.group(kafka, "scheduler"),
        broker=[f"kafka://{address.strip()}" for address in kafka.bootstrap.split(",")],
        store="rocksdb://?driver=rocksdict",
        datadir=str(scheduler.data_dir.absolute()),
        autodiscover=False,
        web_enabled=False,
        topic_partitions=partitions,
        topic_replication_factor=kafka.replication,
        topic_disable_leader=True,
        # Faust stands still for 20 s whenever this many messages were acknowledged.
        broker_commit_every=_NEVER,
        broker_commit_interval=1.0,
        producer_linger=0.01,
        # How long the partitions of a killed worker stay unserved.
        broker_session_timeout=10.0,
        broker_heartbeat_interval=2.0,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,
    )


class Stream:
    """One scheduler worker: a `Partition` for each partition it owns, fed by Kafka."""

    def __init__(
        self, app: faust.App, settings: Settings, worker: str, fetch_partitions: int
    ) -> None:
        """`fetch_partitions`: how many `fetch-requested` has."""
        self.app = app
        self.urls = app.Table("urls", **_OCTETS)
        self.hosts = app.Table("hosts", **_OCTETS)
        self.timeline = app.Table("timeline", **_OCTETS)
        self._settings = settings
        self._chooser = choice.read(settings.scheduler)
        self._jobs = JobLedger()
        self._events = Events(self, worker, fetch_partitions, partitions=app.conf.topic_partitions)
        self._partitions: dict[int, Partition] = {}
        self._loaded: dict[int, float] = {}
        self._counted = Counted()
        self._intake = Intake(settings.scheduler.max_waiting)
        self._held: dict[int, deque[EventT[bytes]]] = defaultdict(deque)
        """New URLs that came while none were taken, by partition; they are not acknowledged."""
        self._inputs = {options.physical(settings.kafka, topic): topic for topic in INPUTS}
        self._admitted = options.physical(settings.kafka, topics.URL_ADMITTED)
        self._outputs: dict[str, Any] = {}
        source = app.topic(*self._inputs, **_RAW)
        app.agent(source, name="scheduler")(self._consume)
        app.timer(settings.scheduler.tick)(self._tick)
        # mypy: a method does not fit the signal's Callable[..., Any] with its keyword `signal`.
        app.on_partitions_revoked.connect(self._on_revoked)  # type: ignore[arg-type]

    def problems(self) -> list[str]:
        """Why the worker is not ready; empty when it is."""
        if not self.app.started:
            return ["starting"]
        if self.app.rebalancing:
            return ["rebalancing"]
        if self.app.in_recovery:
            return ["recovering tables"]
        return [] if self._assigned() else ["no partitions assigned"]

    def changelogs(self) -> list[str]:
        """Names of the topics that the tables are made anew from."""
        tables = (self.urls, self.hosts, self.timeline)
        return [table.changelog_topic.get_topic_name() for table in tables]

    async def _consume(self, stream: StreamT[bytes]) -> None:
        async for event in stream.events():
            try:
                self._take(event)
            except Exception:  # noqa: BLE001 - whatever it is
                # The event may be half written, and Faust would take it as done. Without an
                # acknowledgement it is done again, by whoever has the partition next.
                _log.critical("cannot write tables; ending the process", exc_info=True)
                os._exit(os.EX_SOFTWARE)

    def _take(self, event: EventT[bytes]) -> None:
        """Handle a record, or hold it while no new URLs are taken; and those held meanwhile.

        A table is only written while an event of its partition is handled, so what was held
        goes along with the partition's next event.
        """
        message = event.message
        number, held = message.partition, self._held[message.partition]
        new = self._inputs[message.topic] is topics.URL_ADMITTED
        if new and (held or self._full(number)):
            message.incref()  # Faust acknowledges it when the last reference is given back
            held.append(event)
            # What is in memory still comes; no more is fetched. Unlike `pause_partitions`, which
            # passes over what was fetched already.
            self.app.consumer.on_buffer_full(message.tp)
        else:
            self._handle(event)
        for _ in range(_RELEASED):
            if not held or self._full(number):
                break
            self._handle(held[0])
            held.popleft().ack()
        if not held:
            self.app.consumer.on_buffer_drop(TP(self._admitted, number))

    def _full(self, number: int) -> bool:
        self._partition(number)  # what was recovered counts
        return self._intake.stopped

    def _handle(self, event: EventT[bytes]) -> None:
        """One record, decided and applied without an await, so that nothing interleaves."""
        message = event.message
        topic, number = self._inputs[message.topic], message.partition
        partition = self._partition(number)
        replay = message.timestamp < self._loaded[number] + _SKEW
        try:
            changed, outputs = self._events.decide(
                topic, event.value, number, partition, replay=replay
            )
        except DeadLetter as error:
            outputs = [self._letter(topic, event, error)]
        except Exception as error:  # noqa: BLE001 - one record must not stop the others
            _log.exception("a fault of ours: %s/%d/%d", topic.name, number, message.offset)
            outputs = [self._letter(topic, event, DeadLetter("internal", repr(error)))]
            self._forget(number)
        else:
            changed.flush()
        for output in outputs:
            self._send(output)
        self._counted.event(topic, outputs)
        self._counted.partition(number, partition)
        self._counted.intake(self._intake, sum(map(len, self._held.values())))

    def _partition(self, number: int) -> Partition:
        """The partition's state in memory, made from the tables when it is ours anew."""
        if number not in self._partitions:
            self._load(self._assigned() - self._partitions.keys())
        return self._partitions[number]

    async def _on_revoked(self, _: faust.App, revoked: set[TP], **__: object) -> None:
        for number in {tp.partition for tp in revoked if tp.topic in self._inputs}:
            self._forget(number)
            # They come again, to whoever has the partition next.
            self._held.pop(number, None)

    def _forget(self, number: int) -> None:
        partition = self._partitions.pop(number, None)
        if partition is not None:
            partition.unload()
            self._counted.forget(number)

    def _load(self, numbers: frozenset[int]) -> None:
        for number in numbers:
            self._partitions[number] = Partition(
                number, self._settings.scheduler, self._chooser, self._jobs, self._intake
            )
        found: dict[int, list[rows.HostRow]] = {number: [] for number in numbers}
        for packed in self.hosts.values():
            host = rows.decode_host(packed)
            if host.partition in found:
                found[host.partition].append(host)
        for number, hosts in found.items():
            self._loaded[number] = time.time()
            self._partitions[number].load(hosts, self._loaded[number])

    def _assigned(self) -> frozenset[int]:
        """Partitions of our input topics that this worker owns now."""
        return frozenset(
            tp.partition for tp in self.app.consumer.assignment() if tp.topic in self._inputs
        )

    async def _tick(self) -> None:
        if self.problems():
            return
        now = time.time()
        for number in self._assigned():
            partition = self._partitions.get(number)
            goes_on = bool(self._held[number]) and not self._intake.stopped
            if partition is None or goes_on or partition.needs_tick(now):
                self._send(Output(topics.CLOCK_TICKED, ClockTicked(at=now), b"", number))

    def _letter(self, topic: Topic, event: EventT[bytes], error: DeadLetter) -> Output:
        message = event.message
        incoming = Incoming(
            topic=topic,
            partition=message.partition,
            offset=message.offset,
            key=message.key,
            value=event.value,
            timestamp=message.timestamp,
        )
        letter = dead_letters.letter(
            incoming,
            error,
            service="scheduler",
            now=time.time(),
            limit=self._settings.kafka.max_record,
        )
        return Output(topics.DEAD_LETTERS, letter, message.key or b"", None)

    def _send(self, output: Output) -> None:
        """Into Faust's producer, which is flushed before the event's offset is committed."""
        name = output.topic.name
        if name not in self._outputs:
            physical = options.physical(self._settings.kafka, output.topic)
            self._outputs[name] = self.app.topic(physical, **_RAW)
        self._outputs[name].send_soon(
            key=output.key or None,
            value=codec.encode(output.topic, output.record),
            partition=output.partition,
        )
