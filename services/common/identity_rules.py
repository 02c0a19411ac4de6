"""What makes two URLs one on some hosts, beyond the standard: rules by host, each one visible.

Decides a URL's identity and the host it is known under where a rules file says so, and names
every rule that had a part in it. Without rules it is exactly `identity.identity_of`. Touches the
*identity* only: what is fetched stays as the site wrote it. Whoever looks a page up by its URL
must use the rules that the frontier used.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from services.common.identity import (
    SESSIONS,
    TRACKING,
    TRACKING_PREFIXES,
    in_one_writing,
    left_out,
    name_of,
    without_session,
)
from services.common.urls import Url

_MAX_CACHED = 10_000


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules for one pattern of hosts, as the file has them.

    A name may end in `*`, which stands for any end. Lists of several blocks that match a host
    add up; of switches, and of `keep_only`, the most specific block's holds.
    """

    drop: list[str] = []
    """Query parameters that make no difference."""
    keep: list[str] = []
    """Query parameters that do, though the built-in tables leave them out."""
    keep_only: list[str] | None = None
    """The only query parameters that make a difference."""
    session: list[str] = []
    """Names of session ids, as query or as path parameters (`;name=value`)."""
    path_parameters: list[str] = []
    """Path parameters (`;name`, `;name=value`) that make no difference."""
    ignore_trailing_slash: bool | None = None
    ignore_www: bool | None = None
    """`www.h.test` is `h.test`; ask for it under `h.test` or a wildcard."""
    ignore_scheme: bool | None = None
    """http and https are one, on their own ports."""


class Named(NamedTuple):
    """What a URL is known by."""

    identity: str
    host: str
    """The host in all records: the URL's own unless `www.` is ignored."""
    merges: tuple[str, ...]
    """Kinds of the rules that changed the identity, of `KINDS`."""


class Step(NamedTuple):
    """One rule that changed an identity, and what it made of it."""

    rule: str
    identity: str


class _Parts(NamedTuple):
    scheme: str
    host: str
    path: str
    query: tuple[str, ...]

    def __str__(self) -> str:
        query = f"?{'&'.join(self.query)}" if self.query else ""
        return f"{self.scheme}://{self.host}{self.path}{query}"


class _Names:
    """A set of parameter names, some given by how they begin."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        names = frozenset(names)
        self._prefixes = tuple(sorted(name[:-1] for name in names if name.endswith("*")))
        self._exact = frozenset(name for name in names if not name.endswith("*"))

    def __contains__(self, name: str) -> bool:
        if "%" in name:
            name = unquote(name)
        return name in self._exact or (bool(self._prefixes) and name.startswith(self._prefixes))


@dataclass(frozen=True, slots=True)
class HostRules:
    """All that holds for one host."""

    drop: _Names
    keep: _Names
    keep_only: _Names | None
    session: _Names
    path_parameters: _Names
    ignore_trailing_slash: bool
    ignore_www: bool
    ignore_scheme: bool


def _combined(blocks: list[Block]) -> HostRules:
    """`blocks` from the most general to the most specific."""

    def last(values: Iterable[bool | None]) -> bool:
        return next((value for value in reversed(list(values)) if value is not None), False)

    only = next((b.keep_only for b in reversed(blocks) if b.keep_only is not None), None)
    return HostRules(
        drop=_Names(name for block in blocks for name in block.drop),
        keep=_Names(name for block in blocks for name in block.keep),
        keep_only=None if only is None else _Names(only),
        session=_Names(name for block in blocks for name in block.session),
        path_parameters=_Names(name for block in blocks for name in block.path_parameters),
        ignore_trailing_slash=last(block.ignore_trailing_slash for block in blocks),
        ignore_www=last(block.ignore_www for block in blocks),
        ignore_scheme=last(block.ignore_scheme for block in blocks),
    )


_STANDARD = _combined([])


class IdentityRules:
    """Rules by host pattern: an exact host name, `*.domain` (and the domain itself), or `*`."""

    def __init__(self, blocks: Mapping[str, Block] | None = None) -> None:
        self._blocks = dict(blocks or {})
        self._by_host: dict[str, HostRules | None] = {}

    def name(self, url: Url) -> Named:
        """What `url` is known by."""
        rules = self._for_host(url.hostname) if self._blocks else None
        if rules is None:
            # What the built-in tables leave out makes it another; nothing else needs a look.
            other = url.identity != url.href
            return Named(url.identity, url.host, left_out(url.href) if other else ())
        steps, parts = _trace(url, rules)
        merges = tuple(step.rule for step in steps if step.rule != "standard")
        return Named(str(parts), parts.host, merges)

    def explain(self, url: Url) -> list[Step]:
        """Each rule that changed something, in order; the last one's result is the identity."""
        return _trace(url, self._for_host(url.hostname) or _STANDARD)[0]

    def _for_host(self, hostname: str) -> HostRules | None:
        """The host's rules; None if no block matches."""
        try:
            return self._by_host[hostname]
        except KeyError:
            pass
        if len(self._by_host) >= _MAX_CACHED:
            self._by_host.clear()
        found = self._by_host[hostname] = self._look_up(hostname)
        return found

    def _look_up(self, hostname: str) -> HostRules | None:
        bare = _bare(hostname)
        if bare is not None:
            # Both names must come to one, so the shorter one's rules hold for both.
            shared = _combined(self._matching(bare))
            if shared.ignore_www:
                return shared
        blocks = self._matching(hostname)
        return _combined(blocks) if blocks else None

    def _matching(self, hostname: str) -> list[Block]:
        """From the most general to the most specific."""
        labels = hostname.split(".")
        suffixes = [".".join(labels[start:]) for start in reversed(range(len(labels)))]
        patterns = ["*", *(f"*.{suffix}" for suffix in suffixes), hostname]
        return [self._blocks[pattern] for pattern in patterns if pattern in self._blocks]


