"""The fetcher against real sockets: one `FetchRequested` in, one `FetchCompleted` out, no Kafka.

The server writes whatever octets a test asks for; names ending in .test lead to it.
"""

import asyncio
import gzip
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
import zstandard

from services.common.records import FetchCompleted, FetchRequested, Outcome, Rules
from services.common.settings import Fetcher, Scheduler, Settings
from services.fetcher.download import Download
from services.fetcher.protocols import FetchFailed, WireRequest, WireResponse
from services.fetcher.protocols.http import Http
from services.fetcher.resolver import Resolver

LOOPBACK = ["127.0.1.0/24"]
ADDRESSES = {
    "a.test": ("127.0.1.1",),
    "www.a.test": ("127.0.1.2",),
    "b.test": ("127.0.1.3",),
    "c.test": ("127.0.1.4",),
    "two.test": ("127.0.1.9", "127.0.1.1"),
    "loop.test": ("127.0.0.1",),
    "v6.test": ("::1",),
    "nat64.test": ("64:ff9b::7f00:1",),
    "mapped.test": ("::ffff:10.0.0.1",),
    "mixed.test": ("127.0.1.1", "10.0.0.1"),
}
PAGE = b"<title>A page</title>" + b"<p>text</p>" * 500
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def ok(body: bytes = PAGE, *lines: str) -> bytes:
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def to(target: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} X\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Web:
    """A server on 127.0.1.1 to .4; what it answers, and what it saw."""

    port: int = 0
    pages: dict[str, bytes | Handler] = field(default_factory=dict)
    """By path, or by host name and path."""
    seen: list[tuple[float, str, str]] = field(default_factory=list)
    """(time, host name, path) of each request."""
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    busy: int = 0
    most_busy: int = 0

    def url(self, path: str, host: str = "a.test") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self, host: str = "a.test") -> list[str]:
        return [path for _, name, path in self.seen if name == host]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self.answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode("latin-1")
        host = head.lower().split(b"\r\nhost: ")[1].split(b"\r\n")[0].decode().split(":")[0]
        self.heads.append(head)
        self.seen.append((time.monotonic(), host, path))
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        page = self.pages.get(host + path, self.pages.get(path, NOT_FOUND))
        try:
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
                return b"\r\nConnection: close" not in page
            await page(reader, writer)
        finally:
            self.busy -= 1
        return False


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    site = Web()
    async with AsyncExitStack() as stack:
        for last in (1, 2, 3, 4):
            server = await asyncio.start_server(site.serve, f"127.0.1.{last}", site.port)
            await stack.enter_async_context(server)
            site.port = server.sockets[0].getsockname()[1]
        yield site


def look_up(name: str) -> tuple[str, ...] | FetchFailed:
    return ADDRESSES.get(name) or FetchFailed("dns-not-found", name)


