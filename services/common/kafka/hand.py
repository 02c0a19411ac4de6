"""What one consumer holds: records given out and not done, and what may be committed.

Decides when partitions pause and which offsets are finished. Pure: never talks to Kafka, has
no clock, no lock.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from services.common import chunks
from services.common.kafka import marks
from services.common.kafka.marks import Mark
from services.common.low_water import LowWater

MAX_OCTETS = 64 * 1024 * 1024
"""Octets of values in hand; from there on everything pauses."""
MAX_SPAN = 10_000
"""Records of one partition past its first unfinished one; from there on it pauses, so that a
crash repeats no more than this."""

Place = tuple[str, int]
"""Physical topic name and partition."""


class Commit(NamedTuple):
    """What is committed for a partition: the first unfinished offset, and the mark's text."""

    offset: int
    text: str


@dataclass(slots=True)
class _Partition:
    low_water: LowWater = field(default_factory=LowWater)
    assembler: chunks.Assembler = field(default_factory=chunks.Assembler)
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """First offset -> all offsets, of values that came in parts."""
    mark: Mark = field(default_factory=Mark)
    base: int | None = None
    """Where it stood when it became ours."""
    committed: "Commit | None" = None
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

    @property
    def careful(self) -> bool:
        """Whether records are to be handled one at a time, of whatever partition."""
        return any(partition.mark.careful for partition in self._partitions.values())

    def assign(self, places: Iterable[Place]) -> None:
        """These partitions are ours from now on."""
        self._partitions.update((place, _Partition()) for place in places)

    def mark(self, place: Place, mark: Mark, base: int) -> None:
        """What is known of an assigned partition, and where it stands."""
        if (partition := self._partitions.get(place)) is not None:
            partition.mark, partition.base = mark, base

    def begin(self, place: Place, offset: int) -> int | None:
        """A record is about to be handled alone: how often that was fatal.

        None if its partition is not ours any more.
        """
        if (partition := self._partitions.get(place)) is None:
            return None
        partition.mark = replace(partition.mark, trying=offset)
        return partition.mark.fatal.get(offset, 0)

    def tries(self, place: Place, offset: int) -> bool:
        """Whether the record is still the one that its partition's mark names."""
        partition = self._partitions.get(place)
        return partition is not None and partition.mark.trying == offset

    def let_go(self, places: Iterable[Place]) -> None:
        """These partitions will be given up in order, at the next commit."""
        for place in places:
            if (partition := self._partitions.get(place)) is not None:
                partition.mark = marks.let_go(partition.mark)

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
            if partition.mark.trying == offset:
                partition.mark = replace(partition.mark, trying=None)

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

    def positions(self, places: Iterable[Place] | None = None) -> dict[Place, Commit]:
        """What is to be committed and is not, of these partitions or all."""
        found = {}
        for place in self._partitions if places is None else places:
            partition = self._partitions.get(place)
            if partition is None:
                continue
            offset = partition.low_water.position
            offset = partition.base if offset is None else offset
            if offset is None:
                continue
            partition.mark = marks.moved_on(partition.mark, offset)
            commit = Commit(offset, marks.write(partition.mark))
            if commit != partition.committed:
                found[place] = commit
        return found

    def committed(self, place: Place, commit: Commit) -> None:
        """The broker has this."""
        if (partition := self._partitions.get(place)) is not None:
            partition.committed = commit


def pressed(*levels: tuple[int, int], paused: bool) -> bool:
    """Whether a partition should pause, given (level, limit) pairs.

    It pauses when a limit is reached and goes on when every level is at most half its limit:
    between the two nothing changes, since each pause throws fetched records away.
    """
    if paused:
        return any(level * 2 > limit for level, limit in levels)
    return any(level >= limit for level, limit in levels)
