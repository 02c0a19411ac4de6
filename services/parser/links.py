"""The links of a page, absolute, in the order found.

Decides what is a link and what it means (WHATWG URL rules, the first usable `base`), and how
many are taken. Never decides whether a link may be followed or crawled: `rel` says what the
page says, the frontier decides.
"""

import re
from collections.abc import Iterator

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.common.records import Link
from services.common.urls import BadUrl, parse
from services.parser.clean import one_line

MAX_ANCHOR = 200
"""Characters of anchor text kept."""
_MAX_RAW = 8192
_SELECTOR = "a,area,link,iframe,frame,meta[http-equiv]"
_SOURCES = {"iframe": "src", "frame": "src"}
_LINK_RELS = frozenset(
    {
        "canonical", "alternate", "amphtml", "next", "prev", "previous", "first", "last", "start",
        "up", "index", "contents", "chapter", "section", "sitemap", "feed",
    }
)  # fmt: skip
"""Relations of `<link>` that lead to documents; the others load things or name services."""
SITEMAP = "sitemap"
"""Token that marks what robots.txt or a sitemap index names; see `records.Link`."""
_FEED = re.compile(r"\s*application/(?:(?:rss|atom|rdf)\+xml|feed\+json)\b", re.IGNORECASE)
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Links taken, and why others were not."""

    links: list[Link] = []
    cut: dict[str, int] = {}
    """Counts by reason: those of `BadUrl`, `self`, `repeated`, `too-many`."""


def base_of(tree: LexborHTMLParser, page_url: str) -> str:
    """What relative links are resolved against (HTML, "document base URL").

    The first `base` with an `href` counts, if the page may lead to its scheme; else the page's
    own URL.
    """
    node = tree.css_first("base[href]")
    if node is None:
        return page_url
    try:
        return parse(node.attributes.get("href") or "", page_url).href
    except BadUrl:
        return page_url


def read_links(
    tree: LexborHTMLParser, page_url: str, base: str, *, limit: int, charset: str = "utf-8"
) -> Found:
    """At most `limit` different links, the first of each; `charset` is the page's encoding."""
    links: dict[str, Link] = {}
    cut: dict[str, int] = {}
    for node, raw, rel in _candidates(tree):
        url, reason = _resolve(raw, base, charset) if len(links) < limit else ("", "too-many")
        if not reason and url == page_url:
            reason = "self"
        elif not reason and url in links:
            reason = "repeated"
        if reason:
            cut[reason] = cut.get(reason, 0) + 1
        else:
            links[url] = Link(url=url, anchor=_anchor(node), rel=rel)
    return Found(links=list(links.values()), cut=cut)


def _resolve(raw: str, base: str, charset: str) -> tuple[str, str]:
    """The absolute URL, or the reason why there is none."""
    if len(raw) > _MAX_RAW:
        return "", "malformed"
    try:
        return parse(raw, base, charset=None if charset == "utf-8" else charset).href, ""
    except BadUrl as error:
        return "", error.reason


def _candidates(tree: LexborHTMLParser) -> Iterator[tuple[LexborNode, str, str]]:
    """Element, URL as written, rel tokens, in document order."""
    for node in tree.css(_SELECTOR):
        tag, attributes = node.tag, node.attributes
        rel = " ".join((attributes.get("rel") or "").lower().split())
        if tag == "meta":
            if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
                refresh = _REFRESH.match(attributes.get("content") or "")
                if refresh:
                    yield node, refresh[1], "refresh"
            continue
        if tag == "link" and ("stylesheet" in rel or _LINK_RELS.isdisjoint(rel.split())):
            continue
        rel = _own(rel, attributes.get("type") or "") if rel else rel
        raw = attributes.get(_SOURCES.get(tag or "", "href"))
        if raw is None and tag == "a":
            raw = attributes.get("xlink:href")
        if raw is not None:
            yield node, raw, rel[:MAX_ANCHOR]


def _own(rel: str, kind: str) -> str:
    """The tokens as we use them: feeds are marked, and no page can vouch for a sitemap."""
    tokens = [token for token in rel.split() if token != SITEMAP]
    if _FEED.match(kind) and "alternate" in tokens and "feed" not in tokens:
        tokens.append("feed")
    return " ".join(tokens)


def _anchor(node: LexborNode) -> str:
    if node.tag not in ("a", "area"):
        return one_line(node.attributes.get("title") or "", MAX_ANCHOR)
    text = one_line(node.text(deep=True), MAX_ANCHOR)
    if text:
        return text
    image = node.css_first("img[alt]")
    alt = image.attributes.get("alt") if image else node.attributes.get("alt")
    return one_line(alt or node.attributes.get("title") or "", MAX_ANCHOR)
