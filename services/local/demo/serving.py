"""The child process of the demo web: one event loop, one listening socket per host.

Carries out what answers.py decides: content codings, conditional requests, waiting, dripping,
breaking off. Keeps what answers.py may not: a bounded cache, visit counts, the access log.
"""

import asyncio
import gzip
import logging
import socket
import sys
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO

import brotli  # type: ignore[import-untyped]  # ships no types
import msgspec
import uvicorn

from services.local.demo.access_log import Access
from services.local.demo.answers import answer
from services.local.demo.reply import PAUSE, Reply
from services.local.demo.site import DemoWeb

Scope = dict[str, Any]  # ASGI's own type
Send = Callable[[dict[str, Any]], Awaitable[None]]

CACHE_OCTETS = 64 * 1024 * 1024
_PORT_TRIES = 20
_BACKLOG = 256
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class _Ready:
    """A reply with its coded body, as it lies in the cache."""

    reply: Reply
    coding: str
    body: bytes
    head: list[tuple[bytes, bytes]]


class App:
    """The ASGI application of all hosts."""

    def __init__(self, web: DemoWeb, log: BinaryIO | None) -> None:
        self._web = web
        self._log = log
        self._visits: Counter[tuple[int, str]] = Counter()
        self._cache: OrderedDict[tuple[int, str, int, str], _Ready] = OrderedDict()
        self._cached = 0

    async def __call__(self, scope: Scope, _receive: object, send: Send) -> None:
        """One request."""
        start = time.time()
        host = self._web.host_at(scope["server"][0])
        assert host is not None  # noqa: S101 - we listen on our own addresses only
        target = scope["raw_path"].decode("latin-1")
        if scope["query_string"]:
            target += "?" + scope["query_string"].decode("latin-1")
        headers = dict(scope["headers"])
        status = 0
        try:
            if self._web.role(host) == "slow":
                await asyncio.sleep(self._web.slow)
            ready = self._ready(host, target, headers.get(b"accept-encoding", b""), start)
            status = _NOT_MODIFIED if _holds(ready.reply, headers) else ready.reply.status
            await _respond(ready, status, send)
        finally:
            self._note(
                Access(
                    start=start,
                    end=time.time(),
                    host=self._web.authority(host),
                    method=scope["method"],
                    path=target,
                    status=status,
                    conditional=_is_conditional(headers),
                )
            )

    def _ready(self, host: int, target: str, accepted: bytes, now: float) -> _Ready:
        """The reply, from the cache if it is the same for every visit."""
        page = self._web.find(host, target)
        key = None
        if page is not None and self._web.change(host, page) != "noise":
            version = self._web.version(host, page, now).number
            key = (host, target, version, accepted.decode("latin-1"))
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        visit = self._visits[host, target]
        if page is None or key is None:
            self._visits[host, target] += 1
        ready = _prepare(answer(self._web, host, target, now, visit), accepted)
        if key is not None:
            self._keep(key, ready)
        return ready

    def _keep(self, key: tuple[int, str, int, str], ready: _Ready) -> None:
        self._cache[key] = ready
        self._cached += len(ready.body)
        while self._cached > CACHE_OCTETS:
            _, old = self._cache.popitem(last=False)
            self._cached -= len(old.body)

    def _note(self, access: Access) -> None:
        """One line of the log, written at once so that readers see it."""
        if self._log is not None:
            self._log.write(msgspec.json.encode(access) + b"\n")


def _prepare(reply: Reply, accepted: bytes) -> _Ready:
    """Codes the body and writes the header fields."""
    coding = reply.coding if reply.body and _accepts(accepted, reply.coding) else ""
    body = _code(coding, reply.body)
    # A weak tag: the octets differ by coding (RFC 9110 8.8.3.3).
    fields = [
        ("Content-Type", reply.content_type),
        ("Content-Encoding", coding),
        ("ETag", f"W/{reply.etag}" if coding and reply.etag else reply.etag),
        (
            "Last-Modified",
            "" if reply.modified is None else formatdate(reply.modified, usegmt=True),
        ),
        *reply.headers,
    ]
    head = [(name.encode(), value.encode("latin-1")) for name, value in fields if value]
    # The cache need not hold the plain body too.
    return _Ready(replace(reply, body=b""), coding, body, head)


