"""Which record killed the process: what a partition's committed offset says beside the offset.

Kafka keeps a short text with each commit. It outlives us, so it says whose the partition is,
how often it was left behind by a process that died, and which record was under way alone.
Decides when records are handled one at a time and how often one was fatal. Pure.
"""

import msgspec
from msgspec.structs import replace

CAREFUL_AFTER = 2
"""Deaths with the same records at risk; from then on they are handled one at a time."""
REACH = 11_000
"""Offsets past the committed one that a process may have had in hand, rounded up."""
_KEPT = 32
"""Records whose deaths are remembered, so that the text stays short (Kafka takes 4,096)."""


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one partition."""

    owner: str = ""
    """The consumer that holds it; empty once it was let go in order."""
    deaths: int = 0
    """Processes that died with offsets below `until` at risk, none of them known to be guilty."""
    until: int = 0
    trying: int | None = None
    """The record that is under way, and nothing else in its process is."""
    fatal: dict[int, int] = {}
    """Offset -> deaths while that record was under way alone."""

    @property
    def careful(self) -> bool:
        """Whether records are to be handled one at a time."""
        return self.deaths >= CAREFUL_AFTER or bool(self.fatal)


def read(text: str | None) -> Mark:
    """The mark in a commit's text; a new one if it is not ours."""
    try:
        return msgspec.json.decode(text or "", type=Mark)
    except (msgspec.MsgspecError, UnicodeError):
        return Mark()


def write(mark: Mark) -> str:
    """The text for a commit."""
    return msgspec.json.encode(mark).decode()


def taken_over(mark: Mark, owner: str, position: int, end: int | None) -> tuple[Mark, bool]:
    """The mark when `owner` gets the partition, and whether the one before it died.

    `position` is the committed offset, `end` the offset after the partition's last record. One
    who lost its partition and comes back itself did not die.
    """
    died = mark.owner not in {"", owner}
    left = replace(mark, owner=owner, trying=None)
    if died and mark.trying is not None:
        count = mark.fatal.get(mark.trying, 0) + 1
        left = replace(left, fatal=_bounded({**mark.fatal, mark.trying: count}))
    elif died and not mark.careful:
        until = position + REACH if end is None else min(end, position + REACH)
        left = replace(left, deaths=mark.deaths + 1, until=max(until, mark.until))
    return moved_on(left, position), died


def moved_on(mark: Mark, position: int) -> Mark:
    """The mark when all below `position` is finished: what is behind us is forgotten."""
    if mark.deaths and position >= mark.until:
        mark = replace(mark, deaths=0, until=0)
    if any(offset < position for offset in mark.fatal):
        fatal = {offset: count for offset, count in mark.fatal.items() if offset >= position}
        mark = replace(mark, fatal=fatal)
    return mark


def harmless(mark: Mark) -> bool:
    """Whether the partition was let go in order, and no record in it is suspected of anything."""
    return not (mark.owner or mark.deaths or mark.fatal)


def let_go(mark: Mark) -> Mark:
    """The mark when the partition is given up in order."""
    return replace(mark, owner="", trying=None)


def _bounded(fatal: dict[int, int]) -> dict[int, int]:
    if len(fatal) <= _KEPT:
        return fatal
    return dict(sorted(fatal.items(), key=lambda pair: -pair[1])[:_KEPT])
