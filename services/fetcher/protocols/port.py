"""The port that every protocol implements, and what passes through it."""

import typing
from dataclasses import dataclass

from services.common.errors import Drop
from services.common.settings import Fetcher
from services.common.urls import Url
from services.fetcher.host_rules import DEFAULT, Options

Headers = list[tuple[str, str]]
"""Names in lower case, values as Latin-1 (one character is one octet)."""


class FetchFailed(Drop):
    """There is no usable response; `reason` is a key of `classify.FAILURES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request: no redirects, no retries by status, no cookies but those in `headers`."""

    url: Url
    method: typing.Literal["GET", "HEAD"] = "GET"
    headers: tuple[tuple[str, str], ...]
    limit: int
    """Octets of body wanted, decoded and on the wire; the rest is left."""
    options: Options = DEFAULT
    """What the rules say about the host; heeded as far as the protocol has such a thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireResponse:
    """One final response."""

    status: int
    headers: Headers
    body: bytes = b""
    """Decoded from its content codings; read for 2xx only."""
    damage: str = ""
    """"" if the body is whole, else a word of `classify.by_damage`."""
    first_byte: float | None = None
    """Seconds from the start of the request to the response's head."""
    address: str | None = None
    distrust: str = ""
    """Why the server's certificate is not trusted, where `options.tls` says to go on."""

    def values(self, name: str) -> list[str]:
        """The values of header `name` (lower case), in order."""
        return [value for key, value in self.headers if key == name]


class Protocol(typing.Protocol):
    """A way to fetch URLs of some scheme. One instance serves all requests, many at once."""

    def __init__(self, settings: Fetcher) -> None:
        """Made inside the event loop. Raises Stop on settings it cannot work with."""

    async def fetch(self, request: WireRequest) -> WireResponse:
        """Send `request` and read its response within the settings' time and size limits.

        Addresses are held against `services.fetcher.guard` before anything is sent to them.

        Raises:
            FetchFailed: and nothing else but cancellation.
        """
        ...

    async def close(self) -> None:
        """Close what is open."""


@typing.runtime_checkable
class Prepares(typing.Protocol):
    """What a protocol has besides if a URL's host can be got ready before its turn.

    Here it waits without holding a slot, so that hosts without an answer hold up no others.
    """

    async def prepare(self, url: Url, options: Options) -> tuple[str, ...] | None:
        """Get ready for a `fetch` of `url`, which will say what was wrong. Raises nothing.

        Returns the addresses that it may be sent to; None or empty where they are not known.
        """
