"""Opens connections: resolves, holds every address against the guard, connects to that address.

The name is never resolved a second time, so an answer that changes cannot slip past the guard.
Environment proxies are not looked at.
"""

import asyncio
import ssl

from services.fetcher import guard, stream
from services.fetcher.protocols.port import FetchFailed
from services.fetcher.resolver import Resolver

MAX_ADDRESSES = 4
"""Addresses of one host that are tried."""


class Network:
    """The way out, for all hosts."""

    def __init__(self, resolver: Resolver, exempt: tuple[guard.Network, ...]) -> None:
        self._resolver = resolver
        self._exempt = exempt

    async def connect(
        self,
        hostname: str,
        port: int,
        tls: ssl.SSLContext | None,
        seconds: float,
    ) -> stream.Stream:
        """A connection to `hostname`, TLS done; `seconds` for name, TCP and TLS together.

        Raises:
            FetchFailed: every failure, by name.
        """
        if port in guard.BAD_PORTS:
            raise FetchFailed("bad-port", str(port))
        try:
            async with asyncio.timeout(seconds):
                addresses = await self._resolver.addresses(hostname)
                for address in addresses:
                    if guard.refused(address, self._exempt):
                        raise FetchFailed("private-address", address)
                return await _first(addresses[:MAX_ADDRESSES], port, tls, hostname)
        except TimeoutError as error:
            raise FetchFailed("connect-timeout", hostname) from error

    def close(self) -> None:
        """Let go of the resolver."""
        self._resolver.close()


async def _first(
    addresses: tuple[str, ...], port: int, tls: ssl.SSLContext | None, hostname: str
) -> stream.Stream:
    failure = FetchFailed("dns-failure", "no address")
    for address in addresses:
        try:
            return await stream.connect(address, port, tls, hostname.strip("[]"))
        except (OSError, UnicodeError, ValueError) as error:
            failure = FetchFailed(_reason(error, tls), f"{address}: {error}")
    raise failure


def _reason(error: Exception, tls: ssl.SSLContext | None) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls-certificate"
    if isinstance(error, ssl.SSLError):
        return "tls"
    if isinstance(error, ConnectionRefusedError):
        return "connection-refused"
    if isinstance(error, TimeoutError):
        return "connect-timeout"
    if tls is not None and isinstance(error, ConnectionError):
        return "tls"
    return "connect-error"
