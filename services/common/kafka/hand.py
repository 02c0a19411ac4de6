"""What one consumer holds: records given out and not done, and what may be committed.

Decides when partitions pause and which offsets are finished. Pure: never talks to Kafka, has
no clock, no lock.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from services.common import chunks
from services.common.low_water import LowWater

MAX_OCTETS = 64 * 1024 * 1024
"""Octets of values in hand; from there on everything pauses."""
MAX_SPAN = 10_000
"""Records of one partition past its first unfinished one; from there on it pauses, so that a
crash repeats no more than this."""

Place = tuple[str, int]
"""Physical topic name and partition."""


@dataclass(slots=True)
class _Partition:
    low_water: LowWater = field(default_factory=LowWater)
    assembler: chunks.Assembler = field(default_factory=chunks.Assembler)
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """First offset -> all offsets, of values that came in parts."""
    committed: int | None = None
    newest: float = 0.0
    """Latest timestamp of a record."""
    next_offset: int = 0
    paused: bool = False


class Hand:
    """The assigned partitions and the records taken from them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._partitions: dict[Place, _Partition] = {}
        self._held: dict[tuple[Place, int], int] = {}
        self._octets = 0

    @property
    def places(self) -> list[Place]:
        """The assigned partitions, in order."""
        return sorted(self._partitions)

    def assign(self, places: Iterable[Place]) -> None:
        """These partitions are ours from now on."""
        self._partitions.update((place, _Partition()) for place in places)

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are not ours any more; records begun are done without us knowing."""
        for place in places:
            self._partitions.pop(place, None)

    def take(
        self,
        place: Place,
        offset: int,
        value: bytes | None,
        part: chunks.Part | None,
        timestamp: float,
    ) -> tuple[int, bytes | None] | None:
        """A record came: the offset and value to give out.

        None if there is nothing to give out: it is one part of a value that is not whole yet,
        or its partition is not ours any more.
        """
        partition = self._partitions.get(place)
        if partition is None:
            return None
        partition.newest = max(partition.newest, timestamp)
        partition.next_offset = offset + 1
        partition.low_water.start(offset)
        if part is not None:
            whole = partition.assembler.add(part, value or b"", offset, partition.newest)
            if whole is None:
                return None
            value, offset = whole.value, whole.offsets[0]
            partition.parts[offset] = whole.offsets
        size = len(value or b"")
        self._octets += size - self._held.get((place, offset), 0)
        self._held[(place, offset)] = size
        return offset, value

    def done(self, place: Place, offset: int) -> None:
        """All effects of a record that was given out are done; twice is harmless."""
        self.drop(place, offset)
        partition = self._partitions.get(place)
        if partition is not None:
            for each in partition.parts.pop(offset, (offset,)):
                partition.low_water.finish(each)

    def drop(self, place: Place, offset: int) -> None:
        """A record that was given out is not begun, and not held any more."""
        self._octets -= self._held.pop((place, offset), 0)

    def expire(self, end_of: Callable[[Place], int], wall: float) -> dict[Place, int]:
        """Give up values whose other parts will never come; how many parts of each partition.

        A partition's time is that of its newest record, so that a long pause loses nothing. At
        its end (`end_of`: the offset after its last record) it is the wall clock's.
        """
        dropped = {}
        for place, partition in self._partitions.items():
            if not len(partition.assembler):
                continue
            at_end = partition.next_offset >= end_of(place)
            sets = partition.assembler.expire(wall if at_end else partition.newest)
            for offset in (offset for offsets in sets for offset in offsets):
                partition.low_water.finish(offset)
            if sets:
                dropped[place] = sum(map(len, sets))
        return dropped

    def press(self) -> tuple[list[Place], list[Place]]:
        """The partitions to pause now and those to resume, as if that were done at once."""
        paused: list[Place] = []
        resumed: list[Place] = []
        for place, partition in self._partitions.items():
            pause = pressed(
                (len(self._held), self._limit),
                (self._octets, MAX_OCTETS),
                (partition.low_water.span, MAX_SPAN),
                paused=partition.paused,
            )
            if pause != partition.paused:
                partition.paused = pause
                (paused if pause else resumed).append(place)
        return paused, resumed

    def positions(self, places: Iterable[Place] | None = None) -> dict[Place, int]:
        """What is finished and not committed, of these partitions or all."""
        return {
            place: position
            for place in (self._partitions if places is None else places)
            if (partition := self._partitions.get(place)) is not None
            if (position := partition.low_water.position) is not None
            if position != partition.committed
        }

    def committed(self, place: Place, offset: int) -> None:
        """The broker has this position."""
        if (partition := self._partitions.get(place)) is not None:
            partition.committed = offset


def pressed(*levels: tuple[int, int], paused: bool) -> bool:
    """Whether a partition should pause, given (level, limit) pairs.

    It pauses when a limit is reached and goes on when every level is at most half its limit:
    between the two nothing changes, since each pause throws fetched records away.
    """
    if paused:
        return any(level * 2 > limit for level, limit in levels)
    return any(level >= limit for level, limit in levels)
