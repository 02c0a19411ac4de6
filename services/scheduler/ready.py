"""Which hosts can be asked now, and when the others can. Derived from the host rows, in memory.

Grows with hosts, never with URLs. Hosts take turns: each is served from the front and, with
more to give, goes to the back. Those that have not answered yet, or hang, queue on their own, so
that their requests never take the place of the others'.
"""

import heapq
import math
from collections import Counter
from collections.abc import Collection
from typing import Literal

from services.common.settings import Scheduler
from services.scheduler import pace, quarantine, timeline
from services.scheduler.budget import Side
from services.scheduler.rows import HostRow

Standing = Literal["proven", "trial"]
"""Whether a host answers, or has yet to show that it does."""
_STANDINGS: tuple[Standing, ...] = ("proven", "trial")
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
        self._sides: dict[Side, dict[Standing, dict[str, None]]] = {
            side: {standing: {} for standing in _STANDINGS} for side in ("due", "new")
        }
        self._first: Standing = "proven"
        self._pending: dict[str, dict[str, int]] = {}
        self._loads: dict[str, dict[str, int]] = {}
        self._wake: dict[str, float] = {}
        self._clock: list[tuple[float, str]] = []
        self.pending: Counter[str] = Counter()
        """URLs with work to come, over all hosts: waiting, retrying, in_flight, due, and paused,
        the first two of hosts that are held back; and how many hosts are in quarantine or were
        paused by an operator."""
        self.loads: Counter[str] = Counter()
        """`trial`: requests under way of hosts on trial. `uncrawled`: URLs that wait for their
        first fetch, but for those of hosts in quarantine."""

    def place(self, host: HostRow, now: float) -> None:
        """Sort the host in again after its row changed."""
        name = host.name
        has_room = len(host.flights) < pace.window(host, self._settings)
        can_ask = has_room and host.not_before <= now and not host.paused
        standing = self._standing(host, now)
        pending = _pending(host, self._settings, now)
        due = timeline.first_due(host, now) is not None
        self._set("due", name, standing if can_ask and due else None)
        self._set("new", name, standing if can_ask and timeline.has_new(host) else None)
        _replace(self.pending, self._pending, name, pending)
        load = {
            "trial": len(host.flights) if standing == "trial" else 0,
            "uncrawled": 0 if "hosts_quarantined" in pending else timeline.new_count(host),
        }
        _replace(self.loads, self._loads, name, load)
        self._wake_at(name, self._next_wake(host, now))

    def rest(self, name: str, until: float) -> None:
        """Leave the host's new URLs alone for a while; they wait for other hosts' reports."""
        self._set("new", name, None)
        self._wake_at(name, min(until, self._wake.get(name, math.inf)))

    def serve(self, side: Side, standings: Collection[Standing]) -> str:
        """The host whose turn it is; it goes to the back of the queue.

        Those that are proven and those that are not take turns too.
        """
        queues = self._sides[side]
        other: Standing = "trial" if self._first == "proven" else "proven"
        chosen = self._first if self._first in standings and queues[self._first] else other
        self._first = "trial" if chosen == "proven" else "proven"
        queue = queues[chosen]
        name = next(iter(queue))
        del queue[name]
        queue[name] = None
        return name

    def waits(self, side: Side, standings: Collection[Standing]) -> bool:
        """Whether any host of these standings can be asked on this side."""
        return any(self._sides[side][standing] for standing in standings)

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

    def names(self) -> set[str]:
        """All hosts that have anything to wait for."""
        queues = (queue for side in self._sides.values() for queue in side.values())
        return set(self._wake).union(self._pending, *queues)

    def _set(self, side: Side, name: str, wanted: Standing | None) -> None:
        for standing, queue in self._sides[side].items():
            if standing == wanted:
                queue.setdefault(name)
            else:
                queue.pop(name, None)

    def _standing(self, host: HostRow, now: float) -> Standing:
        hangs = pace.hangs_at(host, self._settings) <= now
        return "trial" if hangs or quarantine.unproven(host) else "proven"

    def _next_wake(self, host: HostRow, now: float) -> float:
        times = [flight.lease_until for flight in host.flights.values()]
        times.append(timeline.next_due_after(host, now))
        if host.not_before > now:
            times.append(host.not_before)
        hangs_at = pace.hangs_at(host, self._settings)
        if hangs_at > now:
            times.append(hangs_at)
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


def _pending(host: HostRow, settings: Scheduler, now: float) -> dict[str, int]:
    waiting = timeline.new_count(host) + timeline.fresh_count(host)
    retrying = timeline.retry_count(host)
    paused = {"paused": waiting + retrying, "in_flight": len(host.flights)}
    if host.paused:
        return {**paused, "hosts_paused": 1}
    if quarantine.holds(host, settings):
        return {**paused, "hosts_quarantined": 1}
    patience = _SOON if host.incidents <= _INCIDENTS else 0.0
    if host.not_before > now + patience:
        return paused
    due = timeline.due_count(host, now)
    return {"waiting": waiting, "retrying": retrying, "in_flight": len(host.flights), "due": due}


def _replace(
    totals: Counter[str], kept: dict[str, dict[str, int]], name: str, counts: dict[str, int]
) -> None:
    """Let a host's counts in the totals be these."""
    totals.update(counts)
    totals.subtract(kept.pop(name, {}))
    if any(counts.values()):
        kept[name] = counts
