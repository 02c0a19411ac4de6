"""Which offset of a partition may be committed when records finish out of order.

Decides the commit position: everything below it is finished. Never commits itself.
"""

from collections import deque


class LowWater:
    """Started and finished offsets of one partition while it is ours."""

    def __init__(self) -> None:
        self._started: deque[int] = deque()
        """Ascending, from the first unfinished offset on."""
        self._open: set[int] = set()
        self._next: int | None = None

    def start(self, offset: int) -> None:
        """An offset was taken.

        One below the last means that the partition was rewound: what came before is forgotten.
        """
        if self._next is not None and offset < self._next:
            self._started.clear()
            self._open.clear()
        self._started.append(offset)
        self._open.add(offset)
        self._next = offset + 1

    def finish(self, offset: int) -> None:
        """All effects of an offset are done; unknown or repeated offsets are harmless."""
        self._open.discard(offset)
        while self._started and self._started[0] not in self._open:
            self._started.popleft()

    @property
    def position(self) -> int | None:
        """The offset to commit: the first unfinished one, or the one after the last taken.

        None before anything was taken. Offsets that Kafka left out (compaction, transaction
        marks) need no finish.
        """
        return self._started[0] if self._started else self._next

    @property
    def span(self) -> int:
        """Records from the commit position to the newest taken: what a crash repeats."""
        return len(self._started)