@asynccontextmanager
async def fetcher(tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[Download]:  # noqa: ANN401 - any setting
    """A fetcher with the given settings, short of patience."""
    known: dict[str, Any] = {
        "allow_private": LOOPBACK,
        "connect_timeout": 2,
        "read_timeout": 2,
        "total_timeout": 5,
    }
    own = Fetcher(**(known | options))
    http = Http(own, tls, Resolver(look_up))
    settings = Settings(fetcher=own, scheduler=Scheduler(max_crawl_delay=0.2))
    download = Download(settings, {"http": http, "https": http}, version="1", fetcher="f")
    try:
        yield download
    finally:
        await download.close()
        await http.close()
        await asyncio.sleep(0)


def request(url: str, **fields: Any) -> FetchRequested:  # noqa: ANN401 - any field
    known: dict[str, Any] = {
        "url": url,
        "fingerprint": b"\0" * 16,
        "host": url.split("/")[2],
        "rules": Rules(),
        "depth": 0,
        "reason": "new",
        "scheduled_at": time.time(),
        "lease_until": time.time() + 60,
        "gap": 0,
    }
    return FetchRequested(**(known | fields))


async def fetch(url: str, **options: Any) -> FetchCompleted:  # noqa: ANN401 - any setting
    async with fetcher(**options) as download:
        completed = await download.run(request(url))
        assert completed is not None
        return completed


def body(completed: FetchCompleted) -> bytes:
    return zstandard.decompress(completed.body) if completed.body else b""


def came_of(completed: FetchCompleted) -> tuple[str, str]:
    return completed.outcome.value, completed.reason


async def test_a_page_comes_whole_with_its_facts(web: Web) -> None:
    """C7: compressed once; all that later services need is there."""
    web.pages["/p"] = ok(PAGE, 'ETag: "x"', "X-Srv: caf\xe9")
    completed = await fetch(web.url("/p"))
    assert came_of(completed) == ("ok", "ok")
    assert (completed.status, completed.size, completed.truncated) == (200, len(PAGE), False)
    assert body(completed) == PAGE
    assert completed.headers == [
        ("content-length", str(len(PAGE))),
        ("etag", '"x"'),
        ("x-srv", "caf\xe9"),
    ]
    assert (completed.address, completed.fetcher) == ("127.0.1.1", "f/0")
    assert completed.first_byte is not None
    assert 0 <= completed.first_byte <= completed.elapsed
    assert b"\r\nuser-agent: Recrawl/1 (+https://example.org/recrawl)\r\n" in web.heads[-1]


async def test_a_conditional_request_that_holds_is_unchanged(web: Web) -> None:
    """C10."""
    web.pages["/p"] = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'
    async with fetcher() as download:
        completed = await download.run(request(web.url("/p"), etag='"x"', last_modified="then"))
    assert completed is not None
    assert came_of(completed) == ("unchanged", "not-modified")
    assert b'\r\nif-none-match: "x"\r\nif-modified-since: then\r\n' in web.heads[-1]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"Location: /\xc3\xa9-page", "/%C3%A9-page"),
        (b"Location: /caf\xe9", "/caf%E9"),
        (b"X-Srv: caf\xe9\r\nLocation: /\xc3\xa9-page", "/%C3%A9-page"),
    ],
)
async def test_a_redirect_in_raw_octets_is_reported_not_followed(
    web: Web, head: bytes, expected: str
) -> None:
    """HTTP-01."""
    web.pages["/p"] = b"HTTP/1.1 301 X\r\nContent-Length: 0\r\n" + head + b"\r\n\r\n"
    completed = await fetch(web.url("/p"))
    assert came_of(completed) == ("moved", "redirect")
    assert completed.location == web.url(expected)
    assert web.paths() == ["/robots.txt", "/p"]


async def test_a_bomb_is_cut_and_its_connection_dropped(web: Web) -> None:
    """C9."""
    bomb = gzip.compress(gzip.compress(b"\0" * (64 << 20), 9), 9)
    web.pages["/p"] = ok(bomb, "Content-Encoding: gzip, gzip")
    completed = await fetch(web.url("/p"), max_body=100_000)
    assert (*came_of(completed), completed.size) == ("ok", "size-limit", 100_000)
    assert completed.truncated


async def test_a_body_shorter_than_announced_is_tried_again_then_kept(web: Web) -> None:
    web.pages["/p"] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhalf"
    async with fetcher() as download:
        tries = [await download.run(request(web.url("/p"), attempt=n)) for n in (0, 2)]
    assert [(came_of(c), c.truncated, body(c)) for c in tries if c] == [
        (("transient", "incomplete"), True, b""),
        (("ok", "incomplete"), True, b"half"),
    ]


async def test_a_429_reports_how_long_to_stay_away(web: Web) -> None:
    """HTTP-11."""
    web.pages["/p"] = b"HTTP/1.1 429 X\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"
    completed = await fetch(web.url("/p"))
    assert (*came_of(completed), completed.retry_after) == ("blocked", "too-many-requests", 120)


@pytest.mark.parametrize(
    ("url", "outcome", "reason"),
    [
        ("http://127.0.0.1/", "policy", "private-address"),
        ("http://2130706433/", "policy", "private-address"),
        ("http://0x7f.1/", "policy", "private-address"),
        ("http://[::1]/", "policy", "private-address"),
        ("http://[::ffff:127.0.0.1]/", "policy", "private-address"),
        ("http://169.254.169.254/latest/", "policy", "private-address"),
        ("http://10.0.0.1/", "policy", "private-address"),
        ("http://100.64.0.1/", "policy", "private-address"),
        ("http://loop.test/", "policy", "private-address"),
        ("http://mixed.test/", "policy", "private-address"),
        ("http://nat64.test/", "policy", "private-address"),
        ("http://mapped.test/", "policy", "private-address"),
        ("http://v6.test/", "policy", "private-address"),
        ("http://017700000001/", "policy", "private-address"),
        ("http://0177.0.0.1/", "policy", "private-address"),
        ("http://0x7f000001/", "policy", "private-address"),
        ("http://127.1/", "policy", "private-address"),
        ("http://[64:ff9b::10.0.0.1]/", "policy", "private-address"),
        ("http://[::127.0.0.1]/", "policy", "private-address"),
        ("http://\uff11\uff12\uff17.0.0.1/", "policy", "private-address"),
        ("http://user@127.0.0.1:80\\@pub.test/", "policy", "private-address"),
        ("http://a.test:22/", "policy", "bad-port"),
        ("file:///etc/passwd", "policy", "no-protocol"),
        ("http://no such host/", "permanent", "bad-url"),
        ("http://nowhere.test/", "transient", "dns-not-found"),
        ("http://127.0.1.1:1/", "policy", "bad-port"),
        ("http://127.0.1.200:8099/", "transient", "connection-refused"),
    ],
)
async def test_nothing_inside_is_ever_connected_to(url: str, outcome: str, reason: str) -> None:
    """NET-05: the guard holds for every form of an address, and for every address of a name."""
    assert came_of(await fetch(url)) == (outcome, reason)


