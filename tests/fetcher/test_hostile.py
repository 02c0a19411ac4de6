"""What servers do to a fetcher: one case each, by raw octets on real sockets.

Whatever the case, the fetcher comes back before its deadline with the right outcome, and the
next request to the same host gets its own answer.
"""

import asyncio
import gzip
import socket
import struct
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import brotli  # type: ignore[import-untyped] # the library has no types
import pytest
import zstandard

from services.common.records import FetchCompleted, FetchRequested
from services.fetcher.download import Download
from services.fetcher.turns import PATIENCE

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Open = Callable[..., AbstractAsyncContextManager[Download]]
Ask = Callable[..., FetchRequested]

DEADLINE = 1.0
READ_TIMEOUT = 0.25
HANG = 20
"""Seconds after which a test counts as hanging: far beyond any deadline, on any machine."""
NEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nits own p"
CLOSED = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TEXT = b"<p>text</p>" * 300
ZEROS = b"\0" * (32 << 20)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass
class Case:
    """What the server answers to one request, and what must come of it."""

    name: str
    send: bytes | Script
    outcome: str
    reason: str
    size: int | None = None
    """Of the body that is reported."""
    truncated: bool = False
    status: int | None = None
    expect: dict[str, object] = field(default_factory=dict)
    """More fields of the record."""
    close: bool = True
    """The server closes after `send`; else it goes on serving the connection."""
    options: dict[str, Any] = field(default_factory=dict)
    """Settings that matter here."""


def ok(body: bytes = b"", *lines: str) -> bytes:
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def coded(coding: str, wire: bytes) -> bytes:
    return ok(wire, f"Content-Encoding: {coding}")


def status(line: str, *lines: str, body: bytes = b"") -> bytes:
    head = [f"HTTP/1.1 {line}", *lines, f"Content-Length: {len(body)}"]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def waits(value: str, code: int = 429) -> bytes:
    return status(f"{code} X", f"Retry-After: {value}")


def drips(head: bytes, octet: bytes = b"x", every: float = 0.02) -> Script:
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(octet)
            await writer.drain()
            await asyncio.sleep(every)

    return script


def floods(head: bytes, block: bytes) -> Script:
    return drips(head, block, every=0)


def holds(head: bytes) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await reader.read()

    return script


def resets(head: bytes) -> Script:
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        # What was sent must arrive before the reset overtakes it.
        await asyncio.sleep(0.1 if head else 0)
        sock = writer.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return script


BROTLI_BOMB = brotli.compress(ZEROS, quality=1)
ZSTD_BOMB = zstandard.compress(ZEROS)
GZIP_BOMB = gzip.compress(ZEROS, 9)
BAD_CRC = gzip.compress(TEXT)[:-8] + b"\0" * 8
SMALL: dict[str, Any] = {"max_body": 100_000}
LATE = ("transient", "total-timeout")
REFUSED = ("permanent", "protocol-error")
NOWHERE = ("permanent", "redirect-without-location")
CUT = ("transient", "incomplete")

