"""One line of a file of known URLs: a bare URL, or JSON with its history. Pure.

Judged by itself as the frontier judges a link: writing, length, traps. Scope is not asked, since
whoever imports a URL means it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from services.common.records import AdmittedUrl, Outcome, Past, Rules, Scope
from services.common.urls import BadUrl, fingerprint, parse
from services.frontier.core import Limits
from services.frontier.scope import root_of
from services.frontier.traps import trap

_DIGEST = 16
_Positive = Annotated[float, Meta(ge=0)]
_Validator = Annotated[str, Meta(max_length=1000)]


class Refused(Exception):  # noqa: N818 - named for what becomes of the line
    """The line cannot be used; `reason` is one of docs/refusals.md, or `json` or `encoding`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What a JSON line may say; unknown fields are left aside."""

    url: str
    job: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    depth: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    fetched_at: _Positive | datetime = 0.0
    """Last successful fetch: epoch seconds, or RFC 3339 with a zone; 0 for never."""
    changed_at: _Positive | datetime = 0.0
    interval: _Positive = 0.0
    """Seconds from one fetch to the next; 0: as the policy begins."""
    etag: _Validator | None = None
    last_modified: _Validator | None = None
    digest: str = ""
    """Of the decoded body, in hex: BLAKE2b of 16 octets."""
    size: Annotated[int, Meta(ge=0, le=2**53)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What lines do not say."""

    job: str
    scope: Scope
    max_depth: int | None
    year: int
    """Of today, for traps."""


_decode = msgspec.json.Decoder(Line).decode


def known(line: bytes, limits: Limits, defaults: Defaults) -> tuple[str, Rules, AdmittedUrl] | None:
    """Host, rules and URL of a line; None for an empty one.

    Raises:
        Refused: with the reason.
    """
    text = line.strip()
    if not text:
        return None
    told = _line(text)
    try:
        url = parse(told.url.strip(), schemes=limits.schemes)
    except BadUrl as error:
        raise Refused(error.reason) from error
    if len(url.href) > limits.max_url_length:
        raise Refused("too-long")
    reason = trap(url, limits.traps, defaults.year)
    if reason is not None:
        raise Refused(reason)
    named = limits.identity.name(url)
    rules = Rules(
        job=told.job or defaults.job,
        scope=defaults.scope,
        root=root_of(url, named.host, defaults.scope),
        max_depth=defaults.max_depth,
    )
    admitted = AdmittedUrl(
        url=url.href,
        fingerprint=fingerprint(named.identity),
        depth=told.depth,
        priority=round(1 / (1 + told.depth), 3),
        past=_past(told),
    )
    return named.host, rules, admitted


def _line(text: bytes) -> Line:
    try:
        if text.startswith(b"{"):
            return _decode(text)
        return Line(url=text.decode())
    except UnicodeDecodeError as error:
        raise Refused("encoding") from error
    except msgspec.DecodeError as error:
        raise Refused("json") from error


def _past(told: Line) -> Past | None:
    fetched = _seconds(told.fetched_at)
    try:
        digest = bytes.fromhex(told.digest)
    except ValueError as error:
        raise Refused("json") from error
    if len(digest) not in (0, _DIGEST):
        raise Refused("json")
    if not fetched:
        return None
    return Past(
        outcome=Outcome.OK,
        scheduled_at=fetched,
        fetched_at=fetched,
        changed_at=_seconds(told.changed_at) or fetched,
        interval=told.interval,
        etag=told.etag,
        last_modified=told.last_modified,
        body_digest=digest or None,
        size=told.size,
    )


def _seconds(moment: float | datetime) -> float:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise Refused("json")
    return max(moment.timestamp(), 0.0)