def explain_identity(url: Url, rules: IdentityRules) -> list[Step]:
    """How `url` came by its identity: `fetched` as it is, then each rule that changed it."""
    return [Step("fetched", url.href), *rules.explain(url)]


def _bare(host: str) -> str | None:
    """`www.h.test` -> `h.test`; None for any other, for `www.com` and for `www.www.h.test`."""
    rest = host.removeprefix("www.")
    return rest if rest != host and "." in rest and not rest.startswith("www.") else None


def _trace(url: Url, rules: HostRules) -> tuple[list[Step], _Parts]:
    location, _, query = url.href.partition("?")
    path = location[len(url.scheme) + 3 + len(url.host) :]
    parts = _Parts(url.scheme, url.host, path, tuple(query.split("&")) if query else ())
    steps = []
    before = url.href
    for kind, rule in _RULES:
        parts = rule(parts, rules)
        after = str(parts)
        if after != before:
            steps.append(Step(kind, after))
            before = after
    return steps, parts


def _standard(parts: _Parts, _: HostRules) -> _Parts:
    query = sorted((in_one_writing(part) for part in parts.query if part), key=name_of)
    return parts._replace(path=in_one_writing(parts.path), query=tuple(query))


def _is_kept(name: str, rules: HostRules) -> bool:
    """Whether the file speaks up for a parameter of the built-in tables."""
    return name in rules.keep or (rules.keep_only is not None and name in rules.keep_only)


def _tracking(parts: _Parts, rules: HostRules) -> _Parts:
    return _without(
        parts,
        lambda name: (
            (name in TRACKING or name.startswith(TRACKING_PREFIXES)) and not _is_kept(name, rules)
        ),
    )


def _session(parts: _Parts, rules: HostRules) -> _Parts:
    parts = _without(
        parts,
        lambda name: name in rules.session or (name in SESSIONS and not _is_kept(name, rules)),
    )
    path = _without_path_parameters(parts.path, rules.session)
    return parts._replace(path=without_session(path))


def _drop(parts: _Parts, rules: HostRules) -> _Parts:
    return _without(parts, lambda name: name in rules.drop)


def _keep_only(parts: _Parts, rules: HostRules) -> _Parts:
    only = rules.keep_only
    return parts if only is None else _without(parts, lambda name: name not in only)


def _path_parameters(parts: _Parts, rules: HostRules) -> _Parts:
    path = _without_path_parameters(parts.path, rules.path_parameters)
    # Without them a segment may look like a session's, and an identity is a fixed point.
    return parts if path == parts.path else parts._replace(path=without_session(path))


def _trailing_slash(parts: _Parts, rules: HostRules) -> _Parts:
    return (
        parts._replace(path=parts.path.rstrip("/") or "/") if rules.ignore_trailing_slash else parts
    )


def _www(parts: _Parts, rules: HostRules) -> _Parts:
    return parts._replace(host=_bare(parts.host) or parts.host) if rules.ignore_www else parts


def _scheme(parts: _Parts, rules: HostRules) -> _Parts:
    own_port = ":" not in parts.host.rpartition("]")[2]
    wanted = rules.ignore_scheme and parts.scheme == "http" and own_port
    return parts._replace(scheme="https") if wanted else parts


_RULES: tuple[tuple[str, Callable[[_Parts, HostRules], _Parts]], ...] = (
    ("standard", _standard),
    ("tracking", _tracking),
    ("session", _session),
    ("drop", _drop),
    ("keep-only", _keep_only),
    ("path-parameter", _path_parameters),
    ("trailing-slash", _trailing_slash),
    ("www", _www),
    ("scheme", _scheme),
)
KINDS = tuple(kind for kind, _ in _RULES)


def _without(parts: _Parts, dropped: Callable[[str], bool]) -> _Parts:
    if not parts.query:
        return parts
    return parts._replace(query=tuple(p for p in parts.query if not dropped(name_of(p))))


def _without_path_parameters(path: str, names: _Names) -> str:
    if ";" not in path:
        return path
    return "/".join(_without_parameters(segment, names) for segment in path.split("/"))


def _without_parameters(segment: str, names: _Names) -> str:
    first, *parameters = segment.split(";")
    kept = [parameter for parameter in parameters if name_of(parameter) not in names]
    if not kept and first in (".", ".."):
        return segment  # what would be left is a dot segment
    return ";".join([first, *kept])
