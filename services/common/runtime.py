"""The shell that frontier, fetcher and parser share: take, handle, commit, and stop well.

Decides how often a record is tried and what happens to one that cannot be used. Never looks
into a record.
"""

import asyncio
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import ClassVar, Protocol

from services.common import dead_letters, metrics
from services.common.errors import DeadLetter, Retry, Stop
from services.common.health import HealthServer
from services.common.kafka import Consumer, Incoming, Producer, check_topics
from services.common.settings import Settings
from services.common.topics import DEAD_LETTERS, Topic

_log = logging.getLogger(__name__)


class Service(Protocol):
    """One of our services, as the runtime sees it."""

    name: ClassVar[str]
    """As in `recrawl run NAME`; the consumer group is the prefix and this."""
    inputs: ClassVar[tuple[Topic, ...]]
    concurrency: int
    """Records handled at once."""

    async def open(self) -> None:
        """Connect. Raises Retry (tried again after a back-off) or Stop."""

    async def close(self) -> None:
        """Let go of everything. Called once, also after a failed `open`."""

    async def handle(self, message: Incoming) -> None:
        """Do all that follows from one record; every effect is done when it returns.

        The value is never None. Raises Retry (the same record again after a back-off),
        DeadLetter (it goes to `dead-letters`), Stop (the process ends); any other exception
        makes a dead letter with the reason `internal`.
        """

    def problems(self) -> list[str]:
        """Why it is not ready, one line each; empty when it is."""


Factory = Callable[[Settings, Producer], Service]


def run(factory: Factory, settings: Settings) -> int:
    """Run a service until SIGTERM or SIGINT; the process's exit status.

    Raises:
        Stop: it cannot go on; what was finished is committed.
    """
    return asyncio.run(_run(factory, settings))


