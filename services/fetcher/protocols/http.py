"""http and https: one request over httpx, read raw, decoded and limited by us.

Every exception of httpx, httpcore, h11, h2 and the system ends here as a FetchFailed. Never
follows redirects, never retries by status, never looks at environment proxies.
"""

import asyncio
import logging
import ssl
from functools import lru_cache
from typing import cast

import h2.exceptions
import httpcore
import httpx

from services.common.errors import Stop
from services.common.settings import Fetcher
from services.common.urls import Url
from services.fetcher import guard
from services.fetcher.connections import Connections
from services.fetcher.decode import Body, Corrupt, Unsupported
from services.fetcher.host_rules import Options, wanted
from services.fetcher.network import Network
from services.fetcher.protocols.port import FetchFailed, Headers, WireRequest, WireResponse
from services.fetcher.resolver import Resolver

DRAIN = 64 * 1024
"""Octets of an unwanted body that are read so that the connection can be used again."""
DRAIN_SECONDS = 2.0

_log = logging.getLogger(__name__)

_TABLE: tuple[tuple[type[Exception], str], ...] = (
    (httpcore.ReadTimeout, "read-timeout"),
    (httpcore.WriteTimeout, "write-timeout"),
    (httpcore.TimeoutException, "connect-timeout"),
    (httpcore.LocalProtocolError, "bad-request"),
    (httpcore.RemoteProtocolError, "protocol-error"),
    (h2.exceptions.H2Error, "protocol-error"),
    (httpcore.NetworkError, "connection-reset"),
    (ssl.SSLError, "tls"),
    (OSError, "connection-reset"),
    (httpx.InvalidURL, "bad-url"),
    (UnicodeError, "bad-request"),
)
_MESSAGES = {
    "Server disconnected without sending a response.": "empty-response",
    "Receive buffer too long": "headers-too-large",
    "Server disconnected": "connection-reset",
}
_HTTP2_ENDS = ("<StreamReset", "<ConnectionTerminated")
"""How httpcore words a stream or connection that the server gave up over HTTP/2."""
_CUT = frozenset({"connection-reset", "protocol-error", "headers-too-large", "empty-response"})
"""Failures that, once the head is there, mean that the body's rest is missing."""


