"""Waits for a request's turn; the clock and the futures around the pacer.

A slot is taken only by a request whose turn has come, so a host that waits costs nothing.
"""

import asyncio
from dataclasses import dataclass
from itertools import count

from services.common import metrics
from services.common.records import HELD_BACK
from services.fetcher.pacer import Pacer
from services.fetcher.protocols.port import FetchFailed

PATIENCE = 60.0
"""Seconds that a site may keep us away before what waits for it is given back: the scheduler
has more to do than we have room to wait."""


class HeldBack(FetchFailed):
    """There is no turn for `seconds` from now on.

    The site asked us to stay away, or does not answer, or too much waits for its address.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(HELD_BACK, f"{seconds:.0f} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a turn is wanted for."""

    host: str
    gap: float
    """Seconds after the end of the host's last turn."""
    address: str = ""
    """Shared with other hosts; empty where addresses do not count."""
    slots: asyncio.Semaphore | None = None
    """Where the request runs if not in our slots: a module has its own."""
    since: float = float("-inf")
    """Until this time of the event loop's clock somebody else may have asked the host."""
    patience: float = float("inf")
    """Seconds after which the turn is of no use any more."""


class Turns:
    """Permission to send one request to a host."""

    def __init__(
        self, slots: int, horizon: float, *, ip_slots: int = 2, ip_gap: float = 0.5
    ) -> None:
        """`ip_slots` requests at once at one address, with starts `ip_gap` seconds apart."""
        self._pacer = Pacer(slots, ip_slots, max(horizon, ip_gap))
        self._ip_gap = ip_gap
        self._tickets = count()
        self._loop = asyncio.get_running_loop()
        self._waiters: dict[int, tuple[str, asyncio.Future[int]]] = {}
        self._running: dict[str, float] = {}
        self._lent: dict[str, asyncio.Semaphore] = {}
        """Hosts whose turn runs in a slot of its own kind."""
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, claim: Claim) -> int:
        """Return when it is our turn at the host, with the slot's number.

        Whoever gets here calls `end`; whoever is cancelled before does not.

        Raises:
            HeldBack: the turn is far away.
        """
        now, host = self._loop.time(), claim.host
        if (seconds := self._pacer.held(host, now)) > PATIENCE:
            raise HeldBack(seconds)
        # An address with one host on it is asked as often as the host may be.
        spacing = min(self._ip_gap, claim.gap)
        if (seconds := self._pacer.ahead(claim.address) * spacing) > max(claim.patience, 0.0):
            raise HeldBack(seconds)
        ticket = next(self._tickets)
        self._pacer.enter(
            host,
            ticket,
            claim.gap,
            now,
            group=claim.address,
            spacing=spacing,
            since=claim.since,
        )
        slot = self._start(ticket)
        if slot is None:
            slot = await self._wait(host, ticket)
        else:
            self._begun(host, now)
        if claim.slots is not None:
            await self._move(host, claim.slots)
        return slot

    def end(self, host: str, trouble: float | None = None) -> None:
        """The request is over: free the slot, start the host's gap; `trouble` as `Pacer.leave`."""
        del self._running[host]
        if host in self._lent:
            self._lent.pop(host).release()
        metrics.fetch_slots_busy.dec()
        self._leave(host, trouble)

    def oldest(self) -> float:
        """Seconds that the longest running request has taken; 0 if there is none.

        May be called from another thread.
        """
        now = self._loop.time()
        return now - min(list(self._running.values()), default=now)

    async def _move(self, host: str, slots: asyncio.Semaphore) -> None:
        """Give our slot back and wait for one of `slots`; the host's turn goes on."""
        self._pacer.lend(host)
        self._start()
        try:
            await slots.acquire()
        except asyncio.CancelledError:
            self.end(host)
            raise
        self._lent[host] = slots

    async def _wait(self, host: str, ticket: int) -> int:
        waiter = self._loop.create_future()
        self._waiters[ticket] = (host, waiter)
        metrics.fetch_waiting.set(self._pacer.waiting)
        try:
            slot: int = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.end(host)  # its turn had come
            else:
                self._pacer.cancel(host, ticket, self._loop.time())
                self._start()
            raise
        else:
            return slot
        finally:
            del self._waiters[ticket]
            metrics.fetch_waiting.set(self._pacer.waiting)

    def _leave(self, host: str, trouble: float | None = None) -> None:
        now = self._loop.time()
        self._pacer.leave(host, now, trouble=trouble)
        if trouble is not None and (seconds := self._pacer.held(host, now)) > PATIENCE:
            self._give_back(host, seconds)
        self._start()

    def _give_back(self, host: str, seconds: float) -> None:
        for ticket in self._pacer.queue(host):
            _, waiter = self._waiters[ticket]
            if not waiter.done():
                self._pacer.cancel(host, ticket, self._loop.time())
                waiter.set_exception(HeldBack(seconds))

    def _start(self, ours: int | None = None) -> int | None:
        """Start what can be started; the slot of the ticket `ours`, which has no future yet."""
        now, slot = self._loop.time(), None
        for start in self._pacer.due(now):
            if start.ticket == ours:
                slot = start.slot
                continue
            host, waiter = self._waiters[start.ticket]
            self._begun(host, now)
            if waiter.done():  # cancelled, and has not run since
                self._loop.call_soon(self.end, host)
            else:
                waiter.set_result(start.slot)
        self._arm()
        return slot

    def _begun(self, host: str, now: float) -> None:
        self._running[host] = now
        metrics.fetch_slots_busy.inc()

    def _tick(self) -> None:
        self._timer = None
        self._start()

    def _arm(self) -> None:
        at = self._pacer.next_at()
        if at is None or (self._timer is not None and self._timer.when() <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._tick)