def _accepts(accepted: bytes, coding: str) -> bool:
    offers = [offer.strip() for offer in accepted.decode("latin-1").lower().split(",")]
    return bool(coding) and any(
        name.strip() == coding and "q=0" not in weight.replace("q=0.", "")
        for name, _, weight in (offer.partition(";") for offer in offers)
    )


def _code(coding: str, body: bytes) -> bytes:
    """Fast levels: the demo's time is not to be spent here."""
    match coding:
        case "gzip":
            return gzip.compress(body, compresslevel=1, mtime=0)
        case "deflate":
            return zlib.compress(body, 1)
        case "br":
            return bytes(brotli.compress(body, quality=1))
        case _:
            return body


def _is_conditional(headers: dict[bytes, bytes]) -> bool:
    return b"if-none-match" in headers or b"if-modified-since" in headers


def _holds(reply: Reply, headers: dict[bytes, bytes]) -> bool:
    """Whether the client's validators still hold (RFC 9110 13.2.2)."""
    if b"if-none-match" in headers:
        tags = headers[b"if-none-match"].decode("latin-1").split(",")
        return bool(reply.etag) and reply.etag in (tag.strip().removeprefix("W/") for tag in tags)
    if b"if-modified-since" in headers and reply.modified is not None:
        try:
            since = parsedate_to_datetime(headers[b"if-modified-since"].decode("latin-1"))
        except ValueError:
            return False
        return reply.modified <= since.timestamp()
    return False


async def _respond(ready: _Ready, status: int, send: Send) -> None:
    body, head = ready.body, ready.head
    if status == _NOT_MODIFIED:
        body = b""
    else:
        head = [*head, (b"Content-Length", b"%d" % (len(body) + ready.reply.missing))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    size = -(-len(body) // ready.reply.pieces) or 1
    pieces = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(PAUSE)
    # With octets missing we return in the middle of the body, and uvicorn hangs up.
    more = bool(ready.reply.missing)
    await send({"type": "http.response.body", "body": pieces[-1], "more_body": more})


def listen(web: DemoWeb) -> tuple[DemoWeb, list[socket.socket]]:
    """Binds the web's port on each of its addresses, or another that is free on all of them.

    Returns the web with the port it got, and one socket per host.

    Raises:
        OSError: no port is free on all addresses, or they are not this machine's.
    """
    wanted = web.port
    for _ in range(_PORT_TRIES):
        sockets: list[socket.socket] = []
        try:
            port = wanted
            for host in range(web.hosts):
                sockets.append(_bind(web.address(host), port))
                port = sockets[0].getsockname()[1]
        except OSError as error:
            for bound in sockets:
                bound.close()
            wanted, failure = 0, error
        else:
            return replace(web, port=port), sockets
    raise failure


def _bind(address: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


async def run(
    web: DemoWeb, log: Path | None, ready: Callable[[DemoWeb], None], *, with_parent: bool
) -> None:
    """Serves until SIGINT or SIGTERM, and `with_parent` until standard input ends, too.

    Calls `ready` with the web as it is served (with its real port) once all sockets listen.

    Raises:
        OSError: as `listen`, or the log cannot be written.
    """
    web, sockets = listen(web)
    with log.open("ab", buffering=0) if log else nullcontext() as file:
        server = uvicorn.Server(
            uvicorn.Config(
                App(web, file),
                http="httptools",
                loop="asyncio",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level=logging.CRITICAL,  # it would report each body that breaks off
                access_log=False,
                server_header=False,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=1,
            )
        )
        if with_parent:
            asyncio.get_running_loop().add_reader(sys.stdin, _end, server)
        ready(web)
        await server.serve(sockets=sockets)


def _end(server: uvicorn.Server) -> None:
    """Nothing is ever written to standard input: it is readable when the parent is gone."""
    asyncio.get_running_loop().remove_reader(sys.stdin)
    server.should_exit = True
