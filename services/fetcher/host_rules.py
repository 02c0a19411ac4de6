"""What the rules file says about a host: proxy, egress, TLS, cookies, headers, sizes, module.

Pure: the file's text comes in, options for a URL come out. Every rule whose pattern matches
applies, in the file's order; where two name the same option the later one wins.
"""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address
from typing import Annotated, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from services.common.patterns import Pattern, compiled

OWN = frozenset(
    ("host", "user-agent", "connection", "content-length", "transfer-encoding", "cookie", "te")
)
"""Headers that no rule may set: framing, and who we are."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile("[\x20-\x7e\x80-\xff]*")
_PROXY_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `tls`: it is spoken to over TLS."""

    host: str
    port: int
    tls: bool
    authorization: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a host's URLs are fetched."""

    proxy: Proxy | None = None
    egress: tuple[str, ...] = ()
    """Local addresses to connect from; empty for the system's choice."""
    egress_by: Literal["host", "turn"] = "host"
    """One of several: always the same for a host name, or each in turn."""
    tls: Literal["verify", "record"] = "verify"
    """A certificate that cannot be trusted: refuse, or go on and say so."""
    cookies: Literal["off", "host"] = "off"
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case."""
    max_body: int | None = None
    """Octets; None for the setting."""
    keep_types: tuple[str, ...] = ()
    """Media types whose bodies are wanted (`text/*`); empty for all."""
    skip_types: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    """Ports that may be connected to; empty for all but those of other protocols."""
    per_ip: bool = True
    """Shares `ip_slots` and `ip_gap` with the other hosts at its address."""
    module: str = ""
    """The module that fetches pages in the protocol's place; empty for none."""


DEFAULT = Options()

_Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
_Size = Annotated[int, msgspec.Meta(ge=1024)]


class _Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[rule]]`; what it leaves out it does not decide."""

    hosts: Annotated[list[str], msgspec.Meta(min_length=1)]
    paths: list[str] = []
    proxy: str | None = None
    egress: list[str] | None = None
    egress_by: Literal["host", "turn"] | None = None
    tls: Literal["verify", "record"] | None = None
    cookies: Literal["off", "host"] | None = None
    headers: dict[str, str] | None = None
    max_body: _Size | None = None
    keep_types: list[str] | None = None
    skip_types: list[str] | None = None
    ports: list[_Port] | None = None
    per_ip: bool | None = None
    module: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: list[_Rule] = []


class Decision(NamedTuple):
    """One rule, as `parse` makes it."""

    hosts: tuple[str, ...]
    paths: tuple[Pattern, ...]
    """One of them is found in the path and query; empty for every path."""
    changes: dict[str, object]
    """Options by name."""


class HostRules:
    """Options by host name, and by path where a rule names paths."""

    def __init__(self, rules: list[Decision]) -> None:
        self._rules = rules
        self._for_host = lru_cache(maxsize=10_000)(self._of_host)
        self.modules = frozenset(
            str(rule.changes["module"]) for rule in rules if rule.changes.get("module")
        )
        """Those that some rule names."""

    def options(self, hostname: str, path: str = "/") -> Options:
        """What the rules say of a URL on `hostname` with this path and query."""
        rules, options = self._for_host(hostname)
        if not rules:
            return options
        return _merged(
            rule.changes
            for rule in rules
            if not rule.paths or any(pattern.search(path) for pattern in rule.paths)
        )

    def _of_host(self, hostname: str) -> tuple[list[Decision], Options]:
        """The host's rules where the path matters; else none, and the options."""
        rules = [
            rule
            for rule in self._rules
            if any(fnmatchcase(hostname, pattern) for pattern in rule.hosts)
        ]
        if any(rule.paths for rule in rules):
            return rules, DEFAULT
        return [], _merged(rule.changes for rule in rules)


def _merged(changes: Iterable[dict[str, object]]) -> Options:
    decided: dict[str, object] = {}
    for change in changes:
        decided |= change
    return replace(DEFAULT, **decided) if decided else DEFAULT  # type: ignore[arg-type] # by the names of its own fields


NO_RULES = HostRules([])


def parse(text: str) -> HostRules:
    """The rules of a file.

    Raises:
        ValueError: what is wrong with it.
    """
    file = msgspec.toml.decode(text, type=_File)
    return HostRules(
        [
            Decision(
                tuple(pattern.lower() for pattern in rule.hosts),
                tuple(compiled(pattern) for pattern in rule.paths),
                _decided(rule),
            )
            for rule in file.rule
        ]
    )


def wanted(content_type: str, options: Options) -> bool:
    """Whether a body of this Content-Type is to be read; one without a type always is."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind:
        return True
    if any(fnmatchcase(kind, pattern) for pattern in options.skip_types):
        return False
    keep = options.keep_types
    return not keep or any(fnmatchcase(kind, pattern) for pattern in keep)


def _decided(rule: _Rule) -> dict[str, object]:
    named = {field.name: getattr(rule, field.name) for field in fields(Options)}
    decided = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in named.items()
        if value is not None
    }
    if rule.proxy is not None:
        decided["proxy"] = None if rule.proxy == "off" else _proxy(rule.proxy)
    if rule.module == "off":
        decided["module"] = ""
    if rule.headers is not None:
        decided["headers"] = tuple(_header(*item) for item in rule.headers.items())
    for address in rule.egress or ():
        ip_address(address)
    return decided


def _proxy(text: str) -> Proxy:
    parts = urlsplit(text)
    if parts.scheme not in _PROXY_PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"proxy {text!r}: want http://host:port, https://host:port or off")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(
        parts.hostname,
        parts.port or _PROXY_PORTS[parts.scheme],
        parts.scheme == "https",
        authorization,
    )


def _header(name: str, value: str) -> tuple[str, str]:
    if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in OWN:
        raise ValueError(f"header {name!r} cannot be set")
    return name.lower(), value
