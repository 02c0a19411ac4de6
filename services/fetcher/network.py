"""Opens connections: resolves, holds every address against the guard, connects to that address.

The name is never resolved a second time, so an answer that changes cannot slip past the guard.
Environment proxies are not looked at; a host's options say how to get there.
"""

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import count

from services.fetcher import guard, stream
from services.fetcher.host_rules import DEFAULT, Options, Proxy
from services.fetcher.protocols.port import FetchFailed
from services.fetcher.resolver import Resolver, literal
from services.fetcher.tunnel import open_tunnel

MAX_ADDRESSES = 4
"""Addresses of one host that are tried."""

_Dial = Callable[[ssl.SSLContext | None], Awaitable[stream.Stream]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a connection is wanted, and what the rules say about it."""

    hostname: str
    port: int
    secure: bool
    options: Options = DEFAULT


class Network:
    """The way out, for all hosts."""

    def __init__(
        self,
        resolver: Resolver,
        exempt: tuple[guard.Network, ...],
        tls: ssl.SSLContext,
        agent: str = "",
    ) -> None:
        """`tls` says which certificates are trusted; `agent` is what proxies are told."""
        self._resolver = resolver
        self._exempt = exempt
        self._to_proxy = ssl.create_default_context()
        self._verifying = tls
        self._recording = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._recording.check_hostname = False
        self._recording.verify_mode = ssl.CERT_NONE
        for context in (self._verifying, self._recording):
            context.set_alpn_protocols(["h2", "http/1.1"])
        self._agent = agent
        self._turn = count()

    async def connect(self, target: Target, seconds: float) -> stream.Stream:
        """A connection to `target`, TLS done if `secure`; `seconds` for all of it.

        Raises:
            FetchFailed: every failure, by name.
        """
        ports = target.options.ports
        if target.port not in ports if ports else target.port in guard.BAD_PORTS:
            raise FetchFailed("bad-port", str(target.port))
        proxy = target.options.proxy
        try:
            async with asyncio.timeout(seconds):
                if proxy is None:
                    return await self._straight(target, seconds)
                return await self._through(proxy, target)
        except TimeoutError as error:
            raise FetchFailed("connect-timeout", target.hostname) from error

    async def prepare(self, hostname: str) -> tuple[str, ...]:
        """Have the addresses of `hostname` at hand, or the reason why there are none."""
        with suppress(FetchFailed):
            return await self._resolver.addresses(hostname)
        return ()

    def close(self) -> None:
        """Let go of the resolver."""
        self._resolver.close()

    async def _straight(self, target: Target, seconds: float) -> stream.Stream:
        addresses = await self._resolver.addresses(target.hostname)
        for address in addresses:
            self._check(address)
        failure = FetchFailed("dns-failure", "no address")
        candidates = addresses[:MAX_ADDRESSES]
        for address in candidates:

            async def dial(tls: ssl.SSLContext | None, address: str = address) -> stream.Stream:
                source = self._egress(target.hostname, address, target.options)
                name = target.hostname.strip("[]")
                return await stream.connect(address, target.port, tls, name, source)

            try:
                # One that does not answer leaves the others their share of the time (RFC 8305).
                async with asyncio.timeout(seconds / len(candidates)):
                    return await self._dialled(dial, target)
            except (OSError, UnicodeError, ValueError) as error:
                failure = FetchFailed(_reason(error, target), f"{address}: {error}")
        raise failure

    async def _through(self, proxy: Proxy, target: Target) -> stream.Stream:
        # The proxy's address is the operator's choice, and names are the proxy's to resolve;
        # what can still be checked is a URL that names an address.
        address = literal(target.hostname)
        if address:
            self._check(address)

        async def dial(tls: ssl.SSLContext | None) -> stream.Stream:
            opened = await self._to(proxy, target.options)
            if tls is None:
                return opened
            try:
                authority = f"{target.hostname}:{target.port}"
                await open_tunnel(opened, authority, proxy, self._agent)
                await opened.encrypt(tls, target.hostname.strip("[]"))
            except BaseException:
                opened.abort()
                raise
            return opened

        try:
            return await self._dialled(dial, target)
        except (OSError, UnicodeError, ValueError) as error:
            raise FetchFailed(_reason(error, target), str(error)) from error

    async def _to(self, proxy: Proxy, options: Options) -> stream.Stream:
        tls = self._to_proxy if proxy.tls else None
        try:
            address, *_ = await self._resolver.addresses(proxy.host)
            source = self._egress(proxy.host, address, options)
            return await stream.connect(address, proxy.port, tls, proxy.host, source)
        except (OSError, FetchFailed) as error:
            raise FetchFailed("proxy", f"{proxy.host}: {error}") from error

    async def _dialled(self, dial: _Dial, target: Target) -> stream.Stream:
        if not target.secure:
            return await dial(None)
        try:
            return await dial(self._verifying)
        except ssl.SSLCertVerificationError as error:
            if target.options.tls != "record":
                raise
            opened = await dial(self._recording)
            opened.distrust = error.verify_message
            return opened

    def _check(self, address: str) -> None:
        if guard.refused(address, self._exempt):
            raise FetchFailed("private-address", address)

    def _egress(self, hostname: str, address: str, options: Options) -> str | None:
        if not options.egress:
            return None
        version = ip_address(address).version
        fitting = [source for source in options.egress if ip_address(source).version == version]
        if not fitting:
            raise OSError(f"no egress address of IPv{version}")
        by_turn = options.egress_by == "turn"
        number = next(self._turn) if by_turn else zlib.crc32(hostname.encode())
        return fitting[number % len(fitting)]


def _reason(error: Exception, target: Target) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls-certificate"
    if isinstance(error, ssl.SSLError):
        return "tls"
    if isinstance(error, ConnectionRefusedError):
        return "connection-refused"
    if isinstance(error, TimeoutError):
        return "connect-timeout"
    if target.secure and isinstance(error, ConnectionError):
        return "tls"
    return "connect-error"
