"""Decides what a page may ask for besides itself, and what of its headers goes on the wire.

Pure: a request's facts come in, a reason or a limit comes out. The budget is one page's.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MAX_REDIRECTS = 5
KINDS = frozenset({"script", "stylesheet", "xhr", "fetch"})
"""What text and links can come of; pictures, fonts, media and frames are not asked for."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_OURS = frozenset({"accept", "accept-language", "authorization", "origin", "referer"})
_NOT_FOR_THE_PAGE = frozenset(
    {
        "connection",
        "content-disposition",
        "content-encoding",
        "content-length",
        "keep-alive",
        "transfer-encoding",
    }
)
_NOT_OF_THE_DOCUMENT = frozenset({"content-encoding", "content-length", "etag", "last-modified"})
_HEAD = re.compile(r"<head(?:\s[^>]*)?>", re.IGNORECASE)


class Asked(NamedTuple):
    """A request of the page's."""

    method: str
    kind: str
    """As the browser calls it: `script`, `image`, `xhr` ..."""
    web: bool
    """Whether it is http or https."""


@dataclass(slots=True)
class Budget:
    """What one page may still ask for."""

    requests: int
    octets: int

    def refusal(self, asked: Asked) -> str:
        """Why the page does not get it; empty if it does, which counts as one request."""
        if not asked.web:
            return "scheme"
        if asked.kind not in KINDS:
            return "kind"
        if asked.method != "GET":
            return "method"
        return self.step()

    def step(self) -> str:
        """Count one request, that of a redirect too; the reason if there is none left."""
        if self.octets <= 0:
            return "octets"
        if self.requests <= 0:
            return "requests"
        self.requests -= 1
        return ""


def renderable(status: int, damage: str, content_type: str, disposition: str) -> bool:
    """Whether a response is a whole HTML document that a browser would show."""
    kind = content_type.partition(";")[0].strip().lower()
    shown = not disposition.strip().lower().startswith("attachment")
    return 200 <= status < 300 and not damage and kind in _HTML and shown  # noqa: PLR2004 - RFC 9110, 15.3


def on_the_wire(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Of a page's request, what the site is sent: what scripts set, and no word on the browser."""
    return tuple(
        (name, value)
        for name, value in headers.items()
        if name in _OURS or name.startswith(("x-", "api"))
    )


def for_the_page(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A response's headers as the browser takes them, its body being decoded."""
    joined: dict[str, str] = {}
    for name, value in headers:
        if name not in _NOT_FOR_THE_PAGE:
            between = "\n" if name == "set-cookie" else ", "
            joined[name] = f"{joined[name]}{between}{value}" if name in joined else value
    return joined


def of_the_document(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """A page's headers for the document that came of it: UTF-8, and without validators.

    The validators are those of the response alone; what scripts fetched may change under them.
    """
    kept = []
    for name, value in headers:
        if name == "content-type":
            kind = value.partition(";")[0].strip()
            kept.append((name, f"{kind}; charset=utf-8"))
        elif name not in _NOT_OF_THE_DOCUMENT:
            kept.append((name, value))
    return kept


def document(text: str, away: str, limit: int) -> tuple[bytes, bool]:
    """The document's octets, and whether they were cut at `limit`.

    `away` is where a script sent the browser: the document says so in the way that HTML has.
    """
    if away:
        quoted = away.replace("&", "&amp;").replace('"', "&quot;")
        refresh = f'<meta http-equiv="refresh" content="0; url={quoted}">'
        head = _HEAD.search(text)
        at = head.end() if head else 0
        text = text[:at] + refresh + text[at:]
    octets = text.encode("utf-8", "replace")
    return octets[:limit], len(octets) > limit
