"""The demo web's own record of who asked what and when: what politeness is audited with."""

from collections.abc import Iterable
from pathlib import Path

import msgspec


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as the server saw it; times in seconds since the epoch."""

    start: float
    """When the request had arrived."""
    end: float
    """When the last octet of the answer was handed to the kernel."""
    host: str
    method: str
    path: str
    """Path and query, as asked for."""
    status: int
    """0: the client went away before there was one."""
    conditional: bool = False


_LINE = msgspec.json.Decoder(Access)


def read(path: Path) -> list[Access]:
    """All requests so far, by time of arrival; a line still being written is left out."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return sorted(map(_LINE.decode, lines), key=lambda access: access.start)


def least_gaps(accesses: Iterable[Access]) -> dict[str, float]:
    """For each host asked twice or more: the least seconds from an answer to the next request.

    Negative if two requests were under way at once. To be compared with the host's delay.
    """
    gaps: dict[str, float] = {}
    ends: dict[str, float] = {}
    for access in sorted(accesses, key=lambda access: access.start):
        if access.host in ends:
            gap = access.start - ends[access.host]
            gaps[access.host] = min(gap, gaps.get(access.host, gap))
        ends[access.host] = max(access.end, ends.get(access.host, access.end))
    return gaps
