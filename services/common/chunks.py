"""Large values as parts: how one value becomes several records and one value again.

Decides how to cut and when a set of parts is whole or given up. Never touches Kafka and has
no clock: `now` is the partition's time (newest record seen, or the wall clock at its end).
Bodies stay in Kafka so that a fetcher runs anywhere without access to the database.
"""

import re
from dataclasses import dataclass, field

HEADER = "recrawl-part"
"""Header of each part: `<set id in hex>/<index from 0>/<count>` in ASCII."""

MAX_COUNT = 1024
"""A header that claims more parts than this is taken as no header at all."""

_HEADER = re.compile(rb"([0-9a-f]{1,64})/([0-9]{1,4})/([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Part:
    """Where one record belongs: part `index` of `count` of the set `id`."""

    id: str
    index: int
    count: int

    def header(self) -> bytes:
        """The header's value."""
        return f"{self.id}/{self.index}/{self.count}".encode()


def split(value: bytes, limit: int, set_id: str) -> list[tuple[Part, bytes]]:
    """`value` cut into pieces of at most `limit` octets, at least one, in order."""
    pieces = [value[start : start + limit] for start in range(0, len(value), limit)] or [b""]
    return [(Part(set_id, index, len(pieces)), piece) for index, piece in enumerate(pieces)]


def read_header(value: bytes) -> Part | None:
    """The part that a header's value names; None if it names none."""
    found = _HEADER.fullmatch(value)
    if found is None:
        return None
    part = Part(found[1].decode(), int(found[2]), int(found[3]))
    return part if part.index < part.count <= MAX_COUNT else None


@dataclass(frozen=True, slots=True)
class Whole:
    """A value put together again, and the offsets of all its records."""

    value: bytes
    offsets: tuple[int, ...]


@dataclass(slots=True)
class _Set:
    count: int
    began: float
    pieces: dict[int, bytes] = field(default_factory=dict)
    offsets: list[int] = field(default_factory=list)
    size: int = 0


class Assembler:
    """Puts the parts of one partition together within bounds.

    A set that is not whole when a bound is met is dropped and its offsets are released: its
    sender died half-way, and what it was sent for will be sent again.
    """

    def __init__(
        self, *, max_sets: int = 64, max_bytes: int = 64 * 1024 * 1024, max_age: float = 300.0
    ) -> None:
        self._max_sets = max_sets
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._sets: dict[str, _Set] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, part: Part, piece: bytes, offset: int, now: float) -> Whole | None:
        """Take one part; the whole value once its last part is here."""
        pieces = self._sets.setdefault(part.id, _Set(part.count, now))
        pieces.offsets.append(offset)
        if part.index not in pieces.pieces and part.count == pieces.count:
            pieces.pieces[part.index] = piece
            pieces.size += len(piece)
            self._size += len(piece)
        if len(pieces.pieces) < pieces.count:
            return None
        self._remove(part.id)
        value = b"".join(pieces.pieces[index] for index in range(pieces.count))
        return Whole(value, tuple(pieces.offsets))

    def expire(self, now: float) -> list[tuple[int, ...]]:
        """Drop sets beyond a bound, oldest first; the offsets of each dropped set."""
        dropped = []
        for set_id in list(self._sets):
            pieces = self._sets[set_id]
            if (
                now - pieces.began <= self._max_age
                and len(self._sets) <= self._max_sets
                and self._size <= self._max_bytes
            ):
                break
            self._remove(set_id)
            dropped.append(tuple(pieces.offsets))
        return dropped

    def _remove(self, set_id: str) -> None:
        self._size -= self._sets.pop(set_id).size
