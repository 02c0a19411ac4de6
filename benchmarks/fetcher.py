"""The fetcher's cost of a request on small pages, beside other clients on the same server.

`python benchmarks/fetcher.py [requests] [--scrapy PYTHON]` starts a server in a process of its
own on 32 loopback addresses and asks for the same URLs with every client, one request a host at
a time, 32 hosts at once. CPU is the client's alone, the best of three rounds. Recrawl's figure has
robots.txt, turns, guard, decoding, compression and the report in it; "transport" has not.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import httpx
import psutil

from services.common import urls
from services.common.records import FetchRequested, Rules
from services.common.settings import Fetcher, Settings
from services.fetcher.download import Download
from services.fetcher.protocols import Protocol, WireRequest, WireResponse
from services.fetcher.protocols.http import Http

HOSTS = 32
ROUNDS = 3
WAITING = 10_000
ADDRESSES = [f"127.0.1.{n + 1}" for n in range(HOSTS)]
BODY = b"<!doctype html><title>A page</title>" + b"<p>Some words of a page.</p>" * 70
PAGE = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    b'Content-Type: text/html; charset=utf-8\r\nETag: "5f3a"\r\nVary: Accept-Encoding\r\n'
    b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
OWN = Fetcher(slots=HOSTS, allow_private=["127.0.0.0/8"])

Ask = Callable[[str], Awaitable[object]]


class Server(asyncio.Protocol):
    """Answers every request at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`; clients here send whole heads."""
        self._transport.write(NOT_FOUND if b" /robots.txt " in data else PAGE)


async def serve() -> None:
    """Listen on one port of every address, print it, and go on until killed."""
    loop = asyncio.get_running_loop()
    port = 0
    async with contextlib.AsyncExitStack() as stack:
        for address in ADDRESSES:
            server = await stack.enter_async_context(
                await loop.create_server(Server, address, port)
            )
            port = server.sockets[0].getsockname()[1]
        print(port, flush=True)
        await asyncio.Event().wait()


class Idle:
    """A protocol that answers at once, without a network."""

    def __init__(self, settings: Fetcher) -> None:
        """See `services.fetcher.protocols.Protocol`."""
        del settings

    async def fetch(self, request: WireRequest) -> WireResponse:
        """See `services.fetcher.protocols.Protocol`."""
        del request
        return WireResponse(status=200, headers=[])

    async def close(self) -> None:
        """See `services.fetcher.protocols.Protocol`."""


def request(url: str, gap: float = 0.0) -> FetchRequested:
    """A request as the scheduler makes it."""
    now = time.time()
    return FetchRequested(
        url=url,
        fingerprint=b"\0" * 16,
        host=url.split("/")[2],
        rules=Rules(),
        depth=0,
        reason="due",
        scheduled_at=now,
        lease_until=now + 3600,
        gap=gap,
    )


@contextlib.asynccontextmanager
async def with_httpx() -> AsyncIterator[Ask]:
    """A bare httpx client."""
    limits = httpx.Limits(max_connections=HOSTS, max_keepalive_connections=HOSTS)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:

        async def ask(url: str) -> None:
            assert (await client.get(url)).content == BODY

        yield ask


@contextlib.asynccontextmanager
async def with_aiohttp() -> AsyncIterator[Ask]:
    """A bare aiohttp session."""
    connector = aiohttp.TCPConnector(limit=HOSTS)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(url: str) -> None:
            async with session.get(url) as response:
                assert await response.read() == BODY

        yield ask


@contextlib.asynccontextmanager
async def with_transport() -> AsyncIterator[Ask]:
    """Recrawl's http protocol without what is around it."""
    http = Http(OWN)

    async def ask(url: str) -> None:
        wire = WireRequest(
            url=urls.parse(url), headers=(("user-agent", "x"), ("accept", "*/*")), limit=1 << 20
        )
        assert (await http.fetch(wire)).body == BODY

    yield ask
    await http.close()


@contextlib.asynccontextmanager
async def with_recrawl(waiting: int = 0) -> AsyncIterator[Ask]:
    """Recrawl's fetcher but for Kafka, with so many other hosts waiting for their turn."""
    http, process = Http(OWN), psutil.Process()
    protocols: dict[str, Protocol] = {"http": http, "idle": Idle(OWN)}
    download = Download(Settings(fetcher=OWN), protocols, version="1", fetcher="f")

    async def ask(url: str) -> None:
        completed = await download.run(request(url))
        assert completed is not None
        assert completed.size == len(BODY)

    before = process.memory_info().rss
    for n in range(waiting):
        await download.run(request(f"idle://www.host-{n}.example/"))
    waiters = [
        asyncio.ensure_future(download.run(request(f"idle://www.host-{n}.example/page", 3000)))
        for n in range(waiting)
    ]
    await asyncio.sleep(0)
    if waiting:
        each = (process.memory_info().rss - before) / waiting
        print(f"{waiting} hosts queued: {each * waiting / 2**20:.0f} MB, {each:.0f} octets each")
    yield ask
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    await download.close()
    await http.close()


async def measured(ask: Ask, asked: list[str]) -> tuple[float, float]:
    """CPU and wall seconds of one round: each host's URLs one after another."""

    async def host(mine: list[str]) -> None:
        for url in mine:
            await ask(url)

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(host(asked[n::HOSTS]) for n in range(HOSTS)))
    return time.process_time() - cpu, time.perf_counter() - wall


def shown(name: str, count: int, rounds: list[tuple[float, float]]) -> None:
    """Print one line: the best of the rounds."""
    cpu, wall = (min(seconds) for seconds in zip(*rounds, strict=True))
    print(
        f"{name:32} {cpu / count * 1000:6.3f} ms CPU a request, "
        f"{count / cpu:6.0f} requests/s per core, {count / wall:6.0f} requests/s"
    )


async def clients(asked: list[str]) -> None:
    """All clients in this process, in turn."""
    for name, opened in (
        ("httpx", with_httpx()),
        ("aiohttp", with_aiohttp()),
        ("Recrawl, transport", with_transport()),
        ("Recrawl", with_recrawl()),
        (f"Recrawl, {WAITING} hosts waiting", with_recrawl(WAITING)),
    ):
        async with opened as ask:
            await measured(ask, asked[: 4 * HOSTS])  # connections, robots.txt, caches
            rounds = [await measured(ask, asked) for _ in range(ROUNDS)]
        shown(name, len(asked), rounds)


def scrapy(python: str, asked: list[str]) -> None:
    """Scrapy in its own Python; its start is in the figure, so it gets all rounds in one."""
    script = Path(__file__).with_name("fetcher_scrapy.py")
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "urls"
        file.write_text("\n".join(asked * ROUNDS))
        out = subprocess.run(
            [python, script, file, str(HOSTS)], check=True, capture_output=True, text=True
        ).stdout.split()
    shown("Scrapy", len(asked) * ROUNDS, [(float(out[-2]), float(out[-1]))])


def main() -> None:
    """Run everything once and print a line each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("requests", nargs="?", type=int, default=6400)
    parser.add_argument("--scrapy", metavar="PYTHON", help="a Python that has Scrapy")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    with subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            asked = [
                f"http://{ADDRESSES[n % HOSTS]}:{port}/pages/{n}" for n in range(options.requests)
            ]
            asyncio.run(clients(asked))
            if options.scrapy:
                scrapy(options.scrapy, asked)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
