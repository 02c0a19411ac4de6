"""C11: the rules of a host, seen from servers and proxies on real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
import zstandard

from services.common.records import FetchCompleted, FetchRequested
from services.fetcher.download import Download

Open = Callable[..., AbstractAsyncContextManager[Download]]
Ask = Callable[..., FetchRequested]
NOT_FOUND = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@dataclass
class Site:
    """Answers pages by what `page` says of their heads; remembers heads and peers."""

    page: Callable[[bytes], bytes] = lambda _: HELLO
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    peers: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peers.append(writer.get_extra_info("peername")[0])
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"/robots.txt " in head:
                    writer.write(NOT_FOUND)
                    continue
                self.heads.append(head)
                writer.write(self.page(head))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()


@dataclass
class Proxy:
    """A proxy that says what it was told to, and no more."""

    answer: bytes
    port: int = 0
    heads: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def listening(
    site: Site | Proxy, address: str = "127.0.1.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    async with await asyncio.start_server(site.serve, address, 0, ssl=tls) as server:
        site.port = server.sockets[0].getsockname()[1]
        yield f"{address}:{site.port}"


async def fetched(download: Download, request: FetchRequested) -> FetchCompleted:
    completed = await download.run(request)
    assert completed is not None
    return completed


def rule(*lines: str, hosts: str = "*") -> str:
    return "\n".join(["[[rule]]", f'hosts = ["{hosts}"]', *lines])


async def test_plain_requests_go_through_a_proxy_whole(fetcher: Open, request_for: Ask) -> None:
    """The proxy resolves the name: nowhere.test is unknown to us."""
    proxy = Site()
    async with (
        listening(proxy, "127.0.2.1") as where,
        fetcher(rules=rule(f'proxy = "http://me:pw@{where}"')) as download,
    ):
        completed = await fetched(download, request_for("http://nowhere.test:8080/p?q"))
    assert (completed.reason, zstandard.decompress(completed.body)) == ("ok", b"hello")
    assert proxy.heads[0].startswith(b"GET http://nowhere.test:8080/p?q HTTP/1.1\r\n")
    assert b"\r\nhost: nowhere.test:8080\r\n" in proxy.heads[0].lower()
    assert b"\r\nproxy-authorization: Basic bWU6cHc=\r\n" in proxy.heads[0]


async def test_a_proxy_for_one_host_is_none_for_others(fetcher: Open, request_for: Ask) -> None:
    site, proxy = Site(), Site()
    async with (
        listening(site),
        listening(proxy, "127.0.2.1") as where,
        fetcher(rules=rule(f'proxy = "http://{where}"', hosts="b.test")) as download,
    ):
        for host in ("a.test", "b.test"):
            await fetched(download, request_for(f"http://{host}:{site.port}/"))
    assert (len(site.heads), len(proxy.heads)) == (1, 1)
    assert b"proxy-auth" not in site.heads[0].lower()


@pytest.mark.parametrize(
    "refusal",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nand more",
        b"HTTP/1.1 200 OK\r\n",
        b"nonsense\r\n\r\n",
        b"x" * 20_000,
    ],
)
async def test_a_proxy_that_gives_no_tunnel_is_told_from_the_site(
    fetcher: Open, request_for: Ask, refusal: bytes
) -> None:
    proxy = Proxy(refusal)
    async with (
        listening(proxy, "127.0.2.1") as where,
        fetcher(rules=rule(f'proxy = "http://{where}"')) as download,
    ):
        completed = await fetched(download, request_for("https://nowhere.test/"))
    assert (completed.outcome.value, completed.reason) == ("transient", "proxy")
    assert proxy.heads[0].startswith(b"CONNECT nowhere.test:443 HTTP/1.1\r\n")


async def test_a_proxy_that_is_not_there_is_told_from_the_site(
    fetcher: Open, request_for: Ask
) -> None:
    async with fetcher(rules=rule('proxy = "http://127.0.2.1:9"')) as download:
        completed = await fetched(download, request_for("http://nowhere.test/"))
    assert completed.reason == "proxy"


async def test_a_private_address_is_refused_through_a_proxy_too(
    fetcher: Open, request_for: Ask
) -> None:
    """NET-05."""
    proxy = Site()
    async with (
        listening(proxy, "127.0.2.1") as where,
        fetcher(rules=rule(f'proxy = "http://{where}"')) as download,
    ):
        completed = await fetched(download, request_for("http://169.254.169.254/latest/"))
    assert (completed.reason, proxy.heads) == ("private-address", [])


async def test_an_egress_address_is_the_hosts_own(fetcher: Open, request_for: Ask) -> None:
    site = Site(page=lambda _: HELLO.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
    addresses = [f"127.0.3.{n}" for n in range(1, 9)]
    async with (
        listening(site),
        fetcher(rules=rule(f"egress = {addresses}")) as download,
    ):
        for host in ("a.test", "b.test"):
            for _ in range(3):
                await fetched(download, request_for(f"http://{host}:{site.port}/"))
    by_host = [set(site.peers[:3]), set(site.peers[3:])]
    assert [len(peers) for peers in by_host] == [1, 1]
    assert set.union(*by_host) <= set(addresses)


async def test_egress_addresses_take_turns_where_told_so(fetcher: Open, request_for: Ask) -> None:
    site = Site(page=lambda _: HELLO.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
    lines = ('egress = ["127.0.3.1", "::1", "127.0.3.2"]', 'egress_by = "turn"')
    async with listening(site), fetcher(rules=rule(*lines)) as download:
        for _ in range(4):
            await fetched(download, request_for(f"http://a.test:{site.port}/"))
    assert site.peers == ["127.0.3.1", "127.0.3.2", "127.0.3.1", "127.0.3.2"]


async def test_no_egress_address_of_the_family_is_a_failure_by_name(
    fetcher: Open, request_for: Ask
) -> None:
    site = Site()
    async with listening(site), fetcher(rules=rule('egress = ["::1"]')) as download:
        completed = await fetched(download, request_for(f"http://a.test:{site.port}/"))
    assert completed.reason == "connect-error"


async def test_headers_go_out_with_pages_and_replace_ours(fetcher: Open, request_for: Ask) -> None:
    site = Site()
    rules = rule('headers = { Accept = "text/plain", X-Key = "k" }')
    async with listening(site), fetcher(rules=rules) as download:
        await fetched(download, request_for(f"http://a.test:{site.port}/"))
    assert b"\r\naccept: text/plain\r\n" in site.heads[0]
    assert b"\r\nx-key: k\r\n" in site.heads[0]


async def test_a_body_limit_is_the_hosts_own(fetcher: Open, request_for: Ask) -> None:
    site = Site(page=lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000)
    async with listening(site), fetcher(rules=rule("max_body = 1024")) as download:
        completed = await fetched(download, request_for(f"http://a.test:{site.port}/"))
    assert (completed.reason, completed.size, completed.truncated) == ("size-limit", 1024, True)


async def test_a_type_that_is_not_wanted_is_left_unread(fetcher: Open, request_for: Ask) -> None:
    site = Site(
        page=lambda _: b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9999\r\n\r\n"
    )
    async with listening(site), fetcher(rules=rule('skip_types = ["video/*"]')) as download:
        completed = await fetched(download, request_for(f"http://a.test:{site.port}/"))
    assert (completed.outcome.value, completed.reason) == ("policy", "content-type")
    assert (completed.status, completed.size, completed.truncated) == (200, 0, False)
    assert ("content-type", "video/mp4") in completed.headers


async def test_only_the_ports_of_the_rule_are_connected_to(fetcher: Open, request_for: Ask) -> None:
    async with fetcher(rules=rule("ports = [80, 443]")) as download:
        completed = await fetched(download, request_for("http://a.test:8080/"))
    assert (completed.outcome.value, completed.reason) == ("policy", "bad-port")


def walled(head: bytes) -> bytes:
    """HTTP-09 A: the page is there for those who bring the cookie."""
    if b"seen=1" in head:
        return HELLO
    return (
        b"HTTP/1.1 302 X\r\nLocation: /p\r\nSet-Cookie: seen=1; Path=/\r\nContent-Length: 0\r\n\r\n"
    )


async def test_a_redirect_to_itself_with_a_cookie_leads_to_the_page(
    fetcher: Open, request_for: Ask
) -> None:
    """HTTP-09 A; the cookie stays for the host, and goes to no other."""
    site = Site(page=walled)
    async with listening(site), fetcher(rules=rule('cookies = "host"')) as download:
        first = await fetched(download, request_for(f"http://a.test:{site.port}/p"))
        again = await fetched(download, request_for(f"http://a.test:{site.port}/p"))
        await fetched(download, request_for(f"http://b.test:{site.port}/other"))
    assert [c.reason for c in (first, again)] == ["ok", "ok"]
    assert ["seen=1" in head.decode() for head in site.heads] == [False, True, True, False]


async def test_a_redirect_to_itself_for_ever_is_taken_up_once(
    fetcher: Open, request_for: Ask
) -> None:
    """HTTP-09 C: a new cookie each time does not keep us busy."""
    site = Site()
    site.page = lambda _: (
        b"HTTP/1.1 302 X\r\nLocation: /p\r\nSet-Cookie: n=%d\r\nContent-Length: 0\r\n\r\n"
        % len(site.heads)
    )
    async with listening(site), fetcher(rules=rule('cookies = "host"')) as download:
        completed = await fetched(download, request_for(f"http://a.test:{site.port}/p"))
    assert (completed.reason, len(site.heads)) == ("redirect-loop", 2)


async def test_without_the_rule_there_are_no_cookies(fetcher: Open, request_for: Ask) -> None:
    site = Site(page=walled)
    async with listening(site), fetcher() as download:
        for _ in range(2):
            completed = await fetched(download, request_for(f"http://a.test:{site.port}/p"))
            assert completed.reason == "redirect-loop"
    assert len(site.heads) == 2
    assert not any(b"cookie" in head.lower() for head in site.heads)


BIG = b"x" * 5000


def headed(answer: bytes) -> Callable[[bytes], bytes]:
    """Answers HEAD as told, GET with the page."""
    page = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG) + BIG
    return lambda head: answer if head.startswith(b"HEAD ") else page


@pytest.mark.parametrize(
    "case",
    [
        (b"200 OK\r\nContent-Length: 5000", ("unchanged", "head-same"), [b"HEAD"]),
        (b"200 OK\r\nContent-Length: 5001", ("ok", "ok"), [b"HEAD", b"GET"]),
        (b'200 OK\r\nContent-Length: 5000\r\nETag: "x"', ("ok", "ok"), [b"HEAD", b"GET"]),
        (b"200 OK", ("ok", "ok"), [b"HEAD", b"GET"]),
        (b"405 No\r\nContent-Length: 5000", ("ok", "ok"), [b"HEAD", b"GET"]),
        (b"404 No\r\nContent-Length: 5000", ("ok", "ok"), [b"HEAD", b"GET"]),
        (b"503 No\r\nContent-Length: 0", ("ok", "ok"), [b"HEAD", b"GET"]),
        (b"503 No\r\nRetry-After: 9", ("blocked", "unavailable"), [b"HEAD"]),
        (b"garbage", ("ok", "ok"), [b"HEAD", b"GET"]),
    ],
)
async def test_a_large_page_without_validators_is_asked_for_by_head_first(
    fetcher: Open, request_for: Ask, case: tuple[bytes, tuple[str, str], list[bytes]]
) -> None:
    """C10."""
    answer, expected, asked = case
    site = Site(page=headed(b"HTTP/1.1 " + answer + b"\r\n\r\n"))
    async with listening(site), fetcher(head_above=4999) as download:
        request = request_for(f"http://a.test:{site.port}/", size=5000)
        completed = await fetched(download, request)
    assert (completed.outcome.value, completed.reason) == expected
    methods = [head.split(b" ")[0] for head in site.heads]
    assert sorted(set(methods)) == sorted(asked)
    assert b"\r\naccept-encoding: identity\r\n" in site.heads[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 4999},
        {"size": 0},
        {"size": 5000, "etag": '"x"'},
        {"size": 5000, "last_modified": "then"},
        {"size": 5000, "attempt": 1},
    ],
)
async def test_a_page_that_is_small_conditional_or_retried_is_asked_for_at_once(
    fetcher: Open, request_for: Ask, fields: dict[str, object]
) -> None:
    """C10."""
    site = Site(page=headed(NOT_FOUND))
    async with listening(site), fetcher(head_above=4999) as download:
        await fetched(download, request_for(f"http://a.test:{site.port}/", **fields))
    assert [head.split(b" ")[0] for head in site.heads] == [b"GET"]


async def test_the_page_after_a_head_waits_for_its_hosts_gap(
    fetcher: Open, request_for: Ask
) -> None:
    """D6."""
    site = Site(page=headed(NOT_FOUND))
    loop = asyncio.get_running_loop()
    async with listening(site), fetcher(head_above=1) as download:
        before = loop.time()
        await fetched(download, request_for(f"http://a.test:{site.port}/", size=5000, gap=0.1))
    assert loop.time() - before >= 0.2
