"""An httpx transport with one httpcore connection per origin and no pool.

A connection is taken out while its response is being read, and kept open for a while after, in
case the host has more work. Decides nothing about requests.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, cast

import httpcore
import httpx

from services.fetcher.host_rules import Options
from services.fetcher.network import Network, Target
from services.fetcher.stream import Lenient, Stream

KEEP = 15.0
"""Seconds that an unused connection stays open."""

_Origin = tuple[bytes, bytes, int]
_DEFAULT_PORTS = {b"http": 80, b"https": 443}
_GONE = (
    httpcore.ReadError,
    httpcore.WriteError,
    httpcore.RemoteProtocolError,
    httpcore.ConnectionNotAvailable,
)


class Connections(httpx.AsyncBaseTransport):
    """Sends requests to any number of hosts over kept connections, HTTP/2 where offered."""

    def __init__(self, network: Network, keep: int) -> None:
        """Keep at most `keep` unused connections open."""
        self._network = network
        self._keep = keep
        self._idle: OrderedDict[_Origin, _Open] = OrderedDict()
        self._sweeper: asyncio.TimerHandle | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` without following anything; its extensions must hold all timeouts.

        A kept connection that the server has closed in the meantime costs one more try on a
        fresh one. Raises FetchFailed while connecting, httpcore's errors after that.
        """
        url = request.url
        origin = (url.raw_scheme, url.raw_host, url.port or _DEFAULT_PORTS[url.raw_scheme])
        outgoing = _outgoing(request, origin)
        kept = self._idle.pop(origin, None)
        if kept is not None and kept.connection.has_expired():
            kept.stream.abort()
        elif kept is not None:
            try:
                return await self._exchange(kept, outgoing)
            except _GONE:
                pass
        fresh = await self._open(
            origin, request.extensions["timeout"]["connect"], request.extensions["options"]
        )
        return await self._exchange(fresh, outgoing)

    async def aclose(self) -> None:
        """Close all that is open and unused."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        while self._idle:
            self._idle.popitem()[1].stream.abort()

    def release(self, used: "_Open") -> None:
        """Take a connection back after its response."""
        if used.origin in self._idle or not _usable(used.connection):
            used.stream.abort()
            return
        self._idle[used.origin] = used
        if len(self._idle) > self._keep:
            self._idle.popitem(last=False)[1].stream.abort()
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(KEEP, self._sweep)

    async def _open(self, origin: _Origin, seconds: float, options: Options) -> "_Open":
        scheme, host, port = origin
        target = Target(
            hostname=host.decode("ascii"), port=port, secure=scheme == b"https", options=options
        )
        stream = await self._network.connect(target, seconds)
        return _Open(origin, _connection(origin, stream), stream)

    async def _exchange(self, used: "_Open", request: httpcore.Request) -> httpx.Response:
        try:
            response = await used.connection.handle_async_request(request)
        except BaseException:
            used.stream.abort()
            raise
        body = _Body(self, used, cast("_ClosingStream", response.stream))
        extensions = {"address": used.stream.address, "distrust": used.stream.distrust}
        return httpx.Response(
            response.status, headers=response.headers, stream=body, extensions=extensions
        )

    def _sweep(self) -> None:
        self._sweeper = None
        for used in [used for used in self._idle.values() if used.connection.has_expired()]:
            del self._idle[used.origin]
            used.stream.abort()
        if self._idle:
            self._sweeper = asyncio.get_running_loop().call_later(KEEP, self._sweep)


class _Http11(httpcore.AsyncHTTP11Connection):
    """HTTP/1.1 that looks over its responses' heads first."""

    def __init__(self, origin: _Origin, stream: Stream) -> None:
        self._lenient = Lenient(stream, self.MAX_INCOMPLETE_EVENT_SIZE)
        super().__init__(httpcore.Origin(*origin), self._lenient, keepalive_expiry=KEEP)

    def is_sound(self) -> bool:
        """Whether the responses so far were what they said, and nothing follows them.

        Octets after a response would otherwise be taken as the answer to the next request.
        """
        return not self._lenient.mended and not self._h11_state.trailing_data[0]


def _connection(origin: _Origin, stream: Stream) -> "_Http11 | httpcore.AsyncHTTP2Connection":
    ssl_object = stream.get_extra_info("ssl_object")
    if ssl_object is not None and ssl_object.selected_alpn_protocol() == "h2":
        return httpcore.AsyncHTTP2Connection(
            httpcore.Origin(*origin), stream, keepalive_expiry=KEEP
        )
    return _Http11(origin, stream)


def _usable(connection: "_Http11 | httpcore.AsyncHTTP2Connection") -> bool:
    if isinstance(connection, _Http11) and not connection.is_sound():
        return False
    return connection.is_idle() and not connection.has_expired()


@dataclass(slots=True)
class _Open:
    """A connection with the stream under it."""

    origin: _Origin
    connection: _Http11 | httpcore.AsyncHTTP2Connection
    stream: Stream


class _ClosingStream(Protocol):
    """What httpcore's connections give as a response's stream."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class _Body(httpx.AsyncByteStream):
    """A response's octets as they come; gives the connection back when closed."""

    def __init__(self, owner: Connections, used: _Open, stream: _ClosingStream) -> None:
        self._owner = owner
        self._used = used
        self._stream = stream
        self._read = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part
        self._read = True

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self._read:
            self._owner.release(self._used)
        else:  # over HTTP/2 the rest would still come
            self._used.stream.abort()


def _outgoing(request: httpx.Request, origin: _Origin) -> httpcore.Request:
    """The request in httpcore's words; `target` in the extensions goes out as it is.

    A proxy that sees the request, since there is no tunnel, gets the whole URL (RFC 9112, 3.2.2).
    """
    target = request.extensions.get("target") or request.url.raw_path
    headers = request.headers.raw
    proxy = request.extensions["options"].proxy
    if proxy is not None and origin[0] == b"http":
        target = b"http://" + request.headers["host"].encode("ascii") + target
        if proxy.authorization:
            headers = [*headers, (b"proxy-authorization", proxy.authorization.encode("ascii"))]
    url = httpcore.URL(scheme=origin[0], host=origin[1], port=origin[2], target=target)
    return httpcore.Request(
        request.method,
        url,
        headers=headers,
        extensions={"timeout": request.extensions["timeout"]},
    )
