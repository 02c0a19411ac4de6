"""Whether a body is a sitemap or a feed, whatever its type says, and what it lists.

Decides by the root element, so that no page is taken for a list; only where a sitemap is
expected is dirt before the root forgiven, and text without markup read as a list of URLs.
"""

import re

import msgspec

from services.parser import feeds, sitemaps
from services.parser.bodies import digest
from services.parser.charset import decode
from services.parser.gunzip import MAGIC, gunzip
from services.parser.lenient_xml import PROLOG, Root, elements, root_of
from services.parser.listing import MAX_OCTETS, MAX_URLS, Gatherer, Listing
from services.parser.media import Kind

NOT_A_SITEMAP = "not-a-sitemap"
_ROOTS = sitemaps.ROOTS | feeds.ROOTS
_HINT = re.compile(rb"urlset|sitemapindex|[<:](?:rss|feed|rdf)[\s>:/]", re.IGNORECASE)
_JSON_MARK = feeds.JSON_MARK.encode()
_TEXT_NAME = re.compile(r"/[^/?]*sitemap[^/?]*\.txt(?:\.gz)?(?:\?|\Z)", re.IGNORECASE)
_XML_NAME = re.compile(r"\.(?:xml|rss|atom|rdf)(?:\?|\Z)", re.IGNORECASE)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a body before it is read."""

    url: str
    content_type: str
    kind: Kind
    level: int
    """Above 0: a sitemap is expected."""
    now: float
    max_links: int
    """Links taken from a feed."""


def read(body: bytes, asked: Asked) -> Listing | None:
    """What the body lists; None if it is a page or anything else.

    A body that should be a sitemap and is none lists nothing, for the reason `NOT_A_SITEMAP`.
    """
    if not asked.level and not _may_be(body, asked):
        return None
    data, cut = gunzip(body, MAX_OCTETS)
    text = _text(data, asked.content_type)
    listing = _read(text, asked)
    if listing is None and asked.level:
        listing = Listing(kind="sitemap", cut={NOT_A_SITEMAP: 1})
    if listing is not None and cut:
        listing = msgspec.structs.replace(listing, cut=listing.cut | {"too-large": 1})
    return listing


def digest_of(listing: Listing) -> bytes:
    """What stands for a list: it changed if its URLs or their dates did, not its making."""
    return digest(msgspec.msgpack.encode([(link.url, link.lastmod) for link in listing.links]))


def _may_be(body: bytes, asked: Asked) -> bool:
    """A look at the start, which is all that most pages cost."""
    start = gunzip(body[:PROLOG], PROLOG)[0] if body.startswith(MAGIC) else body[:PROLOG]
    if b"\0" in start:
        start = start.replace(b"\0", b"")
    if _TEXT_NAME.search(asked.url):
        return True
    if asked.kind == "json":
        return _JSON_MARK in start
    if asked.kind == "pdf" or (asked.kind == "text" and not _XML_NAME.search(asked.url)):
        return False  # a server may show the source of a feed
    return _HINT.search(start) is not None


def _read(text: str, asked: Asked) -> Listing | None:
    root = root_of(text, _ROOTS, strict=not asked.level)
    if root is not None:
        return _read_xml(text, root, asked)
    if asked.kind == "json":
        into = Gatherer(asked.url, asked.max_links)
        title = feeds.read_json(text, into, asked.url, asked.now)
        return None if title is None else into.listing("feed", title)
    if "<" in text[:PROLOG] or not (asked.level or _TEXT_NAME.search(asked.url)):
        return None
    into = Gatherer(asked.url, MAX_URLS)
    sitemaps.read_text(text, into, asked.url)
    return into.listing("sitemap") if into.found else None


def _read_xml(text: str, root: Root, asked: Asked) -> Listing:
    found = elements(text, root)
    if root.name in feeds.ROOTS:
        into = Gatherer(asked.url, asked.max_links)
        title = feeds.read_xml(found, into, asked.url, asked.now)
        return into.listing("feed", title)
    into = Gatherer(asked.url, MAX_URLS)
    sitemaps.read_xml(found, into, sitemaps.Place(asked.url, asked.level, asked.now))
    return into.listing("sitemap")


def _text(data: bytes, content_type: str) -> str:
    """As UTF-8 if it is that, whatever is declared: servers declare for all their files."""
    if b"\0" not in data[:64] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    return decode(data, content_type).text
