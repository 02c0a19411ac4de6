"""What a page asks of robots: meta robots and X-Robots-Tag.

Decides noindex and nofollow: the strictest of all that is said to everyone and to us. There is
no RFC; this follows the large engines' descriptions. A meta tag counts wherever it stands,
except in comments, scripts and templates. Never asks what robots.txt says.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from selectolax.lexbor import LexborHTMLParser

_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives that have a colon themselves, so that what is before it is no user agent."""


@dataclass(frozen=True, slots=True)
class Directives:
    """The sum of what was asked; the default is that all is allowed."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def read_directives(
    tree: LexborHTMLParser | None, headers: Iterable[tuple[str, str]], agent: str, now: float
) -> Directives:
    """What is asked of the user agent `agent` (a product token) at the time `now`."""
    agent = agent.lower()
    asked: set[str] = set()
    for name, value in headers:
        if name == "x-robots-tag":
            asked.update(_of_header(value, agent, now))
    for node in tree.css("meta[name]") if tree else ():
        if (node.attributes.get("name") or "").strip().lower() in ("robots", agent):
            asked.update(_of_meta(node.attributes.get("content") or "", now))
    none = "none" in asked
    return Directives(
        noindex=none or "noindex" in asked,
        nofollow=none or "nofollow" in asked,
        noarchive="noarchive" in asked,
    )


def _of_header(value: str, agent: str, now: float) -> Iterator[str]:
    """A user agent's name holds until the next name or the end of the header line."""
    for_us = True
    rest = value
    while rest:
        part, _, rest = rest.partition(",")
        name, colon, after = part.partition(":")
        name = name.strip().lower()
        if colon and name not in _VALUED:
            for_us = name == agent
            rest = f"{after},{rest}" if rest else after
        elif colon and name == "unavailable_after":
            if for_us and _has_passed(f"{after},{rest}", now):
                yield "noindex"
        elif for_us:
            yield name


def _of_meta(content: str, now: float) -> Iterator[str]:
    yield from re.split(r"[,\s]+", content.lower())
    found = re.search(r"unavailable_after\s*:\s*(.+)", content, re.IGNORECASE)
    if found and _has_passed(found[1], now):
        yield "noindex"


def _has_passed(text: str, now: float) -> bool:
    """Whether the date at the start of `text` is over; RFC 850 dates hold a comma."""
    parts = text.split(",")
    for count in (1, 2):
        moment = _moment(",".join(parts[:count]).strip())
        if moment is not None:
            return moment <= now
    return False


def _moment(text: str) -> float | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None
