"""Where records go: the broker, so many at a time and no more."""

import asyncio
from types import TracebackType
from typing import Self

from services.common.kafka import Producer
from services.common.records import Record
from services.common.topics import Topic

_UNDER_WAY = 200
"""Records sent and not acknowledged; with so many the reader waits."""


class Sink:
    """Sends in order and waits when the broker is behind; leaving the block waits for all."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._under_way: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.drain()
        for task in self._under_way:
            task.cancel()

    async def send(self, topic: Topic, record: Record, key: str) -> None:
        """Hand one record over.

        Raises:
            Retry, DeadLetter, Stop: as `Producer.send`, of this record or one before.
        """
        while len(self._under_way) >= _UNDER_WAY:
            await self._settle(asyncio.FIRST_COMPLETED)
        self._under_way.add(asyncio.create_task(self._producer.send(topic, record, key=key)))

    async def drain(self) -> None:
        """Wait until the broker has all.

        Raises:
            Retry, DeadLetter, Stop: as `send`.
        """
        while self._under_way:
            await self._settle(asyncio.ALL_COMPLETED)

    async def _settle(self, until: str) -> None:
        done, self._under_way = await asyncio.wait(self._under_way, return_when=until)
        for task in done:
            task.result()
