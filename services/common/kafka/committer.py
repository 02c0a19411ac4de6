"""Commits what is finished: every second, at once for who waits, and in place for a hand-over.

What may be committed is decided in hand.py. All but `settled` is called in the consumer's thread.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Sequence

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from services.common.kafka.hand import Commit, Hand, Place

_log = logging.getLogger(__name__)

INTERVAL = 1.0


class Committer:
    """The commits of one consumer. It belongs to the running event loop."""

    def __init__(self, hand: Hand, lock: threading.Lock) -> None:
        """`lock` is held around every use of `hand`, and of who waits."""
        self._hand = hand
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._sent: dict[Place, Commit] = {}
        """The commit under way, empty if there is none."""
        self._next_at = 0.0
        self._refused_until = 0.0
        self._waiting: list[asyncio.Future[None]] = []
        """For everything to be committed."""

    @property
    def waited_for(self) -> bool:
        """Whether somebody waits for a commit."""
        return bool(self._waiting)

    async def settled(self) -> None:
        """Wait until the broker has all that can be committed, or the thread ends."""
        waiting = self._loop.create_future()
        with self._lock:
            self._waiting.append(waiting)
        await waiting

    def commit(self, consumer: confluent_kafka.Consumer, now: float) -> None:
        """Commit what there is, every second, or at once if somebody waits for it."""
        with self._lock:
            waited = bool(self._waiting)
        if self._sent or (now < self._next_at and not waited):
            return
        with self._lock:
            # What was asked for after this is not in it.
            waiting, commits = list(self._waiting), self._hand.positions()
        if not commits:
            self.wake(waiting)
            return
        if now < self._refused_until:
            return
        self._next_at = now + INTERVAL
        try:
            self._sent = commits
            consumer.commit(offsets=_offsets(commits), asynchronous=True)
        except KafkaException as error:
            self._refused(str(error))

    def commit_now(self, consumer: confluent_kafka.Consumer, places: Sequence[Place]) -> None:
        """Commit these places and wait for it. Raises KafkaException."""
        with self._lock:
            commits = self._hand.positions(places)
        if not commits:
            return
        consumer.commit(offsets=_offsets(commits), asynchronous=False)
        with self._lock:
            for place, commit in commits.items():
                self._hand.committed(place, commit)

    def on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        """Librdkafka's call-back, out of `poll`."""
        sent, self._sent = self._sent, {}
        with self._lock:
            for place in offsets:
                commit = sent.get((place.topic, place.partition))
                if error is None and place.error is None and commit is not None:
                    self._hand.committed((place.topic, place.partition), commit)
        errors = [each for each in (error, *(place.error for place in offsets)) if each is not None]
        if errors:
            self._refused(errors[0].str())

    def give_up(self) -> None:
        """The partitions are lost: the commit under way means nothing any more."""
        self._sent = {}

    def wake(self, waiting: Sequence[asyncio.Future[None]] | None = None) -> None:
        """Tell these, or all who wait."""
        with self._lock:
            woken = list(self._waiting if waiting is None else waiting)
            self._waiting = [each for each in self._waiting if each not in woken]
        for each in woken:
            self._loop.call_soon_threadsafe(_finish, each)

    def _refused(self, error: str) -> None:
        self._sent = {}
        self._refused_until = time.monotonic() + INTERVAL
        _log.warning("commit failed, tried again in a second error=%s", error)


def _offsets(commits: dict[Place, Commit]) -> list[TopicPartition]:
    return [
        TopicPartition(*place, commit.offset, metadata=commit.text)
        for place, commit in commits.items()
    ]


def _finish(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
