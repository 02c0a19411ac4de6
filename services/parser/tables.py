"""The parser's tables as statements and rows; docs/tables.md is the description for readers.

Decides what is written where and how long it is kept. Never talks to Cassandra.

Retention: rows that only say that a fetch failed or found nothing new expire by themselves. A
version of a page and its links stay while they are the newest, however seldom the page is
fetched; the write of the next version takes away those older than the retention.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from services.common.cql import Statement
from services.common.records import FetchCompleted, FetchRequested, Link
from services.parser.document import Document, header

SHARDS = 1024
"""Partitions of a host in `pages`; must not change once there is data."""
LINK_SHARDS = 8192
"""Partitions of a host in `outlinks`, whose rows are several times larger; as above."""

MAX_ROW = 4 << 20
"""Octets of the links in one row of `outlinks`."""

_PAGE_COLUMNS = (
    "host", "shard", "fingerprint", "fetched_at", "url", "job", "depth", "outcome", "reason",
    "status", "headers", "content_type", "charset", "title", "language", "description",
    "canonical", "noindex", "etag", "last_modified", "body_digest", "text_digest", "text_source",
    "changed", "size", "truncated", "links", "started_at", "elapsed", "address", "fetcher",
)  # fmt: skip

PUT_PAGE = Statement(
    "put_page",
    f"INSERT INTO pages ({', '.join(_PAGE_COLUMNS)})"  # noqa: S608 - our own constants
    f" VALUES ({', '.join('?' * len(_PAGE_COLUMNS))}) USING TTL ?",
)
PUT_CONTENT = Statement(
    "put_content", "INSERT INTO contents (digest, chunk, data, size) VALUES (?, ?, ?, ?)"
)
PUT_TEXT = Statement("put_text", "INSERT INTO texts (digest, text) VALUES (?, ?)")
PUT_OUTLINKS = Statement(
    "put_outlinks",
    "INSERT INTO outlinks (host, shard, fingerprint, fetched_at, url, links)"
    " VALUES (?, ?, ?, ?, ?, ?)",
)
_OLD = "WHERE host = ? AND shard = ? AND fingerprint = ? AND fetched_at < ?"
FORGET_PAGES = Statement("forget_pages", f"DELETE FROM pages {_OLD}")  # noqa: S608 - our own constants
FORGET_OUTLINKS = Statement("forget_outlinks", f"DELETE FROM outlinks {_OLD}")  # noqa: S608 - our own constants

_ONE_PAGE = "WHERE host = ? AND shard = ? AND fingerprint = ?"
GET_PAGES = Statement(
    "get_pages",
    f"SELECT {', '.join(_PAGE_COLUMNS)} FROM pages {_ONE_PAGE} AND fetched_at < ? LIMIT ?",  # noqa: S608 - our own constants
)
GET_CONTENT = Statement("get_content", "SELECT data FROM contents WHERE digest = ?")
GET_TEXT = Statement("get_text", "SELECT text FROM texts WHERE digest = ?")
GET_OUTLINKS = Statement(
    "get_outlinks",
    f"SELECT links FROM outlinks {_ONE_PAGE} LIMIT 1",  # noqa: S608 - our own constants
)
GET_OUTLINKS_AT = Statement(
    "get_outlinks_at",
    f"SELECT links FROM outlinks {_ONE_PAGE} AND fetched_at = ?",  # noqa: S608 - our own constants
)

_SLICE = "WHERE token(host, shard) >= ? AND token(host, shard) <= ?"
SCAN_PAGES = Statement(
    "scan_pages",
    "SELECT host, fingerprint, fetched_at, url, job, depth, outcome, headers, etag, last_modified,"  # noqa: S608 - our own constants
    " body_digest, text_digest, changed, size, truncated, started_at FROM pages"
    f" {_SLICE}",
)
"""A part of the ring; the rows of a URL follow one another, newest first."""
_RING = 2**64


def token_slices(count: int) -> list[tuple[int, int]]:
    """The ring of Murmur3 tokens, from -2^63, in `count` equal parts: first and last of each."""
    edges = [_RING * number // count - _RING // 2 for number in range(count + 1)]
    return [(first, after - 1) for first, after in pairwise(edges)]


class Write(NamedTuple):
    """One statement with its values."""

    statement: Statement
    params: tuple[Any, ...]


Key = tuple[str, int, bytes]
"""Partition (host, shard) and first clustering column (fingerprint)."""


def page_key(host: str, fingerprint: bytes) -> Key:
    """The key of a URL in `pages`: the shard is the first ten bits of its fingerprint."""
    return host, int.from_bytes(fingerprint[:2], "big") >> 6, fingerprint


def links_key(host: str, fingerprint: bytes) -> Key:
    """The key of a URL in `outlinks`: the shard is the first thirteen bits."""
    return host, int.from_bytes(fingerprint[:2], "big") >> 3, fingerprint


def moment(seconds: float) -> datetime:
    """Seconds since the epoch as a CQL timestamp, to the millisecond."""
    return datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)


def page_row(
    fetch: FetchCompleted,
    document: Document,
    *,
    reason: str,
    changed: bool | None,
    body_digest: bytes | None,
    text_digest: bytes | None,
    ttl: int,
) -> Write:
    """The row of one fetch; a repeat of the same request overwrites it."""
    request = fetch.request
    host, shard, fingerprint = page_key(request.host, request.fingerprint)
    values: dict[str, Any] = {
        "host": host,
        "shard": shard,
        "fingerprint": fingerprint,
        "fetched_at": moment(request.scheduled_at),
        "url": request.url,
        "job": request.rules.job,
        "depth": request.depth,
        "outcome": fetch.outcome.value,
        "reason": reason,
        "status": fetch.status,
        "headers": header_map(fetch.headers) or None,
        "content_type": document.content_type or None,
        "charset": document.charset or None,
        "title": document.title or None,
        "language": document.language or None,
        "description": document.description or None,
        "canonical": document.canonical or None,
        "noindex": document.noindex or None,
        "etag": header(fetch.headers, "etag") or None,
        "last_modified": header(fetch.headers, "last-modified") or None,
        "body_digest": body_digest,
        "text_digest": text_digest,
        "text_source": document.text_source if document.text else None,
        "changed": changed,
        "size": fetch.size,
        "truncated": fetch.truncated,
        "links": len(document.links),
        "started_at": moment(fetch.started_at),
        "elapsed": fetch.elapsed,
        "address": fetch.address,
        "fetcher": fetch.fetcher or None,
    }
    return Write(PUT_PAGE, (*(values[column] for column in _PAGE_COLUMNS), ttl))


def content_rows(body_digest: bytes, chunks: Sequence[bytes], size: int) -> list[Write]:
    """The body's chunks; `size` is that of the whole decoded body."""
    return [
        Write(PUT_CONTENT, (body_digest, index, chunk, size)) for index, chunk in enumerate(chunks)
    ]


