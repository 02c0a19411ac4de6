"""Reads and remembers robots.txt of hosts: one reading at a time per origin, bounded, with age.

What a reading means is decided in robots_facts.py. Rules are kept under the origin that was
asked, never under the one a redirect led to (RFC 9309, 2.3.1.2).
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable

from services.common import metrics, urls
from services.fetcher import core, robots_facts
from services.fetcher.protocols.port import FetchFailed, WireRequest, WireResponse
from services.fetcher.robots_facts import Facts, Policy

Send = Callable[[WireRequest, float | None, float], Awaitable[WireResponse]]
"""Sends one request in its host's turn, the given gap after the host's last one and after the
time until which others may have asked it; without a gap at once."""


class RobotsCache:
    """Facts per origin (scheme and host)."""

    def __init__(
        self,
        policy: Policy,
        size: int,
        request: Callable[[urls.Url], WireRequest],
        send: Send,
        clock: Callable[[], float],
    ) -> None:
        """`request` makes the wire request for a robots.txt."""
        self._policy = policy
        self._size = size
        self._request = request
        self._send = send
        self._clock = clock
        self._known: OrderedDict[str, Facts] = OrderedDict()
        self._reading: dict[str, asyncio.Task[Facts]] = {}
        self._wanted: Counter[str] = Counter()

    async def facts(self, url: urls.Url, gap: float | None, since: float = float("-inf")) -> Facts:
        """What is known of `url`'s host, read now if nothing fresh is.

        `gap` and `since` pace the reading. No gap is for a page under way, which has a turn and
        cannot wait for another: the reading is out of turn, and one that waits for its own is not
        waited for if old facts are there.
        """
        origin = f"{url.scheme}://{url.host}"
        known = self._known.get(origin)
        if known is not None and self._clock() < known.until:
            self._known.move_to_end(origin)
            return known
        reading = self._reading.get(origin)
        if reading is not None and gap is None and known is not None:
            return known
        if reading is None:
            reading = asyncio.create_task(self._read(origin, gap, since))
            self._reading[origin] = reading
        self._wanted[origin] += 1
        try:
            # Others wait for the same reading, so one that gives up must not end it.
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            if self._wanted[origin] == 1 and not reading.done():
                # Nobody does any more: the host may be another fetcher's from now on.
                reading.cancel()
                await asyncio.wait([reading])
            raise
        finally:
            self._wanted[origin] -= 1
            if not self._wanted[origin]:
                del self._wanted[origin]

    async def close(self) -> None:
        """End readings under way."""
        tasks = list(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, origin: str, gap: float | None, since: float) -> Facts:
        try:
            new = await self._follow(urls.parse(f"{origin}/robots.txt"), gap, since)
            facts = robots_facts.merged(new, self._known.get(origin))
            metrics.robots_fetches.labels(facts.result).inc()
            self._known[origin] = facts
            self._known.move_to_end(origin)
            if len(self._known) > self._size:
                self._known.popitem(last=False)
            return facts
        finally:
            del self._reading[origin]

    async def _follow(self, url: urls.Url, gap: float | None, since: float) -> Facts:
        seen: set[str] = set()
        while len(seen) <= robots_facts.MAX_REDIRECTS and url.href not in seen:
            try:
                response = await self._send(self._request(url), gap, since)
            except FetchFailed as failure:
                return robots_facts.failed(failure.reason, len(seen), self._policy, self._clock())
            seen.add(url.href)
            target = core.redirect_target(url, response)
            if target is None:
                now = self._clock()
                wait = core.wait_asked(response, now)
                return robots_facts.answered(response, wait, self._policy, now)
            url = urls.parse(target)
        return robots_facts.lost(self._policy, self._clock())
