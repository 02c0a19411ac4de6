"""Waits for a host's turn and then for a free slot; the clock and the futures around the pacer.

A slot is taken only by a request whose host's turn has come, so a host that waits costs nothing.
"""

import asyncio
from itertools import count

from services.common import metrics
from services.fetcher.pacer import Pacer


class Turns:
    """Permission to send one request to a host."""

    def __init__(self, slots: int, horizon: float) -> None:
        self._pacer = Pacer(horizon)
        self._slots = asyncio.Semaphore(slots)
        self._tickets = count()
        self._loop = asyncio.get_running_loop()
        self._waiters: dict[int, tuple[str, asyncio.Future[None]]] = {}
        self._running: dict[str, tuple[float, asyncio.Semaphore]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, host: str, gap: float, slots: asyncio.Semaphore | None = None) -> None:
        """Return when it is our turn at `host`, `gap` seconds after its last turn's end.

        `slots` are those of a module that has its own.
        Whoever gets here calls `end`; whoever is cancelled before does not.
        """
        ticket = next(self._tickets)
        if not self._pacer.enter(host, ticket, gap, self._loop.time()):
            await self._wait(host, ticket)
        try:
            slots = slots or self._slots
            await slots.acquire()
        except asyncio.CancelledError:
            self._leave(host)
            raise
        self._running[host] = (self._loop.time(), slots)
        metrics.fetch_slots_busy.inc()

    def end(self, host: str) -> None:
        """The request is over: free the slot, start the host's gap."""
        _, slots = self._running.pop(host)
        slots.release()
        metrics.fetch_slots_busy.dec()
        self._leave(host)

    def oldest(self) -> float:
        """Seconds that the longest running request has taken; 0 if there is none.

        May be called from another thread.
        """
        now = self._loop.time()
        return now - min((since for since, _ in list(self._running.values())), default=now)

    async def _wait(self, host: str, ticket: int) -> None:
        waiter = self._loop.create_future()
        self._waiters[ticket] = (host, waiter)
        metrics.fetch_waiting.set(self._pacer.waiting)
        self._arm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._leave(host)
            else:
                self._pacer.cancel(host, ticket)
            raise
        finally:
            del self._waiters[ticket]
            metrics.fetch_waiting.set(self._pacer.waiting)

    def _leave(self, host: str) -> None:
        self._pacer.leave(host, self._loop.time())
        self._arm()

    def _arm(self) -> None:
        at = self._pacer.next_at()
        if at is None or (self._timer is not None and self._timer.when() <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._start)

    def _start(self) -> None:
        self._timer = None
        for ticket in self._pacer.due(self._loop.time()):
            host, waiter = self._waiters[ticket]
            if waiter.done():  # cancelled, and has not run since
                self._pacer.leave(host, self._loop.time())
            else:
                waiter.set_result(None)
        self._arm()