async def test_the_address_that_was_checked_is_the_one_connected_to(web: Web) -> None:
    """NET-05: an answer that changes after the check is never asked for."""
    answers = iter([("127.0.1.1",), ("127.0.0.1",)])
    web.pages["/p"] = ok()
    http = Http(Fetcher(allow_private=LOOPBACK), None, Resolver(lambda _: next(answers)))
    download = Download(Settings(), {"http": http}, version="1", fetcher="f")
    completed = await download.run(request(web.url("/p", "rebind.test")))
    await http.close()
    assert completed is not None
    assert (completed.reason, completed.address) == ("ok", "127.0.1.1")


async def test_the_second_address_is_tried_when_the_first_refuses(web: Web) -> None:
    web.pages["/p"] = ok()
    completed = await fetch(web.url("/p", "two.test"))
    assert (completed.reason, completed.address) == ("ok", "127.0.1.1")


async def test_the_second_address_is_tried_when_the_first_does_not_answer(web: Web) -> None:
    """NET-03: a full backlog swallows connections without a word."""
    web.pages["/p"] = ok()
    with socket.create_server(("127.0.1.9", web.port), backlog=0), ExitStack() as stack:
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 - the method's own way
            waiting.connect_ex(("127.0.1.9", web.port))
        completed = await fetch(web.url("/p", "two.test"), connect_timeout=1)
    assert (completed.reason, completed.address) == ("ok", "127.0.1.1")


