"""D6: a host that never answers among 49 that do, on real sockets, takes one slot and no more."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from services.common.records import FetchRequested
from services.fetcher.download import Download

HOSTS, PAGES, SLOTS = 50, 4, 2


async def test_the_others_come_to_their_end_while_a_tarpit_holds_its_slot(
    fetcher: Callable[..., AbstractAsyncContextManager[Download]],
    request_for: Callable[..., FetchRequested],
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        while await reader.readuntil(b"\r\n\r\n"):
            if address == "127.0.1.1":
                await asyncio.Event().wait()
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.transport.abort()

    async with AsyncExitStack() as stack:
        port = 0
        for n in range(HOSTS):
            server = await asyncio.start_server(quiet, f"127.0.1.{n + 1}", port)
            port = server.sockets[0].getsockname()[1]
            stack.callback(server.close)
        long = {"read_timeout": 120, "total_timeout": 120}
        download = await stack.enter_async_context(fetcher(slots=SLOTS, **long))
        tasks = [
            asyncio.create_task(
                download.run(request_for(f"http://127.0.1.{n + 1}:{port}/{page}", gap=0.01))
            )
            for page in range(PAGES)
            for n in range(HOSTS)
        ]
        tarpit = tasks[::HOSTS]
        others = [task for task in tasks if task not in tarpit]
        done = await asyncio.wait_for(asyncio.gather(*others), 30)
        assert {completed.reason for completed in done if completed} == {"not-found"}
        assert len(done) == PAGES * (HOSTS - 1)
        assert not any(task.done() for task in tarpit)
        assert download.turns.oldest() > 0
        for task in tarpit:
            task.cancel()
        await asyncio.gather(*tarpit, return_exceptions=True)
        assert download.turns.oldest() == 0
