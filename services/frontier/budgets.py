"""Traps that show over many URLs only: faceted search, and sessions in paths (D10).

Decides how many combinations of filters one path may have, and how many URLs with a session's
id one host. A bounded memory of this process: what it forgets may be spent again. A URL that
was let through is let through again, so that work done twice spends nothing.
"""

import re
from hashlib import blake2b

from services.common.urls import Url

REASONS = ("trap-facets", "trap-session")

_SHAPES = 8
"""Sets of parameter names by which an ordinary path may be asked; more is a search form."""
_INDEX = re.compile(r"(?:\[|%5[Bb]).*")
_SESSION = re.compile(
    r"[/;](?:sid|sess|session|session_?id|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken)"
    r"[=:/-](?=[a-z]*[0-9])[0-9a-z,-]{16,}(?=[/;.]|\Z)",
    re.IGNORECASE,
)


class _Spent:
    """What one path, or one host's sessions, have used."""

    __slots__ = ("shapes", "taken")

    def __init__(self) -> None:
        self.shapes: set[tuple[str, ...]] = set()
        """Sets of parameter names seen, until there are too many."""
        self.taken: dict[bytes, bytes] = {}
        """Fingerprint by combination."""


class Budgets:
    """At most `most` combinations each, for the `capacity` paths asked for last; 0: no limit."""

    def __init__(self, capacity: int, most: int) -> None:
        self._capacity = capacity
        self._most = most
        self._spent: dict[str, _Spent] = {}

    def refusal(self, url: Url, identity: str, fingerprint: bytes) -> str | None:
        """Which of `REASONS` speaks against a URL; if none does, its share is spent."""
        if not self._most:
            return None
        path, _, query = url.path.partition("?")
        if ("&" in query or "[" in query or "%5" in query) and not self._has_room(
            url.host + path, query, fingerprint
        ):
            return "trap-facets"
        # By the identity: a session that makes no difference makes no URLs.
        if _SESSION.search(identity.partition("?")[0]) and not self._take(
            self._entry(url.host), fingerprint, fingerprint
        ):
            return "trap-session"
        return None

    def _has_room(self, key: str, query: str, fingerprint: bytes) -> bool:
        pairs = [part.partition("=") for part in query.split("&") if part]
        stems = [_INDEX.sub("", name) for name, _, _ in pairs]
        spent = self._entry(key)
        indexed = any(stem != name for stem, (name, _, _) in zip(stems, pairs, strict=True))
        if not indexed and len(set(stems)) == len(stems):
            if len(spent.shapes) <= _SHAPES:
                spent.shapes.add(tuple(sorted(stems)))
            if len(spent.shapes) <= _SHAPES:
                return True
        values = [value for _, _, value in pairs]
        chosen = sorted(map("=".join, zip(stems, values, strict=True)))
        combination = blake2b("&".join(chosen).encode(), digest_size=8).digest()
        return self._take(spent, combination, fingerprint)

    def _take(self, spent: _Spent, combination: bytes, fingerprint: bytes) -> bool:
        """Whether it was taken before for the same URL, or there is room for it."""
        before = spent.taken.get(combination)
        if before is not None:
            return before == fingerprint
        if len(spent.taken) >= self._most:
            return False
        spent.taken[combination] = fingerprint
        return True

    def _entry(self, key: str) -> _Spent:
        """The key's entry, moved to the end of those that are forgotten first."""
        spent = self._spent.pop(key, None) or _Spent()
        if len(self._spent) >= self._capacity:
            del self._spent[next(iter(self._spent))]
        self._spent[key] = spent
        return spent