async def test_a_host_of_ipv6_alone_is_reached() -> None:
    """NET-03."""
    site = Web(pages={"/p": ok()})
    async with await asyncio.start_server(site.serve, "::1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        completed = await fetch(site.url("/p", "v6.test"), allow_private=["::1/128"])
    assert (completed.reason, completed.address) == ("ok", "::1")


async def test_dead_names_take_no_slot_from_live_ones(web: Web) -> None:
    """NET-03: more names without an answer than slots, and a page comes all the same."""
    over = threading.Event()

    def ask(name: str) -> tuple[str, ...] | FetchFailed:
        if name.startswith("dead"):
            over.wait()
            return FetchFailed("dns-failure", name)
        return look_up(name)

    web.pages["/p"] = ok()
    own = Fetcher(allow_private=LOOPBACK, slots=2)
    http = Http(own, None, Resolver(ask, patience=60))
    download = Download(Settings(fetcher=own), {"http": http}, version="1", fetcher="f")
    dead = [
        asyncio.ensure_future(download.run(request(f"http://dead-{n}.test/"))) for n in range(20)
    ]
    await asyncio.sleep(0)
    live = await download.run(request(web.url("/p")))
    assert not any(task.done() for task in dead)
    over.set()
    ended = await asyncio.gather(*dead)
    await download.close()
    await http.close()
    assert live is not None
    assert came_of(live) == ("ok", "ok")
    assert {came_of(c) for c in ended if c} == {("transient", "dns-failure")}


async def test_a_connection_is_used_again(web: Web) -> None:
    """E4."""
    web.pages |= {"/1": ok(), "/2": NOT_FOUND, "/3": to("/1"), "/4": ok()}
    async with fetcher() as download:
        for n in (1, 2, 3, 4):
            await download.run(request(web.url(f"/{n}")))
    assert web.paths() == ["/robots.txt", "/1", "/2", "/3", "/4"]
    assert web.connections == 1


async def test_a_stale_connection_costs_one_more_try_and_no_failure(web: Web) -> None:
    hang_up = iter([True, False])

    async def sometimes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        if not next(hang_up):
            writer.write(ok())
            await writer.drain()

    web.pages |= {"/1": ok(), "/2": sometimes}
    async with fetcher() as download:
        await download.run(request(web.url("/1")))
        second = await download.run(request(web.url("/2")))
    assert second is not None
    assert came_of(second) == ("ok", "ok")
    assert (web.paths(), web.connections) == (["/robots.txt", "/1", "/2", "/2"], 2)


async def test_a_disallowed_url_is_never_asked_for(web: Web) -> None:
    """C4: a state, with the delay that the file asks for."""
    web.pages["/robots.txt"] = ok(b"User-agent: recrawl\nDisallow: /x\nCrawl-delay: 9")
    completed = await fetch(web.url("/x/y"))
    assert (*came_of(completed), completed.crawl_delay) == ("disallowed", "robots", 9)
    assert web.paths() == ["/robots.txt"]


async def test_an_unreachable_robots_file_closes_the_host_and_is_not_asked_again(web: Web) -> None:
    """C4, RFC 9309 2.3.1.4."""
    web.pages["/robots.txt"] = b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
    async with fetcher(robots_retry=300) as download:
        tries = [await download.run(request(web.url("/p"))) for _ in range(3)]
    assert {came_of(c) for c in tries if c} == {("transient", "robots-unreachable")}
    assert all(c is not None and 200 < (c.retry_after or 0) <= 300 for c in tries)
    assert web.paths() == ["/robots.txt"]


async def test_many_requests_at_once_read_robots_once(web: Web) -> None:
    web.pages["/p"] = ok()
    async with fetcher() as download:
        await asyncio.gather(*(download.run(request(web.url("/p"))) for _ in range(20)))
    assert sorted(web.paths()) == ["/p"] * 20 + ["/robots.txt"]


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (
            {
                "a.test/robots.txt": "http://www.a.test:PORT/robots.txt",
                "www.a.test/robots.txt": "http://b.test:PORT/r",
                "b.test/r": ok(b"User-agent: *\nDisallow: /x"),
            },
            "robots",
        ),
        ({"a.test/robots.txt": "http://a.test:PORT/robots.txt"}, "ok"),
        ({f"/{n or 'robots.txt'}": f"/{n + 1}" for n in range(6)}, "ok"),
        (
            {f"/{n or 'robots.txt'}": f"/{n + 1}" for n in range(5)}
            | {"/5": ok(b"User-agent: *\nDisallow: /")},
            "robots",
        ),
        ({"/robots.txt": "/", "/": ok(b"<html>Disallow: /</html>")}, "ok"),
        ({"/robots.txt": "http://169.254.169.254/x"}, "robots-unreachable"),
    ],
)
async def test_redirects_of_robots_are_followed_with_care(
    web: Web, pages: dict[str, bytes | str], expected: str
) -> None:
    """ROB-07: chains a, c, d (six hops, then five), e, f."""
    for path, page in pages.items():
        web.pages[path] = (
            page if isinstance(page, bytes) else to(page.replace("PORT", str(web.port)))
        )
    web.pages["/x"] = ok()
    assert (await fetch(web.url("/x"))).reason == expected


async def test_rules_found_through_a_redirect_bind_only_the_host_that_redirected(web: Web) -> None:
    """ROB-07, chain b."""
    web.pages["b.test/robots.txt"] = to(web.url("/bpage/robots.txt", "c.test"))
    web.pages["c.test/bpage/robots.txt"] = ok(b"User-agent: *\nDisallow: /")
    web.pages["/x"] = ok()
    async with fetcher() as download:
        reasons = [
            completed.reason
            for host in ("b.test", "c.test")
            if (completed := await download.run(request(web.url("/x", host))))
        ]
    assert reasons == ["robots", "ok"]


async def test_a_host_is_asked_one_at_a_time_with_its_gap_and_others_do_not_wait(web: Web) -> None:
    """D6, E2: from the server's own log; robots.txt counts as a request like any other."""
    web.pages["/p"] = ok()
    urls = [web.url("/p", host) for host in ("a.test", "b.test", "c.test") for _ in range(3)]
    async with fetcher(slots=10) as download:
        await asyncio.gather(*(download.run(request(url, gap=0.1)) for url in urls))
    for host in ("a.test", "b.test", "c.test"):
        times = [at for at, name, _ in web.seen if name == host]
        assert len(times) == 4
        assert all(later - earlier >= 0.1 for earlier, later in pairwise(times))
    firsts = {
        host: min(at for at, name, _ in web.seen if name == host) for host in ("a.test", "c.test")
    }
    assert abs(firsts["a.test"] - firsts["c.test"]) < 0.1


