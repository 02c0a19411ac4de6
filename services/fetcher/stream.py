"""One open connection as httpcore's stream, straight on asyncio's transports.

Costs a third of the same over AnyIO. Reads and writes have time limits; the rest is httpcore's.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any

import httpcore

from services.fetcher.heads import Heads, NotHttp

HIGH_WATER = 256 * 1024
"""Octets held here unread before the peer has to wait."""


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """An asyncio protocol that is read and written like a stream, by one task at a time."""

    address: str = ""
    distrust: str = ""
    """Why the certificate is not trusted; "" if it is, or there is none."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._chunks.append(data)
        self._held += len(data)
        if self._held > HIGH_WATER and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """See `asyncio.Protocol`."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._ended, self._error, self._full = True, exc, False
        self._wake()

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._full = True

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._full = False
        self._wake()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's interface
        """At most `max_bytes`; b"" at the end.

        Raises:
            httpcore.ReadTimeout: nothing came within `timeout` seconds.
            httpcore.ReadError: the connection broke.
        """
        await self._until(lambda: bool(self._chunks) or self._ended, timeout, httpcore.ReadTimeout)
        if not self._chunks:
            if self._error is not None:
                raise httpcore.ReadError(str(self._error)) from self._error
            return b""
        data = self._chunks.popleft()
        if len(data) > max_bytes:
            self._chunks.appendleft(data[max_bytes:])
            data = data[:max_bytes]
        was_full = self._held > HIGH_WATER
        self._held -= len(data)
        if (
            was_full
            and self._held <= HIGH_WATER
            and self._transport is not None
            and not self._ended
        ):
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's interface
        """Hand over `buffer`, waiting while too much is on its way.

        A connection that is gone takes it in silence: what came before its end is read first,
        and reading on says how it ended.

        Raises:
            httpcore.WriteTimeout: for `timeout` seconds the peer took nothing.
        """
        if self._transport is None or self._transport.is_closing():
            return
        if buffer:
            self._transport.write(buffer)
        if self._full:
            await self._until(lambda: not self._full, timeout, httpcore.WriteTimeout)

    async def encrypt(self, tls: ssl.SSLContext, server_hostname: str) -> None:
        """Speak TLS from here on.

        Raises:
            OSError: as the system or the TLS library raises it.
        """
        if self._transport is None or self._ended:
            raise ConnectionResetError("closed before TLS")
        self._transport = await asyncio.get_running_loop().start_tls(
            self._transport, self, tls, server_hostname=server_hostname
        )

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    async def aclose(self) -> None:
        """See `abort`."""
        self.abort()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's interface
        """What httpcore asks for: `ssl_object`, `is_readable`; else None."""
        if info == "is_readable":
            closing = self._transport is None or self._transport.is_closing()
            return bool(self._chunks) or self._ended or closing
        if info == "ssl_object" and self._transport is not None:
            return self._transport.get_extra_info("ssl_object")
        return None

    async def _until(
        self, done: Callable[[], bool], seconds: float | None, late: type[Exception]
    ) -> None:
        if done():
            return
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while not done():
            waiter = self._waiter = loop.create_future()
            timer = None if deadline is None else loop.call_at(deadline, _expire, waiter, late)
            try:
                await waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Lenient(httpcore.AsyncNetworkStream):
    """A stream of HTTP/1.1 whose response heads are mended before httpcore sees them."""

    def __init__(self, stream: Stream, limit: int) -> None:
        """`limit`: octets of a head that httpcore will take."""
        self._stream = stream
        self._heads = Heads(limit)

    @property
    def mended(self) -> bool:
        """Whether a head had to be changed."""
        return self._heads.mended

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's interface
        """See `Stream.read`; also raises httpcore.RemoteProtocolError on what is not HTTP."""
        while data := await self._stream.read(max_bytes, timeout):
            try:
                whole = self._heads.feed(data)
            except NotHttp as error:
                raise httpcore.RemoteProtocolError(str(error)) from error
            if whole:
                return whole
        if not self._heads.end():
            raise httpcore.ReadError("closed within the head")
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's interface
        """See `Stream.write`."""
        if buffer:
            self._heads.expect()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """See `Stream.abort`."""
        self._stream.abort()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore's interface
        """See `Stream.get_extra_info`."""
        return self._stream.get_extra_info(info)


def _expire(waiter: asyncio.Future[None], late: type[Exception]) -> None:
    if not waiter.done():
        waiter.set_exception(late())


async def connect(
    address: str,
    port: int,
    tls: ssl.SSLContext | None,
    server_hostname: str | None,
    source: str | None = None,
) -> Stream:
    """An open connection to `address`, from the local address `source` if one is given.

    Raises:
        OSError: as the system or the TLS library raises it.
    """
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(
        Stream,
        host=address,
        port=port,
        ssl=tls,
        server_hostname=server_hostname if tls else None,
        local_addr=(source, 0) if source else None,
    )
    stream.address = address
    return stream
