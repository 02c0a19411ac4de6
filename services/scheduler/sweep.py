"""A command to all hosts of a partition: a few hosts with each tick, until all have obeyed (A6).

What is left to do is kept in a row beside those of the hosts, so it survives a restart. Hosts
remember what they have obeyed; after a restart all are asked again.
"""

from collections import deque
from collections.abc import Callable, Collection

from services.common.records import Command
from services.scheduler import commands
from services.scheduler.rows import HostRow, Rows, Sweep

_BATCH = 128
"""Hosts that obey in one event, so that no event takes long."""


def is_keeper(host: HostRow) -> bool:
    """Whether it is no host's row but the one that keeps sweeps; no host has such a name."""
    return host.name.startswith("\0")


class Sweeps:
    """One partition's, done one after another."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._sweeps: list[Sweep] = []
        self._left: deque[str] = deque()

    @property
    def count(self) -> int:
        """Commands that not all hosts have obeyed yet."""
        return len(self._sweeps)

    def load(self, keeper: HostRow, names: Collection[str]) -> None:
        """Go on after a restart."""
        self._sweeps = list(keeper.sweeps)
        self._left = deque(names)

    def begin(self, command: Command, rows: Rows, names: Collection[str]) -> dict[str, int]:
        """Take a command on; `names`: hosts that it may mean."""
        if command.name != "move":
            return {"not_for_all_hosts": 1}
        if all(sweep.id != command.id for sweep in self._sweeps):
            until = command.due_to
            self._sweeps.append(Sweep(command.id, command.due_from, until, command.at))
            if self.count == 1:
                self._left = deque(names)
        self._save(rows)
        return {"hosts_to_move": len(names)}

    def go_on(self, rows: Rows, names: Callable[[], Collection[str]], now: float) -> list[HostRow]:
        """Let some hosts obey; their rows, to be placed anew. `names`: for the next sweep."""
        changed = []
        for _ in range(_BATCH if self._sweeps else 0):
            if not self._left:
                del self._sweeps[0]
                self._save(rows)
                self._left = deque(names() if self._sweeps else ())
                break
            host = rows.host(self._left.popleft())
            if host is not None:
                commands.to_host(_command(self._sweeps[0]), host, now)
                rows.save_host(host)
                changed.append(host)
        return changed

    def _save(self, rows: Rows) -> None:
        name = f"\0{self._number}"
        rows.save_host(HostRow(name=name, partition=self._number, sweeps=list(self._sweeps)))


def _command(sweep: Sweep) -> Command:
    return Command(
        id=sweep.id,
        name="move",
        asked_at=0.0,
        due_from=sweep.due_from,
        due_to=sweep.due_to,
        at=sweep.at,
    )