async def test_a_crawl_delay_widens_the_gap_up_to_the_cap(web: Web) -> None:
    """ROB-09: the cap is 0.2 s here."""
    web.pages |= {"/robots.txt": ok(b"User-agent: *\nCrawl-delay: 1e9"), "/p": ok()}
    async with fetcher() as download:
        await asyncio.gather(*(download.run(request(web.url("/p"))) for _ in range(2)))
    times = [at for at, _, _ in web.seen]
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))


async def test_no_more_downloads_run_than_there_are_slots(web: Web) -> None:
    """C2."""

    async def slow(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02)
        writer.write(ok())
        await writer.drain()

    web.pages["/p"] = slow
    hosts = ("a.test", "www.a.test", "b.test", "c.test")
    async with fetcher(slots=2) as download:
        await asyncio.gather(*(download.run(request(web.url("/p", h))) for h in hosts))
    assert web.most_busy == 2


async def test_a_request_whose_lease_ended_is_dropped(web: Web) -> None:
    """A16: the scheduler has emitted it again; also while it waits for its turn."""
    web.pages["/p"] = ok()
    async with fetcher() as download:
        late = await download.run(request(web.url("/p"), lease_until=time.time() - 60))
        assert (late, web.paths()) == (None, [])
        first, waited = await asyncio.gather(
            download.run(request(web.url("/p"))),
            download.run(request(web.url("/p"), gap=30, lease_until=time.time() - 1.8)),
        )
        assert first is not None
        assert waited is None
        assert await download.run(request(web.url("/p")))
    assert web.paths() == ["/robots.txt", "/p", "/p"]


async def test_a_stop_at_any_point_loses_nothing_and_leaves_nothing(web: Web) -> None:
    """C2, E3: cancelled requests free their host and slot."""
    reached = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        reached.set()
        await reader.read()

    web.pages |= {"/hang": hang, "/p": ok()}
    async with fetcher(slots=1) as download:
        tasks = [
            asyncio.ensure_future(download.run(request(web.url("/hang", host))))
            for host in ("a.test", "a.test", "b.test")
        ]
        await reached.wait()
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended)
        after = [await download.run(request(web.url("/p", h))) for h in ("a.test", "b.test")]
    assert [completed.reason for completed in after if completed] == ["ok", "ok"]


class Always:
    """A protocol of the test's own: C3, one class and no other change."""

    def __init__(self, settings: Fetcher) -> None:
        del settings

    async def fetch(self, request: WireRequest) -> WireResponse:
        return WireResponse(status=200, headers=[], body=request.url.path.encode())

    async def close(self) -> None:
        pass


async def test_a_protocol_is_one_class_and_knows_no_robots() -> None:
    """C3."""
    own = {"always": Always(Fetcher())}
    download = Download(Settings(), own, version="1", fetcher="f")
    completed = await download.run(request("always://host/thing"))
    assert completed is not None
    assert (completed.outcome, body(completed)) == (Outcome.OK, b"/thing")


async def test_the_sitemaps_of_robots_txt_come_with_one_report_of_each_job(web: Web) -> None:
    """D11: even with one that robots.txt forbids."""
    web.pages["/robots.txt"] = ok(b"User-agent: *\nDisallow: /x\nSitemap: /s.xml\n")
    web.pages["/p"] = ok(PAGE)
    sitemap = web.url("/s.xml")
    async with fetcher() as download:
        carried = []
        for path, job in (("/x", "one"), ("/p", "one"), ("/p", "two"), ("/x", "two")):
            asked = request(web.url(path), rules=Rules(job=job))
            completed = await download.run(asked)
            assert completed is not None
            carried.append(completed.sitemaps)
    assert carried == [[sitemap], [], [sitemap], []]


async def test_a_sitemap_may_be_larger_than_a_page(web: Web) -> None:
    """D11."""
    web.pages["/s.xml"] = ok(PAGE * 3)
    async with fetcher(max_body=len(PAGE)) as download:
        for level, size in ((0, len(PAGE)), (1, 3 * len(PAGE))):
            completed = await download.run(request(web.url("/s.xml"), sitemap_level=level))
            assert completed is not None
            assert (completed.size, completed.truncated) == (size, not level)
