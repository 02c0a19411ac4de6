"""The port that every protocol implements, and what passes through it."""

import typing
from dataclasses import dataclass

from services.common.errors import Drop
from services.common.settings import Fetcher, Settings
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
    rendered: bool = False
    """The body is what a browser made of the response."""

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


class Errands(typing.Protocol):
    """Requests that the fetcher sends for a module, by the protocol of the URL's scheme.

    Guards, limits, proxies and rules are those of any other request.
    """

    async def send(self, request: WireRequest) -> WireResponse:
        """Send a page's own request, whose turn has come.

        Raises:
            FetchFailed: as `Protocol.fetch`.
        """
        ...

    async def part(
        self, url: Url, headers: tuple[tuple[str, str], ...], limit: int
    ) -> WireResponse:
        """Get what a page asks for besides itself, at once and under our own name.

        `headers` come after ours; `limit` is in octets.

        Raises:
            Drop: with the reason of a `FetchFailed`, `no-protocol`, or `robots` if robots.txt
                does not allow it.
        """
        ...


class Module(typing.Protocol):
    """A way to get pages that a rule chooses in place of the scheme's protocol (`module = ...`).

    Made when a rule names it, inside the event loop; `fetch` and `close` are those of `Protocol`.
    """

    slots: int
    """Pages at once; they take none of the fetcher's own slots."""

    def __init__(self, settings: Settings, errands: Errands) -> None:
        """Raises Stop on settings it cannot work with, or if something is not installed."""

    async def fetch(self, request: WireRequest) -> WireResponse:
        """See `Protocol.fetch`."""
        ...

    async def close(self) -> None:
        """See `Protocol.close`."""
