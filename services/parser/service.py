"""The parser as a process: takes fetches, keeps pages, passes on links and reports.

All decisions are core.py's. Order: the page is stored, then its links and its text are sent,
then it is reported; so a reported page can be read and its links are on their way.
"""

import asyncio
from typing import ClassVar

from services.common import metrics
from services.common.cassandra import Cassandra, connect
from services.common.codec import decode
from services.common.kafka import Incoming, Producer
from services.common.records import UNSENT, FetchCompleted, Outcome
from services.common.settings import Settings
from services.common.topics import (
    CRAWL_REPORTED,
    FETCH_COMPLETED,
    PAGE_PARSED,
    URL_DISCOVERED,
    Topic,
)
from services.parser import bodies, core, store, tables
from services.parser.core import Effects, Limits, Reading
from services.parser.pool import Pool

_LARGE = 1 << 20
"""Octets from which unpacking is worth a thread."""


class Parser:
    """A `runtime.Service`; it has no state of its own."""

    name: ClassVar[str] = "parser"
    inputs: ClassVar[tuple[Topic, ...]] = (FETCH_COMPLETED,)

    def __init__(self, settings: Settings, producer: Producer) -> None:
        # enough that the processes never wait for a write, few enough for large bodies
        self.concurrency = 8 + 8 * settings.parser.workers
        self._settings = settings
        self._producer = producer
        self._limits = Limits.of(settings)
        self._cassandra: Cassandra | None = None
        self._pool: Pool | None = None

    async def open(self) -> None:
        """Connects and starts the parsing processes.

        Raises:
            Retry: Cassandra does not answer yet.
            Stop: its tables are missing, or access to it.
        """
        if self._cassandra is None:
            self._cassandra = await connect(self._settings.cassandra)
        await self._cassandra.execute(tables.GET_TEXT, (b"\0",))  # the tables are there
        if self._pool is None:
            self._pool = Pool(self._settings.parser)

    async def close(self) -> None:
        """Ends the processes and the connection."""
        if self._pool is not None:
            await self._pool.close()
        if self._cassandra is not None:
            await self._cassandra.close()

    async def handle(self, message: Incoming) -> None:
        """Does all that follows from one fetch.

        Raises:
            DeadLetter: the record or its body is malformed, or Cassandra refuses it.
            Retry, Stop: as the store and the broker.
        """
        fetch: FetchCompleted = decode(FETCH_COMPLETED, message.value or b"")
        effects = core.decide(fetch, await self._reading(fetch), self._limits)
        if fetch.reason not in UNSENT:  # else there is no fetch to remember
            await store.apply(self._store, effects.rows)
            await store.apply(self._store, [effects.page])
        await self._send(effects)
        _count(effects)

    def problems(self) -> list[str]:
        """Why it is not ready."""
        return self._cassandra.problems() if self._cassandra else ["cassandra: not connected"]

    @property
    def _store(self) -> Cassandra:
        assert self._cassandra is not None  # noqa: S101 - opened before anything is handled
        return self._cassandra

    async def _reading(self, fetch: FetchCompleted) -> Reading:
        """What has to be known of the body; as little as will do."""
        if fetch.outcome is Outcome.OK:
            if fetch.size > _LARGE:
                digest, chunks = await asyncio.to_thread(_open_body, fetch)
            else:
                digest, chunks = _open_body(fetch)
        else:
            digest, chunks = None, []
        if digest is not None and core.needs_reading(fetch, digest):
            return await self._read(fetch, digest, chunks)
        if not core.wants_stored_links(fetch, digest):
            return Reading(body_digest=digest)
        request = fetch.request
        links = await store.latest_links(self._store, request.host, request.fingerprint)
        if links is None and digest is not None:
            return await self._read(fetch, digest, chunks)
        return Reading(body_digest=digest, stored_links=links or ())

    async def _read(self, fetch: FetchCompleted, digest: bytes, chunks: list[bytes]) -> Reading:
        assert self._pool is not None  # noqa: S101 - opened before anything is handled
        document = await self._pool.read(core.task_of(fetch, self._limits))
        if document.failure:
            metrics.parse_failures.labels(document.failure).inc()
        return Reading(body_digest=digest, chunks=chunks, document=document)

    async def _send(self, effects: Effects) -> None:
        sends = [
            self._producer.send(URL_DISCOVERED, record, key=record.host)
            for record in effects.discovered
        ]
        if effects.parsed is not None:
            parsed = effects.parsed
            sends.append(self._producer.send(PAGE_PARSED, parsed, key=parsed.fingerprint.hex()))
        await asyncio.gather(*sends)
        await self._producer.send(CRAWL_REPORTED, effects.reported, key=effects.reported.host)


def _open_body(fetch: FetchCompleted) -> tuple[bytes, list[bytes]]:
    data = bodies.unpack(fetch.body, fetch.size)
    return bodies.digest(data), bodies.chunks(data, fetch.body)


def _count(effects: Effects) -> None:
    metrics.pages_parsed.labels(effects.verdict).inc()
    for reason, count in effects.cut.items():
        metrics.links_cut.labels(reason).inc(count)
