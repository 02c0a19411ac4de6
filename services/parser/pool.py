"""Parsing processes, and what to do when a page kills one.

Decides how a page is read when it takes too long or brings its process down: once more without
looking for the main text, then not at all. A page never takes its neighbours or us with it.
Processes come from a fork server, since forking a process with threads is not safe.
"""

import asyncio
import logging
import multiprocessing
import signal
from concurrent.futures.process import BrokenProcessPool

import msgspec
import pebble

from services.common.errors import Retry
from services.common.settings import Parser as ParserSettings
from services.parser import worker
from services.parser.document import Document, Task

MAX_TASKS = 2000
"""Pages after which a process is replaced, so that leaks and caches stay small."""

_log = logging.getLogger(__name__)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Document)


class Pool:
    """`settings.workers` processes that read pages. All coroutines belong to one event loop."""

    def __init__(self, settings: ParserSettings) -> None:
        self._settings = settings
        self._closing = False
        self._waiting: set[asyncio.Future[bytes]] = set()
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([worker.__name__])
        self._pool = self._make()

    async def read(self, task: Task) -> Document:
        """What is in the body; `failure` says what went wrong, if something did.

        Raises:
            Retry: the processes are being ended.
        """
        document = await self._try(task)
        if not document.failure:
            return document
        _log.warning("page read without its main text url=%s %s", task.url, _why(document))
        plain = await self._try(msgspec.structs.replace(task, main=False))
        if plain.failure:
            _log.warning("page not read at all url=%s %s", task.url, _why(plain))
            return plain
        return msgspec.structs.replace(plain, failure=document.failure)

    async def close(self) -> None:
        """Ends the processes at once; pages in work raise Retry."""
        self._closing = True
        await self._end(self._pool)

    def _make(self) -> pebble.ProcessPool:
        return pebble.ProcessPool(
            max_workers=self._settings.workers,
            max_tasks=MAX_TASKS,
            initializer=worker.prepare,
            initargs=(self._settings.max_memory,),
            context=self._context,
        )

    async def _try(self, task: Task) -> Document:
        pool = self._pool
        try:
            return _decoder.decode(await self._answer(pool, task))
        except BrokenProcessPool as error:
            # a process ended while it had nothing to do: pebble gives the whole pool up
            await self._replace(pool, error)
            raise Retry(f"the parsing processes had to be started again: {error}") from error
        except TimeoutError:
            return Document(failure="parse-timeout")
        except pebble.ProcessExpired as error:
            if self._closing or error.exitcode == -signal.SIGTERM:
                raise Retry("the parsing process was told to end") from error
            return Document(failure="parse-crashed", detail=f"exit code {error.exitcode}")

    async def _answer(self, pool: pebble.ProcessPool, task: Task) -> bytes:
        try:
            future = pool.schedule(
                worker.parse, args=(_encoder.encode(task),), timeout=self._settings.page_timeout
            )
        except RuntimeError as error:  # pebble's word for a pool that is over
            raise BrokenProcessPool(str(error)) from error
        waiting = asyncio.wrap_future(future)
        self._waiting.add(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise
            raise Retry("the parsing processes were ended") from None
        finally:
            self._waiting.discard(waiting)

    async def _replace(self, pool: pebble.ProcessPool, error: Exception) -> None:
        if not self._closing and pool is self._pool and not pool.active:
            _log.error("parsing processes are started again reason=%s", error)
            self._pool = self._make()
            await self._end(pool)

    async def _end(self, pool: pebble.ProcessPool) -> None:
        """Ends a pool, which by itself would leave those who wait for it waiting."""
        waiting = list(self._waiting)
        pool.stop()  # type: ignore[no-untyped-call] # pebble's signature lacks it
        await asyncio.to_thread(pool.join)
        for answer in waiting:
            answer.cancel()


def _why(document: Document) -> str:
    return f"reason={document.failure} {document.detail}".rstrip()
