"""What a sitemap or feed lists: links with what is said of them, each once, within a limit.

Decides what counts as the same link and which are left out. Never decides what may be crawled.
"""

from typing import Literal

import msgspec

from services.common.records import Link
from services.common.urls import BadUrl, parse
from services.parser.clean import one_line

MAX_URLS = 50_000
"""URLs of one file (sitemaps.org)."""
MAX_OCTETS = 50 << 20
"""Octets of one file, unpacked (sitemaps.org)."""
MAX_ANCHOR = 200
_MAX_RAW = 8192

ListingKind = Literal["sitemap", "feed"]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The links of a sitemap or feed."""

    kind: ListingKind
    links: list[Link] = []
    cut: dict[str, int] = {}
    """Counts of what was left out, by reason: those of `BadUrl`, `self`, `repeated`, `too-many`,
    `too-large` (the rest of the file), `asset` (images and videos), `not-a-sitemap`."""
    title: str = ""


class Gatherer:
    """Takes links as they are found."""

    def __init__(self, url: str, limit: int) -> None:
        """`url` is the document's own."""
        self._url = url
        self._limit = limit
        self._links: dict[str, Link] = {}
        self._others: dict[str, Link] = {}
        self.cut: dict[str, int] = {}

    @property
    def found(self) -> bool:
        """Whether there is anything yet."""
        return bool(self._links)

    def leave(self, reason: str, count: int = 1) -> None:
        """Count what is left out."""
        self.cut[reason] = self.cut.get(reason, 0) + count

    def add(
        self,
        raw: str,
        base: str,
        *,
        rel: str = "",
        anchor: str = "",
        lastmod: float | None = None,
        changefreq: str = "",
        site_priority: float | None = None,
    ) -> None:
        """A link as written; what is said of it is kept."""
        url = self._resolved(raw, base)
        if url is None:
            return
        if url in self._links:
            self.leave("repeated")
        elif len(self._links) >= self._limit:
            self.leave("too-many")
        else:
            self._links[url] = Link(
                url=url,
                rel=rel,
                anchor=one_line(anchor, MAX_ANCHOR),
                lastmod=lastmod,
                changefreq=changefreq,
                site_priority=site_priority,
            )

    def add_alternate(self, raw: str, base: str, hreflang: str) -> None:
        """A translation; mostly it is listed itself, so it has a limit of its own."""
        url = self._resolved(raw, base)
        if url is None or url in self._others:
            return
        if len(self._others) >= self._limit:
            self.leave("too-many")
        else:
            self._others[url] = Link(url=url, rel="alternate", hreflang=hreflang.strip()[:35])

    def listing(self, kind: ListingKind, title: str = "") -> Listing:
        """All that was taken."""
        others = [link for url, link in self._others.items() if url not in self._links]
        links = [*self._links.values(), *others]
        return Listing(kind=kind, links=links, cut=self.cut, title=one_line(title, MAX_ANCHOR))

    def _resolved(self, raw: str, base: str) -> str | None:
        raw = raw.strip()
        if not raw or len(raw) > _MAX_RAW:
            self.leave("malformed" if raw else "empty")
            return None
        if "&amp;" in raw:  # escaped twice, or in CDATA as well
            raw = raw.replace("&amp;", "&")
        try:
            url = parse(raw, base).href
        except BadUrl as error:
            self.leave(error.reason)
            return None
        if url == self._url:
            self.leave("self")
            return None
        return url
