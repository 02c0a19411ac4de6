"""What kind of thing a body is, when its Content-Type may lie.

Decides which reader a body goes to, by the declared type and the first octets (after WHATWG
MIME Sniffing; stricter where a lie would waste work, as said at each rule). Never decodes text.
"""

import re
from typing import Literal

Kind = Literal["html", "xhtml", "xml", "text", "json", "pdf", "binary", "sitemap", "feed"]
"""The last two are never sniffed: listings.py finds them by what they hold."""

PREFIX = 1445
"""Octets looked at (MIME Sniffing 5, the resource header)."""

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"%PDF-", "pdf"),
    (b"\x1f\x8b", "binary"),
    (b"\x89PNG", "binary"),
    (b"GIF8", "binary"),
    (b"\xff\xd8\xff", "binary"),
    (b"PK\x03\x04", "binary"),
    (b"RIFF", "binary"),
    (b"OggS", "binary"),
    (b"wOFF", "binary"),
    (b"wOF2", "binary"),
    (b"BZh", "binary"),
    (b"7z\xbc\xaf", "binary"),
    (b"Rar!", "binary"),
    (b"\x28\xb5\x2f\xfd", "binary"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HTML = re.compile(
    rb"\s*<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br"
    rb"|p|meta|link|!--)(?:[\s>/-]|\Z)",
    re.IGNORECASE,
)
_JSON = re.compile(rb"\s*(?:\{\s*(?:\"|\})|\[\s*[\[{\"\]\d-])")
_XML = re.compile(rb"\s*<(?:\?xml\s|rss[\s>]|feed[\s>]|urlset[\s>]|sitemapindex[\s>])")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_UNKNOWN = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/csv", "text/x-rst"})


def essence(content_type: str) -> str:
    """`type/subtype` in lower case, without parameters; empty if it is no media type."""
    found = re.match(r"\s*([\w!#$&^.+-]+/[\w!#$&^.+*-]+|\*/\*)\s*(?:[;,]|\Z)", content_type)
    return found[1].lower() if found else ""


def sniff(content_type: str, body: bytes) -> Kind:
    """The kind of `body`, served with this Content-Type header (empty for none)."""
    declared = essence(content_type)
    start = _plain_start(body[:PREFIX])
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    if _BINARY.search(start):
        return "binary"
    return _by_type(declared, start)


def _by_type(declared: str, start: bytes) -> Kind:  # noqa: PLR0911 - a table of types
    """The kind of what has no binary octets."""
    if declared == "text/html":
        return _marked_up(start) or ("json" if _JSON.match(start) else "html")
    if declared == "application/xhtml+xml":
        return "xhtml"
    if declared.endswith(("/xml", "+xml")):
        return "xhtml" if b"<html" in start else "xml"
    if declared in _TEXT:
        return "text"  # text/plain is never taken for HTML: a server may show source (section 4.6)
    if declared.endswith(("/json", "+json")):
        return "json"
    if declared in _UNKNOWN:
        return _marked_up(start) or ("json" if _JSON.match(start) else "text")
    if declared == "application/pdf":  # a log-in page in the place of the file
        return "html" if _HTML.match(start) else "binary"
    if declared == "application/octet-stream":  # sitemaps are often served so
        return "xml" if _XML.match(start) else "binary"
    return "binary"


def _marked_up(start: bytes) -> Kind | None:
    if _HTML.match(start):
        return "html"
    if _XML.match(start):
        return "html" if re.search(rb"<(?:html|!doctype\s+html)", start, re.IGNORECASE) else "xml"
    return None


def _plain_start(start: bytes) -> bytes:
    """Without a byte order mark and, where the text is UTF-16, without its zero octets."""
    for bom in _BOMS:
        if start.startswith(bom):
            return start[len(bom) :].replace(b"\0", b"")
    return start.replace(b"\0", b"") if utf16_pattern(start) else start


def utf16_pattern(start: bytes) -> Literal["utf-16le", "utf-16be"] | None:
    """UTF-16 without a mark: markup is ASCII, so nearly every second octet is zero."""
    pairs = len(start) // 2
    if pairs < 2 or b"\0" not in start:  # noqa: PLR2004 - two octets prove nothing
        return None
    even, odd = start[0 : 2 * pairs : 2], start[1 : 2 * pairs : 2]
    if odd.count(0) > 0.6 * pairs and even.count(0) < 0.05 * pairs:
        return "utf-16le"
    if even.count(0) > 0.6 * pairs and odd.count(0) < 0.05 * pairs:
        return "utf-16be"
    return None
