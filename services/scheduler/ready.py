"""Which hosts can be asked now, and when the others can. Derived from the host rows, in memory.

Grows with hosts, never with URLs. Hosts take turns: each is served from the front and, with
more to give, goes to the back.
"""

import heapq
import math
from collections import Counter

from services.common.settings import Scheduler
from services.scheduler import pace, timeline
from services.scheduler.budget import Side
from services.scheduler.rows import HostRow

_SOON = 60.0
_INCIDENTS = 3
"""What waits for a host that is held back for longer than this, or again after so many incidents
without a success, is no work for now."""

_SLACK = 1000
"""Replaced wake-ups kept, beside one for each host, before they are cleared out."""


class Ready:
    """The hosts of one partition by what they can give now, and a clock of wake-ups."""

    def __init__(self, settings: Scheduler) -> None:
        self._settings = settings
        self._sides: dict[Side, dict[str, None]] = {"due": {}, "new": {}}
        self._pending: dict[str, dict[str, int]] = {}
        self._wake: dict[str, float] = {}
        self._clock: list[tuple[float, str]] = []
        self.pending: Counter[str] = Counter()
        """URLs with work to come, over all hosts: waiting, retrying, in_flight, due, and paused,
        the first two of hosts that are held back."""

    def place(self, host: HostRow, now: float) -> None:
        """Sort the host in again after its row changed."""
        name = host.name
        can_ask = len(host.flights) < pace.window(host, self._settings) and host.not_before <= now
        pending = _pending(host, now)
        due = timeline.first_due(host, now) is not None
        self._set("due", name, wanted=can_ask and due)
        self._set("new", name, wanted=can_ask and timeline.has_new(host))
        self.pending.update(pending)
        self.pending.subtract(self._pending.pop(name, {}))
        if any(pending.values()):
            self._pending[name] = pending
        self._wake_at(name, self._next_wake(host, now))

    def rest(self, name: str, until: float) -> None:
        """Leave the host's new URLs alone for a while; they wait for other hosts' reports."""
        self._set("new", name, wanted=False)
        self._wake_at(name, min(until, self._wake.get(name, math.inf)))

    def serve(self, side: Side) -> str:
        """The host whose turn it is; it goes to the back of the queue."""
        queue = self._sides[side]
        name = next(iter(queue))
        del queue[name]
        queue[name] = None
        return name

    def waits(self, side: Side) -> bool:
        """Whether any host can be asked on this side."""
        return bool(self._sides[side])

    def wake(self, now: float) -> str | None:
        """A host whose wake-up time has come, each once; None when there is no more."""
        while self._clock and self._clock[0][0] <= now:
            at, name = heapq.heappop(self._clock)
            if self._wake.get(name) == at:
                del self._wake[name]
                return name
        return None

    def next_wake(self) -> float:
        """When the next host has to be looked at; infinity if none has."""
        return self._clock[0][0] if self._clock else math.inf

    def sleeper(self) -> str | None:
        """The host that wakes first."""
        return self._clock[0][1] if self._clock else None

    def _set(self, side: Side, name: str, *, wanted: bool) -> None:
        if wanted:
            self._sides[side].setdefault(name)
        else:
            self._sides[side].pop(name, None)

    def _next_wake(self, host: HostRow, now: float) -> float:
        times = [flight.lease_until for flight in host.flights.values()]
        times.append(timeline.next_due_after(host, now))
        if host.not_before > now:
            times.append(host.not_before)
        return min(times)

    def _wake_at(self, name: str, at: float) -> None:
        if self._wake.get(name) == at:
            return
        if math.isinf(at):
            self._wake.pop(name, None)
            return
        self._wake[name] = at
        heapq.heappush(self._clock, (at, name))
        if len(self._clock) > 2 * len(self._wake) + _SLACK:
            # Wake-ups that were replaced would stay until their time, which may be weeks away.
            self._clock = [(at, name) for name, at in self._wake.items()]
            heapq.heapify(self._clock)


def _pending(host: HostRow, now: float) -> dict[str, int]:
    waiting, retrying = timeline.new_count(host), timeline.retry_count(host)
    due = timeline.due_count(host, now)
    patience = _SOON if host.incidents <= _INCIDENTS else 0.0
    if host.not_before > now + patience:
        return {"paused": waiting + retrying, "in_flight": len(host.flights)}
    return {"waiting": waiting, "retrying": retrying, "in_flight": len(host.flights), "due": due}