def text_row(text_digest: bytes, text: str) -> Write:
    """A text under its digest."""
    return Write(PUT_TEXT, (text_digest, text))


def that_fit(links: Sequence[Link]) -> Sequence[Link]:
    """As many links as one row may hold: Cassandra refuses writes of 16 MiB, and dislikes less.

    Only large sitemaps have more. All of their links are passed on when they are read; what is
    kept is for those who look at a page, and for a job that wants an unchanged one anew.
    """
    size = 0
    for index, link in enumerate(links):
        size += len(link.url) + len(link.anchor) * 4 + len(link.rel) + 24
        if size > MAX_ROW:
            return links[:index]
    return links


def outlinks_row(request: FetchRequested, links: Iterable[Link]) -> Write:
    """The links of the page's version of now."""
    listed = [(link.url, link.anchor, link.rel) for link in links]
    when = moment(request.scheduled_at)
    key = links_key(request.host, request.fingerprint)
    return Write(PUT_OUTLINKS, (*key, when, request.url, listed))


def forget_rows(request: FetchRequested, retention: int) -> list[Write]:
    """Takes away what is older than the retention at the time of this request."""
    name = request.host, request.fingerprint
    before = moment(request.scheduled_at - retention)
    return [
        Write(FORGET_PAGES, (*page_key(*name), before)),
        Write(FORGET_OUTLINKS, (*links_key(*name), before)),
    ]


def header_map(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; those of one name joined as RFC 9110 5.3 has it, cookies by lines."""
    joined: dict[str, str] = {}
    for name, value in headers:
        if name in joined:
            joined[name] += ("\n" if name == "set-cookie" else ", ") + value
        else:
            joined[name] = value
    return joined