async def _run(factory: Factory, settings: Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Producer(settings.kafka) as producer:
        service = factory(settings, producer)
        runtime = Runtime(service, producer, settings)
        with HealthServer(settings.health, live=runtime.stuck, ready=runtime.problems):
            try:
                await runtime.work(stop)
            finally:
                await service.close()
    _log.info("stopped")
    return 0


class Runtime:
    """One service at work on its records."""

    def __init__(self, service: Service, producer: Producer, settings: Settings) -> None:
        self._service = service
        self._producer = producer
        self._settings = settings
        self._consumer: Consumer | None = None
        self._starting = "starting"
        self._stopping = False
        self._failed: Stop | None = None
        self._beat_at = time.monotonic()
        self._tasks: dict[asyncio.Task[None], Incoming] = {}
        self._slots = asyncio.Semaphore(service.concurrency)

    def stuck(self) -> list[str]:
        """What made no progress for too long; from any thread."""
        oldest = time.monotonic() - self._settings.runtime.stuck_after
        found = []
        if self._beat_at < oldest:
            found.append("the event loop is stuck")
        if self._consumer is not None and self._consumer.polled_at < oldest:
            found.append("the consumer is stuck")
        return found

    def problems(self) -> list[str]:
        """Why the service is not ready; from any thread."""
        if self._stopping:
            return ["stopping"]
        if self._consumer is None:
            return [self._starting]
        return [
            *self._consumer.problems(),
            *self._producer.problems(),
            *self._service.problems(),
        ]

    async def work(self, stop: asyncio.Event) -> None:
        """Open, work until `stop` is set, drain, commit.

        Raises:
            Stop: the service cannot go on.
        """
        beat = asyncio.create_task(self._beat())
        try:
            if await _unless(stop, self._open()):
                return
            self._consumer = Consumer(
                self._settings.kafka,
                self._service.name,
                self._service.inputs,
                in_hand=2 * self._service.concurrency,
                release=self._release,
            )
            try:
                await _unless(stop, self._take(stop))
                await self._drain()
            finally:
                await self._consumer.close()
        finally:
            beat.cancel()
        if self._failed is not None:
            raise self._failed

    async def _beat(self) -> None:
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(1)

    async def _open(self) -> None:
        """Connect to everything, for as long as it takes."""
        attempt = 0
        while True:
            try:
                await self._check_topics()
                await self._service.open()
            except Retry as problem:
                self._starting = str(problem)
                _log.warning("not started yet, trying again problem=%s", problem)
                await asyncio.sleep(min(5.0, self._wait(attempt)))
                attempt += 1
            else:
                return

    async def _check_topics(self) -> None:
        topics = (*self._service.inputs, DEAD_LETTERS)
        problems = await asyncio.to_thread(check_topics, self._settings, topics)
        if problems:
            raise Retry("; ".join(problems))

    async def _take(self, stop: asyncio.Event) -> None:
        assert self._consumer is not None  # noqa: S101 - made before
        while True:
            await self._slots.acquire()
            message = await self._consumer.take()
            if self._consumer.careful:
                await self._alone(message, self._consumer, stop)
            else:
                self._start(message, self._consumer, stop)

    def _start(
        self, message: Incoming, consumer: Consumer, stop: asyncio.Event, deaths: int = 0
    ) -> None:
        task = asyncio.create_task(self._finish(message, consumer, stop, deaths))
        self._tasks[task] = message
        task.add_done_callback(self._tasks.pop)

    async def _alone(self, message: Incoming, consumer: Consumer, stop: asyncio.Event) -> None:
        """One record with nothing beside it, on record before it begins: it may kill us."""
        await self._idle()
        deaths = await consumer.begin(message)
        if deaths is None:
            self._slots.release()
            return
        self._start(message, consumer, stop, deaths)
        await self._idle()
        if not consumer.careful:
            # What comes next goes side by side again, and this one is not to be blamed for it.
            await consumer.settled()
            _log.info("past the records that may have killed a process")

    async def _idle(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _release(self, gone: Callable[[Incoming], bool]) -> None:
        """Cancel the work on records that are another process's from now on; effects repeat."""
        ours = [task for task, message in self._tasks.items() if gone(message)]
        for task in ours:
            task.cancel()
        if ours:
            _log.info("given up, done again elsewhere records=%d", len(ours))
            await asyncio.wait(ours)

    async def _drain(self) -> None:
        self._stopping = True
        if not self._tasks:
            return
        _log.info("stopping, finishing what is in hand records=%d", len(self._tasks))
        _, late = await asyncio.wait(self._tasks, timeout=self._settings.runtime.drain)
        for task in late:
            task.cancel()
        if late:
            _log.warning("given up, done again after the next start records=%d", len(late))
            await asyncio.wait(late, timeout=5)

    async def _finish(
        self, message: Incoming, consumer: Consumer, stop: asyncio.Event, deaths: int
    ) -> None:
        """One record from taking to done, however often it has to be tried."""
        topic = message.topic.name
        began = time.monotonic()
        try:
            with metrics.in_flight.labels(topic).track_inprogress():
                await self._until_done(message, deaths)
        except asyncio.CancelledError:
            consumer.drop(message)
            raise
        except Stop as error:
            self._failed = error
            stop.set()
        except Exception as error:  # noqa: BLE001 - ends the service, in order
            # Without its dead letter the record may not be committed, so nothing may go on.
            _log.exception("cannot go on, stuck at %s", _place(message))
            self._failed = Stop(f"a fault of ours at {_place(message)}: {error}")
            stop.set()
        else:
            metrics.handle_seconds.labels(topic).observe(time.monotonic() - began)
            consumer.done(message)
        finally:
            self._slots.release()

    async def _until_done(self, message: Incoming, deaths: int) -> None:
        if message.value is None:
            metrics.tombstones.labels(message.topic.name).inc()
            return
        if deaths >= self._settings.runtime.fatal_most:
            detail = f"the process died {deaths} times while it handled this record alone"
            await self._bury(message, DeadLetter("kills-the-service", detail))
            return
        try:
            await self._retrying(message, lambda: self._service.handle(message))
        except Stop:
            raise
        except DeadLetter as error:
            await self._bury(message, error)
        except Exception as error:  # noqa: BLE001 - one bad record must not end the service
            _log.exception("a fault of ours at %s", _place(message))
            await self._bury(message, DeadLetter("internal", f"{type(error).__name__}: {error}"))

    async def _bury(self, message: Incoming, error: DeadLetter) -> None:
        letter = dead_letters.letter(
            message,
            error,
            service=self._service.name,
            now=time.time(),
            limit=self._settings.kafka.max_record,
        )
        await self._retrying(
            message, lambda: self._producer.send(DEAD_LETTERS, letter, key=letter.key)
        )
        metrics.dead_letters.labels(message.topic.name, error.reason).inc()
        _log.warning("dead letter at %s reason=%s", _place(message), error)

    async def _retrying(self, message: Incoming, act: Callable[[], Awaitable[None]]) -> None:
        attempt = 0
        while True:
            try:
                return await act()
            except Retry as problem:
                metrics.retries.labels(message.topic.name).inc()
                level = logging.WARNING if attempt in {0, 3} else logging.DEBUG
                _log.log(level, "trying again at %s problem=%s", _place(message), problem)
                await asyncio.sleep(self._wait(attempt))
                attempt += 1

    def _wait(self, attempt: int) -> float:
        times = self._settings.runtime
        longest = min(times.retry_most, times.retry_first * 2.0 ** min(attempt, 16))
        return longest * random.uniform(0.5, 1)  # noqa: S311 - jitter, not a secret


async def _unless(stop: asyncio.Event, work: Awaitable[None]) -> bool:
    """Await `work` until `stop` is set; whether it was. Errors of `work` are raised."""
    working = asyncio.ensure_future(work)
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not working.done():
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        return True
    working.result()
    return stop.is_set()


def _place(message: Incoming) -> str:
    return f"{message.topic.name}/{message.partition}/{message.offset}"
