"""Carries out one `FetchRequested`: robots, pace, slot, protocol, report. Needs no Kafka.

What each step means is decided in core.py and the modules it uses.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import msgspec
import zstandard

from services.common import metrics, urls
from services.common.records import HANDED_OVER, FetchCompleted, FetchRequested
from services.common.settings import Settings
from services.fetcher import core, groups, robots_facts
from services.fetcher.announced import Announced
from services.fetcher.classify import FAILURES, UNREACHABLE
from services.fetcher.cookies import Cookies
from services.fetcher.errands import Errands
from services.fetcher.host_rules import NO_RULES, HostRules, Options
from services.fetcher.protocols.port import (
    FetchFailed,
    Module,
    Prepares,
    Protocol,
    WireRequest,
    WireResponse,
)
from services.fetcher.robots_cache import RobotsCache
from services.fetcher.robots_facts import NONE, Facts, Policy
from services.fetcher.turns import Claim, HeldBack, Turns

NO_MODULES: Mapping[str, type[Module]] = {}
ZSTD_LEVEL = 3
THREAD_ABOVE = 512 * 1024
"""Bodies over this many octets are compressed off the event loop."""

_log = logging.getLogger(__name__)


class Download:
    """Fetches for many hosts at once; made inside the event loop."""

    def __init__(
        self,
        settings: Settings,
        protocols: Mapping[str, Protocol],
        *,
        version: str,
        fetcher: str,
        rules: HostRules = NO_RULES,
        modules: Mapping[str, type[Module]] = NO_MODULES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`modules` are those that `rules` name.

        `clock` gives seconds since the epoch, as the scheduler's leases do.
        """
        own = settings.fetcher
        self._settings = own
        self._max_delay = settings.scheduler.max_crawl_delay
        self._protocols = protocols
        self._preparing = {
            scheme: protocol
            for scheme, protocol in protocols.items()
            if isinstance(protocol, Prepares)
        }
        self._fetcher = fetcher
        self._rules = rules
        self._cookies = Cookies()
        self._clock = clock
        self._user_agent = core.identity(own.agent, version, own.contact)
        self.turns = Turns(own.slots, 2 * self._max_delay, ip_slots=own.ip_slots, ip_gap=own.ip_gap)
        self._robots = RobotsCache(
            Policy(agent=own.agent, ttl=own.robots_ttl, retry=own.robots_retry),
            own.robots_cache,
            lambda url: core.robots_request(url, self._user_agent, self._options(url)),
            self._send,
            clock,
        )
        errands = Errands(protocols, self._robots, self._options, self._user_agent)
        self._modules = {name: kind(settings, errands) for name, kind in modules.items()}
        self._slots = {name: asyncio.Semaphore(it.slots) for name, it in self._modules.items()}
        self._announced = Announced(own.robots_cache)
        self._compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL)

    async def run(
        self, request: FetchRequested, *, since: float = float("-inf")
    ) -> FetchCompleted | None:
        """The report on `request`; None if its lease was over before its turn came.

        Until `since`, by the event loop's clock, another fetcher may have asked the host.
        Whatever the site does becomes a report. Cancelled at any point it leaves nothing behind.
        """
        completed = await self._report(request, since)
        if completed is None:
            return None
        completed = msgspec.structs.replace(completed, group=await self.group(request))
        return _counted(completed)

    async def group(self, request: FetchRequested) -> str:
        """With which hosts one fetcher has to serve it; found before anything is asked."""
        try:
            url = urls.parse(request.url, schemes=self._protocols)
        except urls.BadUrl:
            return request.group or request.host
        addresses = await self._addresses(url)
        return groups.group(request.host, self._options(url), addresses, request.group)

    def is_late(self, request: FetchRequested) -> bool:
        """Whether the request's lease is over, so that nobody waits for it any more."""
        return core.lease_left(request, self._clock()) <= 0

    async def _report(self, request: FetchRequested, since: float) -> FetchCompleted | None:
        fetch = core.Fetch(request=request, fetcher=self._fetcher, started_at=self._clock())
        try:
            url = urls.parse(request.url, schemes=self._protocols)
        except urls.BadUrl as error:
            reason = "no-protocol" if error.reason == "scheme" else "bad-url"
            return core.refused(fetch, FAILURES[reason])
        try:
            return await self._fetched(fetch, url, since)
        except HeldBack as held:
            held_back = replace(fetch, started_at=self._clock(), held=held.seconds)
            return core.refused(held_back, FAILURES[held.reason])
        except TimeoutError:
            metrics.requests_expired.inc()
            return None

    def give_back(self, request: FetchRequested) -> FetchCompleted | None:
        """The report on a request that another fetcher had before us; None if its lease is over.

        What the host asked of the other one, we do not know; the scheduler does.
        """
        now = self._clock()
        if core.lease_left(request, now) <= 0:
            metrics.requests_expired.inc()
            return None
        fetch = core.Fetch(request=request, fetcher=self._fetcher, started_at=now)
        return _counted(core.refused(fetch, FAILURES[HANDED_OVER]))

    async def _fetched(self, fetch: core.Fetch, url: urls.Url, since: float) -> FetchCompleted:
        """Raises TimeoutError if the lease is over before the turn comes, and HeldBack."""
        request = fetch.request
        left = core.lease_left(request, fetch.started_at)
        if left <= 0:
            raise TimeoutError
        async with asyncio.timeout(left):
            facts = await self._facts(url, request, since)
            fetch = replace(fetch, facts=facts, started_at=self._clock())
            ruling = robots_facts.ruling(facts, url)
            if ruling is not None:
                return self._announce(core.refused(fetch, ruling), url, facts)
            # Given back before the scheduler takes it for lost.
            patience = request.lease_until - fetch.started_at
            slot = await self._turns_begin(url, request.gap, facts, since, patience)
        fetch = self._in_slot(fetch, slot)
        if not self._module(url) and core.worth_a_ping(request, url, self._settings.head_above):
            answer = await self._ping(fetch, url)
            if answer is not None:
                return self._announce(answer, url, facts)
            fetch = self._in_slot(fetch, await self._turns_begin(url, request.gap, facts))
        completed, again = await self._page(fetch, url)
        if again:
            with suppress(HeldBack):
                slot = await self._turns_begin(url, request.gap, facts)
                completed, _ = await self._page(self._in_slot(fetch, slot), url)
        return self._announce(completed, url, facts)

    async def close(self) -> None:
        """End what runs in the background, and the modules; the protocols stay open."""
        await self._robots.close()
        for module in self._modules.values():
            await module.close()

    def _announce(self, completed: FetchCompleted, url: urls.Url, facts: Facts) -> FetchCompleted:
        """Let it carry the host's sitemaps, if its job does not know them yet."""
        sitemaps = self._announced.take(url, facts, completed.request)
        return msgspec.structs.replace(completed, sitemaps=sitemaps) if sitemaps else completed

    def _in_slot(self, fetch: core.Fetch, slot: str) -> core.Fetch:
        return replace(fetch, fetcher=f"{self._fetcher}/{slot}")

    async def _facts(self, url: urls.Url, request: FetchRequested, since: float) -> Facts:
        if url.scheme not in core.ROBOTS_SCHEMES:
            return NONE
        return await self._robots.facts(url, request.gap, since)

    async def _turns_begin(
        self,
        url: urls.Url,
        gap: float,
        facts: Facts,
        since: float = float("-inf"),
        patience: float = float("inf"),
    ) -> str:
        """The slot, when the turn has come: its number, or the module that has its own."""
        claim = Claim(
            host=url.host,
            gap=core.gap(gap, facts, self._max_delay),
            address=await self._address(url),
            slots=self._slots.get(self._module(url)),
            since=since,
            patience=patience,
        )
        number = await self.turns.begin(claim)
        return self._module(url) or str(number)

    async def _address(self, url: urls.Url) -> str:
        """What the host shares with others; empty where that does not count."""
        addresses = await self._addresses(url)
        return min(addresses) if addresses and self._options(url).per_ip else ""

    async def _addresses(self, url: urls.Url) -> tuple[str, ...] | None:
        protocol = self._preparing.get(url.scheme)
        return await protocol.prepare(url, self._options(url)) if protocol is not None else None

    async def _ping(self, fetch: core.Fetch, url: urls.Url) -> FetchCompleted | None:
        """Ask by HEAD in the turn that has begun, and end the turn; None: the page is wanted."""
        options, cookie = self._circumstances(url)
        limit, agent = self._settings.max_body, self._user_agent
        wire = core.ping_request(url, agent, limit, options=options, cookie=cookie)
        started_at, started = self._clock(), time.perf_counter()
        trouble = None
        try:
            response = await self._protocols[url.scheme].fetch(wire)
            trouble = core.trouble(response, self._clock())
        except FetchFailed as error:
            trouble = _trouble(error)
            return None
        finally:
            self.turns.end(url.host, trouble)
        elapsed = time.perf_counter() - started
        return core.pinged(replace(fetch, started_at=started_at, elapsed=elapsed), response)

    async def _page(self, fetch: core.Fetch, url: urls.Url) -> tuple[FetchCompleted, bool]:
        """Send the request in the turn that has begun, and end the turn.

        True: the answer is a redirect to the URL itself with a new cookie. The page is behind
        it, and as a discovery it would be known already; so it is worth another turn, once.
        """
        started_at, started = self._clock(), time.perf_counter()
        fetch = replace(fetch, started_at=started_at)
        failure, trouble = "", None
        try:
            response, changed = await self._exchange(fetch.request, url)
            trouble = core.trouble(response, self._clock())
        except FetchFailed as error:
            _log.debug("fetch failed", extra={"url": url.href, "error": str(error)})
            failure, trouble = error.reason, _trouble(error)
        finally:
            self.turns.end(url.host, trouble)
        fetch = replace(fetch, elapsed=time.perf_counter() - started)
        if failure:
            return core.refused(fetch, FAILURES[failure]), False
        completed = await self._packed(core.answered(fetch, url, response))
        return completed, changed and completed.location == url.href

    async def _exchange(self, request: FetchRequested, url: urls.Url) -> tuple[WireResponse, bool]:
        """The response, and whether it changed the cookies of a host that may have some."""
        options, cookie = self._circumstances(url)
        limit, agent = self._settings.max_body, self._user_agent
        wire = core.page_request(request, url, agent, limit, options=options, cookie=cookie)
        carrier = self._modules.get(self._module(url)) or self._protocols[url.scheme]
        response = await carrier.fetch(wire)
        keeps = options.cookies == "host"
        return response, keeps and self._cookies.take(url.host, url.href, response.headers)

    def _circumstances(self, url: urls.Url) -> tuple[Options, str]:
        """The host's options and the Cookie header for `url`."""
        options = self._options(url)
        keeps = options.cookies == "host"
        return options, self._cookies.header(url.host, url.href) if keeps else ""

    def _options(self, url: urls.Url) -> Options:
        return self._rules.options(url.hostname, url.path)

    def _module(self, url: urls.Url) -> str:
        """The name of the module that a rule chooses for `url`; empty for none."""
        return self._options(url).module if url.scheme in core.ROBOTS_SCHEMES else ""

    async def _packed(self, completed: FetchCompleted) -> FetchCompleted:
        """The same with its body compressed: here once, for everyone after us."""
        body = completed.body
        if not body:
            return completed
        metrics.fetched_bytes.inc(completed.size)
        if len(body) > THREAD_ABOVE:
            packed = await asyncio.to_thread(zstandard.compress, body, ZSTD_LEVEL)
        else:
            packed = self._compressor.compress(body)
        return msgspec.structs.replace(completed, body=packed)

    async def _send(self, request: WireRequest, gap: float | None, since: float) -> WireResponse:
        url, trouble = request.url, None
        if gap is None:
            return await self._protocols[url.scheme].fetch(request)
        claim = Claim(host=url.host, gap=gap, address=await self._address(url), since=since)
        await self.turns.begin(claim)
        try:
            response = await self._protocols[url.scheme].fetch(request)
            trouble = core.trouble(response, self._clock())
        except FetchFailed as error:
            trouble = _trouble(error)
            raise
        else:
            return response
        finally:
            self.turns.end(url.host, trouble)


def _trouble(error: FetchFailed) -> float | None:
    return 0.0 if error.reason in UNREACHABLE else None


def _counted(completed: FetchCompleted) -> FetchCompleted:
    metrics.fetches.labels(completed.outcome, completed.reason).inc()
    metrics.fetch_seconds.labels(completed.outcome).observe(completed.elapsed)
    return completed
