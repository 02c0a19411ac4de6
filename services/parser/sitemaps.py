"""Sitemaps (sitemaps.org protocol) as they are found: files of URLs, indexes, plain text.

Decides which URLs are pages, which are further sitemaps, and what is said of them. Namespaces
are never looked at: half of those in use are misspelt. Images and videos are no pages.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from services.parser.dates import moment
from services.parser.lenient_xml import Element
from services.parser.links import SITEMAP
from services.parser.listing import Gatherer

ROOTS = frozenset({"urlset", "sitemapindex"})
MAX_LEVEL = 3
"""Sitemaps named by robots.txt have level 1; an index names those of one more, up to this.

The protocol has no index in an index; some sites do, and some never end."""
_ENTRIES = frozenset({"url", "sitemap"})
_EXTENSIONS = frozenset({"image", "video", "news"})
_ASSETS = frozenset({"loc", "content_loc", "player_loc", "thumbnail_loc"})
_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_USUAL = 0.5
_LINE = re.compile(r"[^\r\n]+")
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)


class Place(NamedTuple):
    """Where a sitemap was found, and when."""

    url: str
    level: int
    """As in `FetchRequested`."""
    now: float


def read_xml(found: Iterable[Element], into: Gatherer, place: Place) -> None:
    """The URLs of a `urlset` or `sitemapindex`."""
    entry: dict[str, str] = {}
    name = ""
    for element in found:
        inside = element.inside
        if element.name in _ENTRIES and inside not in _EXTENSIONS:
            # one that never ended ends where the next begins
            _finish(name, entry, into, place)
            entry, name = {}, element.name if element.text is None else ""
        elif element.text is None:
            continue
        elif inside in _ENTRIES:
            if element.name == "link":
                _alternate(element, into, place.url)
            else:
                entry.setdefault(element.name, element.text)
        elif element.name in _ASSETS and inside in _EXTENSIONS:
            into.leave("asset")
        elif element.name == "publication_date" and inside == "news":
            entry.setdefault("published", element.text)
    _finish(name, entry, into, place)


def read_text(text: str, into: Gatherer, base: str) -> None:
    """A URL a line; lines that are none are left out, comments in silence."""
    for line in _LINE.finditer(text):
        words = line[0].split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if _ABSOLUTE.match(words[0]):
            into.add(words[0], base)
        else:
            into.leave("malformed")


def _finish(name: str, entry: dict[str, str], into: Gatherer, place: Place) -> None:
    if not name or not entry:
        return
    raw = entry.get("loc", "")
    dates = (moment(entry.get(word, ""), place.now) for word in ("lastmod", "published"))
    lastmod = next((date for date in dates if date is not None), None)
    if name == "sitemap":
        if place.level < MAX_LEVEL:
            into.add(raw, place.url, rel=SITEMAP, lastmod=lastmod)
        else:
            into.leave("nested")
        return
    frequency = entry.get("changefreq", "").strip().lower()
    into.add(
        raw,
        place.url,
        lastmod=lastmod,
        changefreq=frequency if frequency in _FREQUENCIES else "",
        site_priority=_priority(entry.get("priority", "")),
    )


def _alternate(element: Element, into: Gatherer, base: str) -> None:
    href = element.attributes.get("href")
    if href and "alternate" in element.attributes.get("rel", "alternate").lower().split():
        into.add_alternate(href, base, element.attributes.get("hreflang", ""))


def _priority(text: str) -> float | None:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if 0 <= value <= 1 and value != _USUAL else None
