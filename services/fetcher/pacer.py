"""Decides which request starts when: the turns of hosts, of IP addresses and of slots.

A request starts no sooner than the end of its host's last one + its gap, and never beside another
of its host. Hosts of one IP address take turns: a few at once, and spaced. All share the slots.
What waits holds no slot and holds up no other. Pure: `now` comes in (any clock, seconds), what
starts comes out.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from services.fetcher import retry_after

_FOREVER = float("-inf")
_FREE = -1
_LENT = -2


class Start(NamedTuple):
    """A ticket whose turn has come, and the slot it runs in until its host leaves."""

    ticket: int
    slot: int


@dataclass(slots=True, eq=False)
class _Group:
    """Hosts at one address."""

    key: str
    started: float = _FOREVER
    running: int = 0
    tickets: int = 0
    """Waiting and running; with none the group is forgotten after a while."""
    left: float = _FOREVER
    wakes: float = _FOREVER
    """When the agenda looks at it next; in the past if it does not."""
    ready: dict["_Host", None] = field(default_factory=dict)
    """Hosts whose own gap is over, first come first served."""


class _Ticket(NamedTuple):
    gap: float
    group: _Group | None
    spacing: float


@dataclass(slots=True, eq=False)
class _Host:
    name: str
    ended: float = _FOREVER
    until: float = _FOREVER
    """No request before this time: the site asked for it, or does not answer."""
    slot: int = _FREE
    running: _Ticket | None = None
    waiting: dict[int, _Ticket] = field(default_factory=dict)
    """In order of arrival."""

    @property
    def busy(self) -> bool:
        return self.slot != _FREE

    def at(self) -> float:
        """When the first in its queue may start, as far as the host is concerned."""
        return max(self.ended + next(iter(self.waiting.values())).gap, self.until)


class Pacer:
    """The turns of all hosts. Tickets are numbers chosen by the caller, never reused."""

    def __init__(self, slots: int, at_once: int, horizon: float) -> None:
        """`slots` requests at once, `at_once` of them at one address.

        The end of a host's last request is remembered for `horizon` seconds.
        """
        self._at_once = at_once
        self._horizon = horizon
        self._free = list(range(slots))
        self._hosts: dict[str, _Host] = {}
        self._groups: dict[str, _Group] = {}
        self._idle: OrderedDict[_Host, None] = OrderedDict()
        self._quiet: OrderedDict[_Group, None] = OrderedDict()
        self._line: dict[_Host | _Group, None] = {}
        """What could start but for a slot, in turn."""
        self._agenda: list[tuple[float, int, _Host | _Group]] = []
        self._numbers = count()
        self.waiting = 0
        """Tickets in queues."""

    def enter(
        self,
        host: str,
        ticket: int,
        gap: float,
        now: float,
        *,
        group: str = "",
        spacing: float = 0.0,
        since: float = _FOREVER,
    ) -> None:
        """Queue for a turn, which `due` may give at once.

        `group` is the address, empty where none counts; `spacing` the least seconds between two
        starts there. Somebody else may have asked the host and its address until `since`.
        """
        state = self._hosts.get(host)
        if state is None:
            state = self._hosts[host] = _Host(host)
        self._idle.pop(state, None)
        state.ended = max(state.ended, since)
        first = not state.waiting
        shared = self._grouped(group)
        if shared is not None:
            shared.started = max(shared.started, since)
        state.waiting[ticket] = _Ticket(gap, shared, spacing)
        self.waiting += 1
        if first and not state.busy:
            self._look(state, now)

    def due(self, now: float) -> list[Start]:
        """What starts now; each turn runs until `leave`."""
        while self._agenda and self._agenda[0][0] <= now:
            self._look(heappop(self._agenda)[2], now)
        started: list[Start] = []
        while self._free and self._line:
            item = next(iter(self._line))
            del self._line[item]
            host = item if isinstance(item, _Host) else self._next_of(item, now)
            if host is not None:
                if self._can_start(host, now, item):
                    started.append(self._start(host, now))
                else:  # its first ticket was cancelled
                    self._look(host, now)
            if isinstance(item, _Group):
                self._look(item, now)
        return started

    def next_at(self) -> float | None:
        """When to ask `due` again; None for not before something else happens."""
        return self._agenda[0][0] if self._agenda else None

    def leave(self, host: str, now: float, *, trouble: float | None = None) -> None:
        """End the running turn of `host`.

        `trouble`: the site did not answer or asks us to go slow, for so many seconds (0 if it
        does not say). We stay away for as long, and for twice the gap. Requests that the
        scheduler sends once it knows have a wider gap, which doubles while it goes on.
        """
        state = self._hosts[host]
        ticket = state.running
        assert ticket is not None  # noqa: S101 - the caller's side of the contract
        self.lend(host)
        state.slot, state.running, state.ended = _FREE, None, now
        if trouble is not None:
            away = max(2 * ticket.gap, min(trouble, retry_after.CAP))
            state.until = max(state.until, now + away)
        if ticket.group is not None:
            ticket.group.running -= 1
            self._let_go(ticket.group, now)
            self._look(ticket.group, now)
        self._rest(state, now)
        self._forget(now)

    def lend(self, host: str) -> None:
        """The turn of `host` goes on without its slot, which others may have."""
        state = self._hosts[host]
        if state.slot >= 0:
            heappush(self._free, state.slot)
            state.slot = _LENT

    def cancel(self, host: str, ticket: int, now: float) -> None:
        """Take a waiting ticket out of the queue."""
        state = self._hosts[host]
        cancelled = state.waiting.pop(ticket, None)
        if cancelled is None:
            return
        self.waiting -= 1
        if cancelled.group is not None:
            self._let_go(cancelled.group, now)
        if not state.busy:
            self._rest(state, now)

    def held(self, host: str, now: float) -> float:
        """Seconds that the site itself keeps us away from now on; 0 if it does not."""
        state = self._hosts.get(host)
        return 0.0 if state is None else max(state.until - now, 0.0)

    def ahead(self, group: str) -> int:
        """Tickets that wait for an address."""
        found = self._groups.get(group)
        return 0 if found is None else found.tickets - found.running

    def queue(self, host: str) -> list[int]:
        """The tickets that wait for `host`."""
        return list(self._hosts[host].waiting)

    def _look(self, item: _Host | _Group, now: float) -> None:
        """Put a host or an address where it belongs: in the line, or on the agenda."""
        if isinstance(item, _Group):
            self._look_at_group(item, now)
        elif not item.busy and item.waiting:
            at, group = item.at(), next(iter(item.waiting.values())).group
            if at > now:
                heappush(self._agenda, (at, next(self._numbers), item))
            elif group is None:
                self._line.setdefault(item)
            else:
                group.ready.setdefault(item)
                self._look_at_group(group, now)

    def _look_at_group(self, group: _Group, now: float) -> None:
        if group.running >= self._at_once or not group.ready:
            return
        first = next(iter(next(iter(group.ready)).waiting.values()), None)
        at = group.started + (first.spacing if first else 0.0)
        if at <= now:
            self._line.setdefault(group)
        elif not now < group.wakes <= at:
            group.wakes = at
            heappush(self._agenda, (at, next(self._numbers), group))

    def _next_of(self, group: _Group, now: float) -> _Host | None:
        """The host whose turn it is at an address, taken out of its queue."""
        while group.ready and group.running < self._at_once:
            host = next(iter(group.ready))
            if self._can_start(host, now, group):
                if group.started + next(iter(host.waiting.values())).spacing > now:
                    return None
                del group.ready[host]
                return host
            # Its first ticket was cancelled, and what is behind it has to wait, or goes elsewhere.
            del group.ready[host]
            self._look(host, now)
        return None

    def _can_start(self, host: _Host, now: float, item: _Host | _Group) -> bool:
        if host.busy or not host.waiting or host.at() > now:
            return False
        group = next(iter(host.waiting.values())).group
        return item is group or (group is None and item is host)

    def _start(self, host: _Host, now: float) -> Start:
        number = next(iter(host.waiting))
        ticket = host.running = host.waiting.pop(number)
        host.slot = heappop(self._free)
        self.waiting -= 1
        if ticket.group is not None:
            ticket.group.running += 1
            ticket.group.started = now
        return Start(number, host.slot)

    def _rest(self, host: _Host, now: float) -> None:
        if host.waiting:
            self._look(host, now)
        else:
            self._idle[host] = None
            self._idle.move_to_end(host)

    def _grouped(self, key: str) -> _Group | None:
        if not key:
            return None
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(key)
        self._quiet.pop(group, None)
        group.tickets += 1
        return group

    def _let_go(self, group: _Group, now: float) -> None:
        group.tickets -= 1
        if not group.tickets:
            group.left = now
            self._quiet[group] = None

    def _forget(self, now: float) -> None:
        for _ in range(2):  # more than are added, so that it never lags behind
            if not self._idle:
                break
            host = next(iter(self._idle))
            if host.ended + self._horizon > now:
                break
            if host.until > now:
                self._idle.move_to_end(host)
            else:
                del self._idle[host], self._hosts[host.name]
        while self._quiet:
            group = next(iter(self._quiet))
            if group.left + self._horizon > now:
                break
            del self._quiet[group], self._groups[group.key]
        if len(self._agenda) > 2 * len(self._hosts) + 1000:
            self._clear_agenda(now)

    def _clear_agenda(self, now: float) -> None:
        """Entries that were replaced would stay until their time."""
        self._agenda = []
        for host in self._hosts.values():
            self._look(host, now)
        for group in self._groups.values():
            group.wakes = _FOREVER
            self._look(group, now)
