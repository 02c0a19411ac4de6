"""TLS and HTTP/2: certificates of every kind, and servers that give up in the middle."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest
import zstandard

from services.common.records import FetchCompleted, FetchRequested
from services.fetcher.download import Download

Open = Callable[..., AbstractAsyncContextManager[Download]]
Ask = Callable[..., FetchRequested]


def came_of(completed: FetchCompleted | None) -> tuple[str, str]:
    assert completed is not None
    return completed.outcome.value, completed.reason


KEY = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6guEQkfL/250cT9C
Y7qdw2cITAm8GRu9b7kT9tskoduhRANCAARbJXozNhmeEOOgCJKvTPz5nuRFHReY
ezndc1kHICmFWwstN7AyzjR3pumqmy8w3qHG9k38NLHowoT4HofjHKVG
-----END PRIVATE KEY-----
"""
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBWjCCAQCgAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MCAX
DTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDAR0ZXN0
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWyV6MzYZnhDjoAiSr0z8+Z7kRR0X
mHs53XNZByAphVsLLTewMs40d6bpqpsvMN6hxvZN/DSx6MKE+B6H4xylRqNLMEkw
FwYDVR0RBBAwDoIGYS50ZXN0hwR/AAEBMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0O
BBYEFAZ4/djo3KCxQAbifgSVhht7afgNMAoGCCqGSM49BAMCA0gAMEUCIQD0Bong
Q2hxacJQ5nCZMZcPw8iZfkWN2PV1fq3qv3sjlwIgEYJCMlU3c+kSM4dnTGoSLtBJ
ywojFIVUpgkJNUKJZwc=
-----END CERTIFICATE-----
"""

EXPIRED = """-----BEGIN CERTIFICATE-----
MIIBTjCB9aADAgECAgECMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHRlc3QwHhcN
MjAwMTAxMDAwMDAwWhcNMjAwMjAxMDAwMDAwWjAPMQ0wCwYDVQQDDAR0ZXN0MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWyV6MzYZnhDjoAiSr0z8+Z7kRR0XmHs5
3XNZByAphVsLLTewMs40d6bpqpsvMN6hxvZN/DSx6MKE+B6H4xylRqNCMEAwEQYD
VR0RBAowCIIGYS50ZXN0MAwGA1UdEwQFMAMBAf8wHQYDVR0OBBYEFAZ4/djo3KCx
QAbifgSVhht7afgNMAoGCCqGSM49BAMCA0gAMEUCIQDNjCq1NZHeTbRsBzCQCfjI
G4QerZY18nEiNsVQyXUHcgIgSjAlYQmJZfb1n8trv7hSkVLG2aQBB21u1HbNeubm
7eM=
-----END CERTIFICATE-----
"""
"""Of the same key, valid in January 2020."""


class Http2(asyncio.Protocol):
    """A small HTTP/2 server: every path answers with itself."""

    connections = 0

    def __init__(self) -> None:
        type(self).connections += 1
        config = h2.config.H2Configuration(client_side=False)
        self.h2 = h2.connection.H2Connection(config)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.h2.initiate_connection()
        transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                path = dict(event.headers or [])[b":path"]
                assert event.stream_id is not None
                if path == b"/robots.txt":
                    self.h2.send_headers(event.stream_id, [(":status", "404")], end_stream=True)
                else:
                    self.answer(event.stream_id, path)
        self.transport.write(self.h2.data_to_send())

    def answer(self, stream: int, path: bytes) -> None:
        self.h2.send_headers(stream, [(":status", "200"), ("x-odd", "1")])
        self.h2.send_data(stream, path, end_stream=True)


@asynccontextmanager
async def secure(
    tmp_path: Path, *protocols: str, certificate: str = CERTIFICATE, serve: type[Http2] = Http2
) -> AsyncIterator[int]:
    (tmp_path / "key.pem").write_text(KEY)
    (tmp_path / "certificate.pem").write_text(certificate)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    context.set_alpn_protocols(list(protocols))
    loop = asyncio.get_running_loop()
    async with await loop.create_server(serve, "127.0.1.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


class ResetsStream(Http2):
    """Gives every page up with RST_STREAM."""

    def answer(self, stream: int, path: bytes) -> None:
        del path
        self.h2.reset_stream(stream, 2)


class GoesAway(Http2):
    """Gives the whole connection up, with a word."""

    def answer(self, stream: int, path: bytes) -> None:
        del stream, path
        self.h2.close_connection(11)


class HangsUp(Http2):
    """Gives the whole connection up, without a word."""

    def answer(self, stream: int, path: bytes) -> None:
        del stream, path
        self.transport.abort()


class HangsUpWithin(Http2):
    """Gives the connection up within the body."""

    def answer(self, stream: int, path: bytes) -> None:
        del path
        self.h2.send_headers(stream, [(":status", "200")])
        self.h2.send_data(stream, b"half")
        self.transport.write(self.h2.data_to_send())
        self.transport.close()


class Rambles(Http2):
    """Sends data on stream 0, which has none."""

    def answer(self, stream: int, path: bytes) -> None:
        del stream, path
        self.transport.write(b"\0\0\4\0\0\0\0\0\0data")


def trusting(certificate: str = CERTIFICATE) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate)


async def test_https_speaks_http2_over_one_connection(
    tmp_path: Path, fetcher: Open, request_for: Ask
) -> None:
    before = Http2.connections
    async with secure(tmp_path, "h2") as port, fetcher(trusting()) as download:
        bodies = []
        for path in ("/1", "/2"):
            completed = await download.run(request_for(f"https://a.test:{port}{path}"))
            assert completed is not None
            assert completed.reason == "ok"
            assert (completed.headers, completed.status) == ([("x-odd", "1")], 200)
            bodies.append(zstandard.decompress(completed.body))
    assert bodies == [b"/1", b"/2"]
    assert Http2.connections - before == 1


@pytest.mark.parametrize(
    ("serve", "expected"),
    [
        (ResetsStream, ("transient", "connection-reset")),
        (GoesAway, ("transient", "connection-reset")),
        (HangsUp, ("transient", "connection-reset")),
        (HangsUpWithin, ("transient", "incomplete")),
        (Rambles, ("permanent", "protocol-error")),
    ],
)
async def test_an_http2_server_that_gives_up_is_told_from_one_that_cannot_speak(
    tmp_path: Path,
    fetcher: Open,
    request_for: Ask,
    serve: type[Http2],
    expected: tuple[str, str],
) -> None:
    async with secure(tmp_path, "h2", serve=serve) as port, fetcher(trusting()) as download:
        assert came_of(await download.run(request_for(f"https://a.test:{port}/1"))) == expected


@pytest.mark.parametrize(
    "case",
    [
        (CERTIFICATE, None, "a.test"),
        (EXPIRED, EXPIRED, "a.test"),
        (CERTIFICATE, CERTIFICATE, "b.test"),
    ],
    ids=["signed by itself", "expired", "of another name"],
)
async def test_a_certificate_that_cannot_be_trusted_is_permanent(
    tmp_path: Path, fetcher: Open, request_for: Ask, case: tuple[str, str | None, str]
) -> None:
    certificate, trust, host = case
    tls = trusting(trust) if trust else None
    async with secure(tmp_path, "h2", certificate=certificate) as port, fetcher(tls) as download:
        completed = await download.run(request_for(f"https://{host}:{port}/1"))
    assert came_of(completed) == ("permanent", "tls-certificate")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x16\x03\x01\xff"])
async def test_no_tls_behind_https_is_a_tls_failure(
    fetcher: Open, request_for: Ask, answer: bytes
) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()
        writer.transport.abort()

    async with await asyncio.start_server(plain, "127.0.1.1", 0) as server, fetcher() as download:
        port = server.sockets[0].getsockname()[1]
        completed = await download.run(request_for(f"https://a.test:{port}/1"))
    assert came_of(completed) == ("transient", "tls")


async def test_a_tls_handshake_that_never_comes_is_a_connect_timeout(
    fetcher: Open, request_for: Ask
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.transport.abort()

    async with (
        await asyncio.start_server(silent, "127.0.1.1", 0) as server,
        fetcher(connect_timeout=0.2) as download,
    ):
        port = server.sockets[0].getsockname()[1]
        completed = await download.run(request_for(f"https://a.test:{port}/1"))
    assert came_of(completed) == ("transient", "connect-timeout")


async def test_plain_http_to_a_tls_port_is_no_success(
    tmp_path: Path, fetcher: Open, request_for: Ask
) -> None:
    async with secure(tmp_path, "h2") as port, fetcher() as download:
        completed = await download.run(request_for(f"http://a.test:{port}/1"))
    assert completed is not None
    assert completed.outcome.value in {"transient", "permanent"}


async def test_a_distrusted_certificate_is_recorded_where_the_rule_says_so(
    tmp_path: Path, fetcher: Open, request_for: Ask
) -> None:
    """C11: also on a kept connection; a trusted one has nothing to say."""
    rules = '[[rule]]\nhosts = ["b.test"]\ntls = "record"'
    async with (
        secure(tmp_path, "h2") as port,
        fetcher(trusting(), rules=rules) as download,
    ):
        seen = [
            await download.run(request_for(f"https://{host}:{port}/1"))
            for host in ("b.test", "b.test", "a.test")
        ]
    assert [came_of(completed) for completed in seen] == [("ok", "ok")] * 3
    notes = [completed.distrust for completed in seen if completed]
    assert ["b.test" in note for note in notes] == [True, True, False]
    assert notes[2] == ""


class Tunnels:
    """A proxy that connects to the port it is told, on 127.0.1.1."""

    def __init__(self) -> None:
        self.running: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.running.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        port = int(head.split(b" ")[1].rsplit(b":", 1)[1])
        behind, ahead = await asyncio.open_connection("127.0.1.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n")
        await asyncio.gather(self.pipe(reader, ahead), self.pipe(behind, writer))

    async def pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
        except OSError:
            pass
        sink.transport.abort()

    async def ended(self) -> None:
        await asyncio.wait(self.running)
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "case",
    [
        (CERTIFICATE, "", "ok", False),
        (None, "", "tls-certificate", False),
        (None, 'tls = "record"', "ok", True),
    ],
)
async def test_https_goes_through_a_proxys_tunnel(
    tmp_path: Path, fetcher: Open, request_for: Ask, case: tuple[str | None, str, str, bool]
) -> None:
    """C11: HTTP/2 inside; the site's certificate is checked, not the proxy's word."""
    trust, rule, expected, distrusted = case
    tls = trusting(trust) if trust else None
    tunnels = Tunnels()
    async with (
        secure(tmp_path, "h2") as port,
        await asyncio.start_server(tunnels.serve, "127.0.2.1", 0) as proxy,
    ):
        at = proxy.sockets[0].getsockname()[1]
        rules = f'[[rule]]\nhosts = ["*"]\nproxy = "http://127.0.2.1:{at}"\n{rule}'
        async with fetcher(tls, rules=rules) as download:
            completed = await download.run(request_for(f"https://a.test:{port}/1"))
        await tunnels.ended()
    assert completed is not None
    assert (completed.reason, bool(completed.distrust)) == (expected, distrusted)
