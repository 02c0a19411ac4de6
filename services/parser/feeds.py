"""Feeds as they are found: RSS 0.9x to 2.0, RSS 1.0 (RDF), Atom, JSON Feed.

Decides which of an entry's URLs is its page. Never looks at what entries say: the page is
fetched for that. Comments, enclosures and the feed itself are no pages.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from services.common.urls import BadUrl, parse
from services.parser.dates import moment
from services.parser.lenient_xml import Element
from services.parser.listing import Gatherer

ROOTS = frozenset({"rss", "feed", "rdf"})
JSON_MARK = "jsonfeed.org/version/"
_ENTRIES = frozenset({"item", "entry"})
_HOLDERS = frozenset({"channel", "feed", "rss", "rdf", "items"})
_LEFT_OPEN = frozenset({"p", "br", "div", "img", "hr", "b", "i", "description", "title"})
"""Where an item's link is found after HTML that was not escaped."""
_DATES = ("updated", "modified", "pubdate", "published", "issued", "date", "created")
"""Where the date of an entry stands, the latest kind first."""
_KEPT = frozenset({*_DATES, "title", "guid", "origlink"})
_PAGED = frozenset({"next", "prev-archive", "next-archive"})
"""Where the rest of a long feed is (RFC 5005)."""


def read_xml(found: Iterable[Element], into: Gatherer, url: str, now: float) -> str:
    """The links of a feed at `url`; gives its title."""
    bases = [url]
    entry: dict[str, str] = {}
    inside_entry = 0
    title = ""
    for element in found:
        if element.text is None:
            bases.append(_base(element.attributes.get("base"), bases[-1]))
        base = bases[-1] if element.text is None else bases.pop()
        around = element.inside
        if element.name in _ENTRIES:
            _finish(entry, into, url, now)
            entry, inside_entry = {}, int(element.text is None)
            if inside_entry and "about" in element.attributes:
                entry = {"about": element.attributes["about"], "base": base}
        elif element.text is None:
            continue
        elif (around in _ENTRIES and inside_entry) or (
            inside_entry and element.name == "link" and around in _LEFT_OPEN
        ):
            _of_entry(element, entry, base)
        elif around in _HOLDERS:
            if element.name == "title":
                title = title or element.text
            elif element.name == "link":
                _of_feed(element, into, base)
    _finish(entry, into, url, now)
    return title


def read_json(text: str, into: Gatherer, url: str, now: float) -> str | None:
    """The links of a JSON Feed (jsonfeed.org, 1.1); gives its title, None if it is none."""
    try:
        feed = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(feed, dict) or JSON_MARK not in _word(feed.get("version")):
        return None
    home, following = _word(feed.get("home_page_url")), _word(feed.get("next_url"))
    items = feed.get("items")
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            into.leave("malformed")
            continue
        raw = _word(item.get("url")) or _word(item.get("id"))
        dates = (_word(item.get(name)) for name in ("date_modified", "date_published"))
        lastmod = next((at for date in dates if (at := moment(date, now)) is not None), None)
        into.add(raw, url, anchor=_word(item.get("title")), lastmod=lastmod)
    if home:
        into.add(home, url)
    if following:
        into.add(following, url, rel="next feed")
    return _word(feed.get("title"))


def _of_entry(element: Element, entry: dict[str, str], base: str) -> None:
    text = element.text or ""
    if element.name == "link":
        href = element.attributes.get("href")
        rel = element.attributes.get("rel", "alternate").lower().split()
        if href is None and text.strip():
            entry.setdefault("link", text)
        elif href is not None and "alternate" in rel:
            # an entry may have one for each format: the page is the one in HTML, or the first
            kind = element.attributes.get("type", "text/html")
            if "html" in kind or "link" not in entry:
                entry["link"] = href
        else:
            return
        entry["base"] = base
    elif element.name == "guid" and element.attributes.get("ispermalink", "").lower() == "false":
        return
    elif element.name in _KEPT and text.strip():
        entry.setdefault(element.name, text)


def _of_feed(element: Element, into: Gatherer, base: str) -> None:
    rel = element.attributes.get("rel", "alternate").lower().split()
    href = element.attributes.get("href") or element.text or ""
    if not href.strip():
        return
    if not _PAGED.isdisjoint(rel):
        into.add(href, base, rel="next feed")
    elif "alternate" in rel:
        into.add(href, base)


def _finish(entry: dict[str, str], into: Gatherer, url: str, now: float) -> None:
    if not entry:
        return
    raw = entry.get("origlink") or entry.get("link") or entry.get("about") or ""
    if not raw.strip():
        guid = entry.get("guid", "").strip()
        if not guid.lower().startswith(("http://", "https://")):
            into.leave("empty")
            return
        raw = guid
    dates = (moment(entry.get(name, ""), now) for name in _DATES)
    into.add(
        raw,
        entry.get("base", url),
        anchor=entry.get("title", ""),
        lastmod=next((date for date in dates if date is not None), None),
    )


def _base(written: str | None, around: str) -> str:
    if not written:
        return around
    try:
        return parse(written, around).href
    except BadUrl:
        return around


def _word(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, str) else ""
