"""Requests sent for a module: what it gets is what the protocols give, within the same rules."""

from collections.abc import Callable, Mapping

from services.common.errors import Drop
from services.common.urls import Url
from services.fetcher import core, robots_facts
from services.fetcher.host_rules import Options
from services.fetcher.protocols.port import FetchFailed, Protocol, WireRequest, WireResponse
from services.fetcher.robots_cache import RobotsCache


class Errands:
    """See `protocols.port.Errands`."""

    def __init__(
        self,
        protocols: Mapping[str, Protocol],
        robots: RobotsCache,
        options: Callable[[Url], Options],
        user_agent: str,
    ) -> None:
        self._protocols = protocols
        self._robots = robots
        self._options = options
        self._user_agent = user_agent

    async def send(self, request: WireRequest) -> WireResponse:
        """See `protocols.port.Errands.send`."""
        return await self._protocols[request.url.scheme].fetch(request)

    async def part(
        self, url: Url, headers: tuple[tuple[str, str], ...], limit: int
    ) -> WireResponse:
        """See `protocols.port.Errands.part`."""
        if url.scheme not in core.ROBOTS_SCHEMES:
            raise FetchFailed("no-protocol", url.scheme)
        ruling = robots_facts.ruling(await self._robots.facts(url, None), url)
        if ruling is not None:
            raise Drop(ruling.reason, url.href)
        options = self._options(url)
        return await self.send(
            core.part_request(url, self._user_agent, limit, options=options, headers=headers)
        )
