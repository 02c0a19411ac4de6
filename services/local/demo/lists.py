"""The demo web's sitemaps and feeds, and the pages that nothing else leads to.

Each host whose robots.txt can be read names an index there; it leads to packed files of the
host's articles, to a plain one and to a text file. Two hosts have a feed, named by their home
pages. Decides what each list holds, for the server and for the truth.
"""

import gzip
import re
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from time import gmtime, strftime

from services.local.demo.reply import Reply, html
from services.local.demo.site import FEEDS, DemoWeb

SITEMAP_URLS = 1000
"""URLs in one sitemap file."""
INDEX = "/sitemap.xml"
_UNLISTED = "/sitemap-unlisted.xml"
_TEXT = "/sitemap-more.txt"
_LONE = re.compile(r"/(?:unlisted|more|feed-only)/[12]\.html")
_FILE = re.compile(r"/sitemap-([0-9]{1,6})\.xml\.gz")
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@dataclass(frozen=True, slots=True)
class Listed:
    """What one list leads to, as canonical URLs."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def named_by_robots(web: DemoWeb, host: int) -> str | None:
    """The sitemap in a host's robots.txt; None if it has none that can be read."""
    if not web.sitemaps or web.role(host) in {"closed", "robots-missing"}:
        return None
    return web.url(host, INDEX)


def listed(web: DemoWeb, host: int, path: str) -> Listed | None:
    """What the sitemap or feed at a path leads to; None if there is none."""
    if not web.sitemaps:
        return None
    if path == INDEX:
        files = (
            f"/sitemap-{n}.xml.gz" for n in range(1, (web.sizes[host] - 1) // SITEMAP_URLS + 2)
        )
        return Listed(sitemaps=tuple(web.url(host, name) for name in (*files, _UNLISTED, _TEXT)))
    if path == _UNLISTED:
        return Listed(pages=_lone(web, host, "unlisted"))
    if path == _TEXT:
        return Listed(pages=_lone(web, host, "more")[:1])
    if path == FEEDS.get(host):
        return Listed(pages=(web.home(host), *_lone(web, host, "feed-only")))
    pages = _articles(web, host, path)
    return None if pages is None else Listed(pages=tuple(web.page_url(host, n) for n in pages))


def lone_page(web: DemoWeb, host: int, path: str) -> Reply | None:
    """A page that only a list leads to."""
    if not web.sitemaps or not _LONE.fullmatch(path):
        return None
    if path.startswith("/feed-only/") and host not in FEEDS:
        return None
    return Reply(body=html(path, f"<p>Nothing but a list leads to {path} on host {host}.</p>"))


def list_reply(web: DemoWeb, host: int, path: str, at: float) -> Reply | None:
    """The sitemap or feed at a path."""
    found = listed(web, host, path)
    if found is None:
        return None
    if path == INDEX:
        return _xml(_document("sitemapindex", "sitemap", found.sitemaps, ()))
    if path == _TEXT:
        return Reply(content_type="text/plain", body="\r\n".join(found.pages).encode())
    if path == FEEDS.get(host):
        return _atom(web, host, found) if host else _rss(web, host, found)
    pages = _articles(web, host, path)
    if pages is None:
        dates = [web.version(host, 0, at).since] * len(found.pages)
        return _xml(_document("urlset", "url", found.pages, dates))
    dates = [web.version(host, page, at).since for page in pages]
    body = _packed(_document("urlset", "url", found.pages, dates))
    return Reply(content_type="application/octet-stream", body=body)


def _articles(web: DemoWeb, host: int, path: str) -> range | None:
    """Numbers of the articles in a packed file; None if there is no such file."""
    found = _FILE.fullmatch(path)
    first = (int(found[1]) - 1) * SITEMAP_URLS if found else -1
    size = web.sizes[host]
    return range(first, min(first + SITEMAP_URLS, size)) if 0 <= first < size else None


def _lone(web: DemoWeb, host: int, kind: str) -> tuple[str, ...]:
    return tuple(web.url(host, f"/{kind}/{number}.html") for number in (1, 2))


def _document(root: str, item: str, urls: tuple[str, ...], dates: object) -> bytes:
    """A sitemap file (sitemaps.org protocol)."""
    given = list(dates) if isinstance(dates, list) else [None] * len(urls)
    rows = "".join(
        f"<{item}><loc>{url}</loc>{_lastmod(date)}</{item}>\n"
        for url, date in zip(urls, given, strict=True)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f"{head}<{root} {_NAMESPACE}>\n{rows}</{root}>\n".encode()


def _lastmod(date: int | None) -> str:
    return "" if date is None else f"<lastmod>{_w3c(date)}</lastmod>"


def _w3c(date: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(date))


@lru_cache(maxsize=64)
def _packed(document: bytes) -> bytes:
    return gzip.compress(document, mtime=0)


def _xml(body: bytes) -> Reply:
    return Reply(content_type="application/xml", body=body)


def _rss(web: DemoWeb, host: int, found: Listed) -> Reply:
    items = "".join(
        f"<item><title>{url}</title><link>{url}</link>"
        f"<pubDate>{formatdate(web.epoch, usegmt=True)}</pubDate></item>\n"
        for url in found.pages[1:]
    )
    body = (
        f'<rss version="2.0"><channel><title>News</title><link>{web.home(host)}</link>\n'
        f"{items}</channel></rss>\n"
    )
    return Reply(content_type="application/rss+xml", body=body.encode())


def _atom(web: DemoWeb, host: int, found: Listed) -> Reply:
    entries = "".join(
        f'<entry><title>{url}</title><link href="{url}"/><updated>{_w3c(int(web.epoch))}</updated>'
        f"</entry>\n"
        for url in found.pages[1:]
    )
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>'
        f'<link href="{web.home(host)}"/>\n{entries}</feed>\n'
    )
    return Reply(content_type="application/atom+xml", body=body.encode())
