"""What passed the frontier lately, so that repeated links cost nothing.

A cache, never the seen-set: that is the scheduler's `urls` table. What is forgotten here passes
again and is recognised there. An entry is a fingerprint with the rules it passed under and the
depth it passed at: found again nearer to a seed, it passes again, because more of what it links
to is then within a job's depth limit. It passes again, too, where a site says that it changed
since (`lastmod`).
"""

import hashlib
from collections.abc import Mapping

import msgspec

from services.common.records import Rules

_encode = msgspec.msgpack.Encoder().encode


def tag(rules: Rules) -> bytes:
    """8 octets for `rules`; a key of the cache is a fingerprint followed by them."""
    return hashlib.blake2b(_encode(rules), digest_size=8).digest()


_DEPTHS = 1 << 32


def mark(depth: int, lastmod: float | None = None) -> int:
    """How a URL passed, as one number, which for most is small and costs no memory of its own."""
    return depth + int(lastmod or 0) * _DEPTHS


class Passed:
    """At most `capacity` keys, in two generations; below 2 it remembers nothing.

    When the young generation holds half of the capacity it becomes the old one, and what was
    old is forgotten, except keys asked for since: those moved to the young. That is nearly
    least-recently-used at the price of one dictionary look-up.
    """

    def __init__(self, capacity: int) -> None:
        self._half = capacity // 2
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def knows(self, key: bytes, depth: int, lastmod: float | None = None) -> bool:
        """Whether `key` passed lately at `depth` or nearer to a seed, and no older than now."""
        seen = self._seen(key)
        if seen is None:
            return False
        if lastmod is None and seen < _DEPTHS:
            return seen <= depth
        return seen % _DEPTHS <= depth and int(lastmod or 0) <= seen // _DEPTHS

    def remember(self, passed: Mapping[bytes, int]) -> None:
        """Keep the mark of each key; the least depth and the newest date of it and what is there.

        Each value is that of `mark`.
        """
        if not self._half:
            return
        for key, new in passed.items():
            seen = self._seen(key)
            if seen is not None:
                newest = max(new // _DEPTHS, seen // _DEPTHS)
                self._young[key] = min(new % _DEPTHS, seen % _DEPTHS) + newest * _DEPTHS
            else:
                self._put(key, new)

    def _seen(self, key: bytes) -> int | None:
        seen = self._young.get(key)
        if seen is None:
            seen = self._old.pop(key, None)
            if seen is not None:
                self._put(key, seen)
        return seen

    def _put(self, key: bytes, seen: int) -> None:
        if len(self._young) >= self._half:
            self._old = self._young
            self._young = {}
        self._young[key] = seen