class Http:
    """See `protocols.Protocol`."""

    def __init__(
        self,
        settings: Fetcher,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        """`tls` replaces the default trust, which is certifi's or that of SSL_CERT_FILE."""
        try:
            exempt = guard.networks(settings.allow_private)
        except ValueError as error:
            raise Stop(f"RECRAWL_FETCHER__ALLOW_PRIVATE: {error}") from error
        self._network = Network(
            resolver or Resolver(given=settings.addresses),
            exempt,
            tls or httpx.create_ssl_context(),
            settings.agent,
        )
        self._connections = Connections(self._network, keep=4 * settings.slots)
        self._total = settings.total_timeout
        self._max_headers = settings.max_headers
        self._timeouts = {
            "connect": settings.connect_timeout,
            "read": settings.read_timeout,
            "write": settings.read_timeout,
        }

    async def prepare(self, url: Url, options: Options) -> tuple[str, ...]:
        """See `protocols.port.Prepares`: the name is looked up, unless a proxy will."""
        return await self._network.prepare(url.hostname) if options.proxy is None else ()

    async def fetch(self, request: WireRequest) -> WireResponse:
        """See `protocols.Protocol.fetch`."""
        exchange = _Exchange(request, self._max_headers)
        try:
            async with asyncio.timeout(self._total):
                await exchange.run(self._connections, self._timeouts)
        except TimeoutError as error:
            return exchange.broken("total-timeout", error)
        except FetchFailed as error:
            return exchange.broken(error.reason, error)
        except Exception as error:  # noqa: BLE001 - the edge: one bad host must not stop the rest
            return exchange.broken(_reason(error), error)
        return exchange.response()

    async def close(self) -> None:
        """See `protocols.Protocol.close`."""
        await self._connections.aclose()
        self._network.close()


class _Exchange:
    """One request and what has come of it so far."""

    def __init__(self, request: WireRequest, max_headers: int) -> None:
        self._request = request
        self._max_headers = max_headers
        self._body: Body | None = None
        self._head: WireResponse | None = None
        self._damage = ""

    async def run(self, connections: Connections, timeouts: dict[str, float]) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        url = self._request.url
        response = await connections.handle_async_request(
            httpx.Request(
                self._request.method,
                _origin(url.scheme, url.host),
                headers=[(b"host", url.host.encode("ascii")), *_encoded(self._request.headers)],
                extensions={
                    "timeout": timeouts,
                    "target": url.path.encode("ascii"),
                    "options": self._request.options,
                },
            )
        )
        stream = cast("httpx.AsyncByteStream", response.stream)
        try:
            headers = _decoded(response.headers.raw, self._max_headers)
            self._head = WireResponse(
                status=response.status_code,
                headers=headers,
                first_byte=loop.time() - started,
                address=response.extensions["address"],
                distrust=response.extensions["distrust"],
            )
            await self._read(stream)
        finally:
            await stream.aclose()

    async def _read(self, stream: httpx.AsyncByteStream) -> None:
        assert self._head is not None  # noqa: S101 - for the type checker
        if not 200 <= self._head.status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
            await _drain(stream)
            return
        kind = self._head.values("content-type")
        if not wanted(kind[0] if kind else "", self._request.options):
            self._damage = "content-type"
            return
        try:
            coding = ",".join(self._head.values("content-encoding"))
            body = self._body = Body(coding, self._request.limit)
            async for part in stream:
                if not body.feed(part):
                    break
            self._damage = body.end()
        except Unsupported as error:
            raise FetchFailed("unsupported-coding", str(error)) from error
        except Corrupt:
            self._damage = "corrupt"

    def response(self) -> WireResponse:
        """The whole response."""
        head = self._head
        assert head is not None  # noqa: S101 - for the type checker
        return WireResponse(
            status=head.status,
            headers=head.headers,
            body=self._body.octets() if self._body else b"",
            damage=self._damage,
            first_byte=head.first_byte,
            address=head.address,
            distrust=head.distrust,
        )

    def broken(self, reason: str, error: BaseException) -> WireResponse:
        """What there is when the exchange ended early; raises FetchFailed if that is nothing."""
        head = self._head
        if head is None or reason == "unsupported-coding":
            raise FetchFailed(reason, str(error)) from error
        if 200 <= head.status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
            self._damage = "incomplete" if reason in _CUT else reason
        return self.response()


async def _drain(stream: httpx.AsyncByteStream) -> None:
    """Read a short unwanted body to its end; a long or slow one costs us the connection."""
    size = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for part in stream:
                size += len(part)
                if size > DRAIN:
                    return
    except TimeoutError:
        return


def _encoded(headers: tuple[tuple[str, str], ...]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]


def _decoded(raw: list[tuple[bytes, bytes]], limit: int) -> Headers:
    if sum(len(name) + len(value) + 4 for name, value in raw) > limit:
        raise FetchFailed("headers-too-large")
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


@lru_cache(maxsize=4096)
def _origin(scheme: str, host: str) -> httpx.URL:
    return httpx.URL(f"{scheme}://{host}/")


def _reason(error: Exception) -> str:
    message = str(error)
    if message in _MESSAGES:
        return _MESSAGES[message]
    if isinstance(error, httpcore.RemoteProtocolError) and message.startswith(_HTTP2_ENDS):
        return "connection-reset"
    if error.args and isinstance(error.args[0], h2.exceptions.H2Error):
        return "protocol-error"  # httpcore blames us for what the server sent
    for kind, reason in _TABLE:
        if isinstance(error, kind):
            return reason
    _log.error("unexpected error of a fetch", exc_info=error)
    return "internal"