CASES = [
    # drips and endless things
    Case("drips the status line", drips(b"", b"H"), *REFUSED),
    Case("drips spaces within the status line", drips(b"HTTP/1.1", b" "), *LATE),
    Case("drips headers", drips(OK + b"X: "), *LATE),
    Case("drips whole header lines", drips(OK, b"X: y\r\n"), *LATE),
    Case("drips the body for ever", drips(OK + b"\r\n"), *LATE, truncated=True, status=200),
    Case(
        "drips a body of known length",
        drips(OK + b"Content-Length: 99999\r\n\r\n"),
        *LATE,
        truncated=True,
    ),
    Case("drips chunks of one octet", drips(CHUNKED, b"1\r\nx\r\n"), *LATE, truncated=True),
    Case("drips a chunk's size", drips(CHUNKED, b"0"), *LATE, truncated=True),
    Case("drips interim responses", drips(b"", b"HTTP/1.1 102 X\r\n\r\n"), *REFUSED),
    Case("drips trailers", drips(CHUNKED + b"0\r\n", b"X: y\r\n"), *LATE, truncated=True),
    Case(
        "drips after an empty body", drips(OK + b"Content-Length: 0\r\n\r\n"), "ok", "ok", size=0
    ),
    Case("says nothing", holds(b""), "transient", "read-timeout"),
    Case("says half a head and nothing more", holds(OK), "transient", "read-timeout"),
    Case(
        "says half a body and nothing more",
        holds(OK + b"Content-Length: 9\r\n\r\nhalf"),
        "transient",
        "read-timeout",
        truncated=True,
    ),
    Case("an endless body", floods(OK + b"\r\n", b"x" * 65536), "ok", "size-limit", 100_000,
         truncated=True, options=SMALL),
    Case("an endless chunked body", floods(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
         "ok", "size-limit", 100_000, truncated=True, options=SMALL),
    Case("endless headers", floods(OK, b"X: " + b"y" * 8000 + b"\r\n"),
         "policy", "headers-too-large"),
    Case("one endless header", floods(OK + b"X: ", b"y" * 65536), "policy", "headers-too-large"),
    Case("an endless status line", floods(b"HTTP/1.1 200 ", b"y" * 65536),
         "policy", "headers-too-large"),
    Case("endless interim responses", floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50), *REFUSED),
    Case("an endless interim head", floods(b"HTTP/1.1 103 X\r\n", b"Link: </x>\r\n" * 500),
         "policy", "headers-too-large"),
    Case("an endless chunk extension", floods(CHUNKED + b"1;", b"x" * 65536), *CUT,
         truncated=True),
    Case("endless trailers", floods(CHUNKED + b"0\r\n", b"X: " + b"y" * 8000 + b"\r\n"), *CUT,
         truncated=True),
    Case("an endless body of an error", floods(b"HTTP/1.1 404 X\r\n\r\n", b"x" * 65536),
         "gone", "not-found", status=404),
    Case("an endless body of a redirect",
         floods(b"HTTP/1.1 302 X\r\nLocation: /y\r\n\r\n", b"x" * 65536), "moved", "redirect"),
    # sizes of heads
    Case("a header of 20 KB", OK + b"X: " + b"x" * 20_000 + b"\r\n\r\n", "ok", "ok"),
    Case("a header of 70 KB", OK + b"X: " + b"x" * 70_000 + b"\r\n\r\n",
         "policy", "headers-too-large"),
    Case("a header of 100 KB", OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
         "policy", "headers-too-large"),
    Case("a header of 200 KB", OK + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
         "policy", "headers-too-large"),
    Case("500 headers", OK + b"X: y\r\n" * 500 + b"\r\n", "ok", "ok"),
    Case("20,000 headers", OK + b"X: y\r\n" * 20_000 + b"\r\n", "policy", "headers-too-large"),
    # bombs
    Case("a gzip bomb", coded("gzip", GZIP_BOMB), "ok", "size-limit", 100_000,
         truncated=True, options=SMALL),
    Case("a bomb in a bomb", coded("gzip, gzip", gzip.compress(GZIP_BOMB, 9)),
         "ok", "size-limit", 100_000, truncated=True, options=SMALL),
    Case("a brotli bomb", coded("br", BROTLI_BOMB), "ok", "size-limit", 100_000, truncated=True,
         options=SMALL),
    Case("a zstd bomb", coded("zstd", ZSTD_BOMB), "ok", "size-limit", 100_000,
         truncated=True, options=SMALL),
    Case("a deflate bomb", coded("deflate", zlib.compress(ZEROS, 9)), "ok", "size-limit", 100_000,
         truncated=True, options=SMALL),
    Case("a raw deflate bomb", coded("deflate", zlib.compress(ZEROS, 9)[2:-4]),
         "ok", "size-limit", 100_000, truncated=True, options=SMALL),
    Case("a bomb of empty gzip members",
         floods(OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 500),
         "ok", "size-limit", 0, truncated=True, options=SMALL),
    # codings that lie
    Case("whole gzip by its old name", coded("x-gzip", gzip.compress(TEXT)), "ok", "ok", len(TEXT)),
    Case("two gzip members", coded("gzip", gzip.compress(TEXT) * 2), "ok", "ok", 2 * len(TEXT)),
    Case("gzip and dirt", coded("gzip", gzip.compress(TEXT) + b"<!-- x -->"), "ok", "ok",
         len(TEXT)),
    Case("gzip without its trailer", coded("gzip", gzip.compress(TEXT)[:-8]), "ok", "no-trailer",
         len(TEXT), truncated=True),
    Case("gzip cut in the middle", coded("gzip", gzip.compress(TEXT)[:30]), *CUT, truncated=True),
    Case("gzip cut within the second member",
         coded("gzip", gzip.compress(TEXT) + gzip.compress(TEXT)[:30]), *CUT, truncated=True),
    Case("gzip with a wrong checksum", coded("gzip", BAD_CRC), "transient", "corrupt",
         truncated=True),
    Case("gzip of nothing at all", coded("gzip", b""), "ok", "ok", 0),
    Case("plain text labelled gzip", coded("gzip", TEXT), "transient", "corrupt", truncated=True),
    Case("plain text labelled br", coded("br", TEXT), "transient", "corrupt", truncated=True),
    Case("plain text labelled zstd", coded("zstd", TEXT), "transient", "corrupt", truncated=True),
    Case("brotli cut short", coded("br", brotli.compress(TEXT)[:-3]), *CUT, truncated=True),
    Case("zstd cut short", coded("zstd", zstandard.compress(TEXT)[:-3]), *CUT, truncated=True),
    Case("gzip labelled as nothing", ok(gzip.compress(TEXT, mtime=0)), "ok", "ok",
         len(gzip.compress(TEXT, mtime=0))),
    Case("an unknown coding", coded("compress", b"x"), "permanent", "unsupported-coding"),
    Case("a coding without a name", coded(",", TEXT), "ok", "ok", len(TEXT)),
    Case("a charset as the coding", coded("utf-8", TEXT), "ok", "ok", len(TEXT)),
    Case("three codings", coded("gzip, br, zstd", zstandard.compress(
        brotli.compress(gzip.compress(TEXT)))), "ok", "ok", len(TEXT)),
    Case("four codings", coded("gzip, gzip, gzip, gzip", b"x"), "permanent", "unsupported-coding"),
    Case("codings in two headers",
         ok(brotli.compress(gzip.compress(TEXT)), "Content-Encoding: gzip",
            "Content-Encoding: br"), "ok", "ok", len(TEXT)),
    # lengths that lie
    Case("a body shorter than announced", OK + b"Content-Length: 9\r\n\r\nhalf", *CUT,
         truncated=True),
    Case("a body longer than announced",
         OK + b"Content-Length: 4\r\n\r\nbodyHTTP/1.1 500 X\r\n\r\n", "ok", "ok", 4, close=False),
    Case("a length of letters", OK + b"Content-Length: x\r\n\r\n", *REFUSED),
    Case("a negative length", OK + b"Content-Length: -1\r\n\r\nx", *REFUSED),
    Case("a length with a plus", OK + b"Content-Length: +1\r\n\r\nx", *REFUSED),
    Case("an empty length", OK + b"Content-Length:\r\n\r\nx", *REFUSED),
    Case("a length of 40 digits", OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\nx", *REFUSED),
    Case("a length of 15 digits", OK + b"Content-Length: " + b"9" * 15 + b"\r\n\r\nx", *CUT,
         truncated=True),
    Case("two different lengths", OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
         *REFUSED),
    Case("the same length twice", OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nxx",
         "ok", "ok", 2),
    Case("a list of one length", OK + b"Content-Length: 2, 2\r\n\r\nxx", "ok", "ok", 2),
    Case("a list of two lengths", OK + b"Content-Length: 2, 3\r\n\r\nxx", *REFUSED),
    Case("no length, then the end", OK + b"\r\nbody", "ok", "ok", 4),
    Case("a length and chunks", OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"4\r\nbody\r\n0\r\n\r\n", "ok", "ok", 4),
    # chunks that lie
    Case("chunks without the last", CHUNKED + b"4\r\nbody\r\n", *CUT, truncated=True),
    Case("a chunk that ends early", CHUNKED + b"ff\r\nbody", *CUT, truncated=True),
    Case("a chunk size that is none", CHUNKED + b"zz\r\nbody\r\n0\r\n\r\n", *CUT, truncated=True),
    Case("a huge chunk size", CHUNKED + b"f" * 30 + b"\r\nbody", *CUT, truncated=True),
    Case("a chunk without its end", CHUNKED + b"4\r\nbodyX0\r\n\r\n", *CUT, truncated=True),
    Case("chunks with trailers", CHUNKED + b"4\r\nbody\r\n0\r\nContent-Length: 9\r\nX: y\r\n\r\n",
         "ok", "ok", 4, close=False),
    Case("chunks with extensions", CHUNKED + b'4;a="b"\r\nbody\r\n0\r\n\r\n', "ok", "ok", 4),
    Case("no chunk at all", CHUNKED, *CUT, truncated=True),
    Case("an unknown transfer coding", OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
         *REFUSED),
    Case("two transfer codings", OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n",
         *REFUSED),
    # status lines
    Case("status 600", status("600 X"), "permanent", "unknown-status", status=600),
    Case("status 999", status("999 Denied"), "permanent", "unknown-status", status=999),
    Case("status 99", status("99 X"), *REFUSED),
    Case("status 2000", status("2000 X"), *REFUSED),
    Case("no status", b"HTTP/1.1 OK\r\n\r\n", *REFUSED),
    Case("no reason", status("200"), "ok", "ok", 0),
    Case("a reason in raw octets", status("200 \xe9\x01"), "ok", "ok", 0),
    Case("HTTP/2.0 on TCP", b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "ok", "ok", 0),
    Case("HTTP/3.7", b"HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n", "ok", "ok", 0),
    Case("http in lower case", b"http/1.1 200 ok\r\nContent-Length: 2\r\n\r\nhi", "ok", "ok", 2),
    Case("ICY", b"ICY 200 OK\r\nicy-name: radio\r\n\r\nhi", "ok", "ok", 2),
    Case("an empty line first", b"\r\n" + ok(b"hi"), "ok", "ok", 2),
    Case("many empty lines first", b"\r\n" * 9 + ok(b"hi"), *REFUSED),
    Case("bare line feeds", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "ok", "ok", 2),
    Case("HTTP/0.9", b"<html>page</html>", *REFUSED),
    Case("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n", *REFUSED),
    Case("a TLS alert on a plain port", b"\x15\x03\x01\x00\x02\x02\x46", *REFUSED),
    Case("an HTTP/2 preface on a plain port", b"\0\0\6\4\0\0\0\0\0\0\3\0\0\0d", *REFUSED),
    Case("octets of no meaning", bytes(range(256)) * 4, *REFUSED),
    Case("our own request sent back", b"GET /p HTTP/1.1\r\nHost: a.test\r\n\r\n", *REFUSED),
    # interim and special statuses
    Case("early hints", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok(b"hi"), "ok", "ok",
         2, close=False),
    Case("100 Continue unasked, thrice", b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + ok(b"hi"),
         "ok", "ok", 2, close=False),
    Case("interim, then nothing", b"HTTP/1.1 100 Continue\r\n\r\n", "transient", "empty-response"),
    Case("an upgrade unasked", b"HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n", *REFUSED),
    Case("204 with a body", b"HTTP/1.1 204 X\r\nContent-Length: 4\r\n\r\nbody", "ok", "ok", 0),
    Case("204 with a body, connection kept", b"HTTP/1.1 204 X\r\nContent-Length: 9\r\n\r\n"
         b"HTTP/1.1 500 X\r\n\r\n", "ok", "ok", 0, close=False),
    Case("205 with a body", b"HTTP/1.1 205 X\r\nContent-Length: 4\r\n\r\nbody", "ok", "ok", 4),
    Case("304 unasked with a body", b"HTTP/1.1 304 X\r\nContent-Length: 4\r\n\r\nbody",
         "permanent", "unknown-status", close=False),
    Case("206 unasked", status("206 X", "Content-Range: bytes 0-3/9", body=b"body"), "ok", "ok", 4),
    Case("416 unasked", status("416 X"), "permanent", "client-error"),
    # redirects
    Case("a redirect without Location", status("302 X"), *NOWHERE),
    Case("an empty Location", status("302 X", "Location: "), *NOWHERE),
    Case("a Location of spaces", status("302 X", "Location:    \t "), *NOWHERE),
    Case("a bad Location", status("302 X", "Location: http://[x/"), *NOWHERE),
    Case("a relative Location", status("301 X", "Location: ../q?x=1#y"), "moved", "redirect"),
    Case("a Location of another scheme", status("302 X", "Location: mailto:x@y.test"), *NOWHERE),
    Case("a script as Location", status("302 X", "Location: javascript:alert(1)"), *NOWHERE),
    Case("a Location in UTF-8", status("302 X", "Location: /\xc3\xa9"), "moved", "redirect"),
    Case("two Locations", status("302 X", "Location: http://b.test/1", "Location: /2"),
         "moved", "redirect", expect={"location": "http://b.test/1"}),
    Case("a Location of a 200", ok(b"hi", "Location: /y"), "ok", "ok", 2,
         expect={"location": None}),
    Case("a Location of 60 KB", status("302 X", "Location: /" + "y" * 60_000), "moved", "redirect"),
    Case("a Location with NUL", b"HTTP/1.1 302 X\r\nLocation: /a\0b\r\nContent-Length: 0\r\n\r\n",
         *NOWHERE),
    Case("304 with a Location", status("304 X", "Location: /y"), "permanent", "unknown-status"),
    Case("306", status("306 X", "Location: /y"), *NOWHERE),
    # header lines
    Case("NUL in a value", OK + b"X-A: a\0b\r\nContent-Length: 2\r\n\r\nhi", "ok", "ok", 2),
    Case("control octets in a value", OK + b"X: \x01\x7f\x1b[0m\r\n\r\nhi", "ok", "ok", 2),
    Case("Latin-1 in a value", OK + b"X: caf\xe9\r\n\r\nhi", "ok", "ok", 2),
    Case("a folded header", OK + b"X: a\r\n  b\r\nContent-Length: 2\r\n\r\nhi", "ok", "ok", 2),
    Case("a folded length", OK + b"Content-Length:\r\n 2\r\n\r\nhi", "ok", "ok", 2),
    Case("a fold first", OK + b" X: a\r\n\r\nhi", "ok", "ok", 2),
    Case("a space before a colon", OK + b"X-Foo : bar\r\n\r\nhi", "ok", "ok", 2),
    Case("a space before the length's colon", OK + b"Content-Length : 0\r\n\r\nhi", *REFUSED),
    Case("a space before the coding's colon", OK + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
         *REFUSED),
    Case("a tab before the length's colon", OK + b"Content-Length\t: 0\r\n\r\nhi", *REFUSED),
    Case("a warning among the headers", OK + b"PHP Warning:  x\r\n\r\nhi", "ok", "ok", 2),
    Case("a line without a colon", OK + b"garbage\r\n\r\nhi", "ok", "ok", 2),
    Case("a header without a name", OK + b": x\r\n\r\nhi", "ok", "ok", 2),
    Case("a path as a name", OK + b"get-ban/forum.php: x\r\n\r\nhi", "ok", "ok", 2),
    Case("a cookie with control octets", OK + b"Set-Cookie: a=b\x01c\r\n\r\nhi", "ok", "ok", 2),
    Case("bare carriage returns", OK + b"X: a\rContent-Length: 0\r\n\r\nhi", "ok", "ok", 2),
    Case("content types of no sense", ok(b"hi", "Content-Type: ", "Content-Type: \xff/;;;=",
                                         "Content-Type: text/html; charset=\x01"), "ok", "ok", 2),
    Case("headers many times over", ok(b"hi", *["ETag: x", "Set-Cookie: a=b"] * 50), "ok", "ok", 2),
    # connections
    Case("close without a word", b"", "transient", "empty-response"),
    Case("close within the head", OK + b"X: y", "transient", "connection-reset"),
    Case("reset without a word", resets(b""), "transient", "connection-reset"),
    Case("reset within the head", resets(OK + b"X: y"), "transient", "connection-reset"),
    Case("reset after the head", resets(OK + b"Content-Length: 9\r\n\r\n"), *CUT, truncated=True),
    Case("reset within the body", resets(OK + b"Content-Length: 9\r\n\r\nhalf"), *CUT,
         truncated=True),
    Case("reset within a body of no length", resets(OK + b"\r\nhalf"), *CUT, truncated=True),
    Case("reset within a chunk", resets(CHUNKED + b"ff\r\nhalf"), *CUT, truncated=True),
    Case("reset after the whole body", resets(ok(b"body")), "ok", "ok", 4),
    Case("two answers at once", ok(b"hi") + status("500 X"), "ok", "ok", 2, close=False),
    Case("three answers at once", ok(b"hi") + ok(b"not yours") * 2, "ok", "ok", 2, close=False),
    Case("an answer after an error", status("404 X") + ok(b"not yours"), "gone", "not-found",
         close=False),
    Case("line ends after the answer", ok(b"hi") + b"\r\n\r\n", "ok", "ok", 2, close=False),
    Case("keep-alive, then closed", ok(b"hi", "Connection: keep-alive"), "ok", "ok", 2),
    Case("close, but kept open", ok(b"hi", "Connection: close") + b"HTTP/1.1 500 X\r\n\r\n",
         "ok", "ok", 2, close=False),
    Case("HTTP/1.0 with keep-alive", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
         b"Content-Length: 2\r\n\r\nhi", "ok", "ok", 2, close=False),
    # statuses that ask for time
    Case("429 for two minutes", waits("120"), "blocked", "too-many-requests",
         expect={"retry_after": 120.0}),
    Case("503 for two minutes", waits("120", 503), "blocked", "unavailable",
         expect={"retry_after": 120.0}),
    Case("429 for zero", waits("0"), "blocked", "too-many-requests", expect={"retry_after": None}),
    Case("429 for less than nothing", waits("-5"), "blocked", "too-many-requests",
         expect={"retry_after": None}),
    Case("429 for three years", waits("99999999"), "blocked", "too-many-requests",
         expect={"retry_after": 86_400.0}),
    Case("429 until a day gone by", waits("Mon, 01 Jan 2024 00:00:00 GMT"), "blocked",
         "too-many-requests", expect={"retry_after": None}),
    Case("429 until far away", waits("Tue, 02-Jan-68 00:05:00 GMT"), "blocked",
         "too-many-requests", expect={"retry_after": 86_400.0}),
    Case("503 for a word", waits("abc", 503), "blocked", "unavailable",
         expect={"retry_after": None}),
    Case("429 for a fraction", waits("1.5"), "blocked", "too-many-requests",
         expect={"retry_after": None}),
    Case("429 for two times", waits("120, 60"), "blocked", "too-many-requests",
         expect={"retry_after": 120.0}),
    Case("429 for 10,000 digits", waits("9" * 10_000), "blocked", "too-many-requests",
         expect={"retry_after": 86_400.0}),
    Case("200 with a wait", ok(b"hi", "Retry-After: 120"), "ok", "ok", 2,
         expect={"retry_after": None}),
]  # fmt: skip


@asynccontextmanager
async def server(case: Case) -> AsyncIterator[int]:
    """Answers /p as `case` says, /next in good order; gives its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1]
        if path != b"/p":
            writer.write(NEXT if path == b"/next" else CLOSED)
            return path == b"/next"
        if not isinstance(case.send, bytes):
            await case.send(reader, writer)
            return False
        writer.write(case.send)
        await writer.drain()
        return not case.close

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await answer(reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.1.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]


async def met(case: Case, fetcher: Open, request_for: Ask) -> tuple[FetchCompleted, FetchCompleted]:
    """What came of the case, and of the request after it."""
    # Each case can run into its own time limit only, however slow the machine.
    patience = {
        "read_timeout": READ_TIMEOUT if case.reason == "read-timeout" else HANG,
        "total_timeout": DEADLINE if case.reason == "total-timeout" else HANG,
    }
    async with (
        server(case) as port,
        asyncio.timeout(HANG),
        fetcher(**(patience | case.options)) as download,
    ):
        first = await download.run(request_for(f"http://a.test:{port}/p"))
        second = await download.run(request_for(f"http://a.test:{port}/next"))
    assert first is not None
    assert second is not None
    return first, second


def test_the_suite_is_as_large_as_promised() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_server_that(case: Case, fetcher: Open, request_for: Ask) -> None:
    """C6, C9, HTTP-01, HTTP-03, HTTP-05, HTTP-07, HTTP-11."""
    first, second = await met(case, fetcher, request_for)
    assert (first.outcome.value, first.reason, first.truncated) == (
        case.outcome,
        case.reason,
        case.truncated,
    )
    assert case.size in {None, first.size}
    assert case.status in {None, first.status}
    assert {name: getattr(first, name) for name in case.expect} == case.expect
    if (first.retry_after or 0) > PATIENCE:  # nothing is sent before that time (D6)
        assert second.reason == "held-back"
    else:
        assert (second.reason, zstandard.decompress(second.body)) == ("ok", b"its own p")


HUNGRY = [case for case in CASES if "bomb" in case.name or "endless" in case.name]


@pytest.mark.parametrize("case", HUNGRY, ids=lambda case: case.name)
async def test_memory_stays_small_with(case: Case, fetcher: Open, request_for: Ask) -> None:
    """C9: with a body limit of 100 KB, a few buffers and no more, server's included."""
    tracemalloc.start()
    try:
        await met(case, fetcher, request_for)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
