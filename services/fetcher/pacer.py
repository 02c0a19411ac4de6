"""Decides whose turn it is: one request per host at a time, spaced, first come first served.

A request starts no sooner than the end of its host's last one + its gap; a host that waits never
holds up another. Pure: `now` comes in (any clock, seconds), the tickets to start come out.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from heapq import heappop, heappush


@dataclass(slots=True)
class _Host:
    ended: float = float("-inf")
    busy: bool = False
    waiting: deque[tuple[int, float]] = field(default_factory=deque)
    """(ticket, gap) in order of arrival."""


class Pacer:
    """The turns of all hosts. Tickets are numbers chosen by the caller, never reused."""

    def __init__(self, horizon: float) -> None:
        """Remember the end of a host's last request for `horizon` seconds, then forget it."""
        self._horizon = horizon
        self._hosts: dict[str, _Host] = {}
        self._idle: OrderedDict[str, None] = OrderedDict()
        self._agenda: list[tuple[float, int, str]] = []
        self.waiting = 0
        """Tickets in queues."""

    def enter(self, host: str, ticket: int, gap: float, now: float) -> bool:
        """Queue for a turn; True if it is the ticket's turn at once."""
        state = self._hosts.setdefault(host, _Host())
        self._idle.pop(host, None)
        if not state.busy and not state.waiting and state.ended + gap <= now:
            state.busy = True
            return True
        state.waiting.append((ticket, gap))
        self.waiting += 1
        if not state.busy and len(state.waiting) == 1:
            self._schedule(host, state)
        return False

    def leave(self, host: str, now: float) -> None:
        """End the running turn of `host`."""
        state = self._hosts[host]
        state.busy, state.ended = False, now
        self._rest(host, state)
        self._forget(now)

    def cancel(self, host: str, ticket: int) -> None:
        """Take a waiting ticket out of the queue."""
        state = self._hosts[host]
        left = deque(entry for entry in state.waiting if entry[0] != ticket)
        self.waiting -= len(state.waiting) - len(left)
        state.waiting = left
        if not state.busy:
            self._rest(host, state)

    def due(self, now: float) -> list[int]:
        """The tickets whose turn has come; each turn runs until `leave`."""
        started = []
        while self._agenda and self._agenda[0][0] <= now:
            _, _, host = heappop(self._agenda)
            state = self._hosts.get(host)
            if state is None or state.busy or not state.waiting:
                continue
            ticket, gap = state.waiting[0]
            if state.ended + gap > now:
                self._schedule(host, state)
                continue
            state.waiting.popleft()
            self.waiting -= 1
            state.busy = True
            started.append(ticket)
        return started

    def next_at(self) -> float | None:
        """When to ask `due` again; None for not before something else happens."""
        return self._agenda[0][0] if self._agenda else None

    def _rest(self, host: str, state: _Host) -> None:
        if state.waiting:
            self._schedule(host, state)
        else:
            self._idle[host] = None
            self._idle.move_to_end(host)

    def _schedule(self, host: str, state: _Host) -> None:
        ticket, gap = state.waiting[0]
        heappush(self._agenda, (state.ended + gap, ticket, host))

    def _forget(self, now: float) -> None:
        while self._idle:
            host = next(iter(self._idle))
            if self._hosts[host].ended + self._horizon > now:
                break
            del self._idle[host], self._hosts[host]
