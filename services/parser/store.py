"""Stored pages: written by the parser, read by anyone (`recrawl page`).

Decides the order of reads. A page is found by one read of one partition; its text, body and
links by one more each, in parallel, by their digests.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from services.common.cassandra import Cassandra
from services.common.identity_rules import IdentityRules
from services.common.records import Link
from services.common.urls import KNOWN, parse
from services.common.urls import fingerprint as fingerprint_of
from services.parser import tables
from services.parser.bodies import joined

_AT_ONCE = 50
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The newest known content of a URL."""

    url: str
    fetched_at: datetime
    """When this version was fetched first."""
    checked_at: datetime
    """When it was last seen to be current."""
    status: int | None
    headers: dict[str, str]
    content_type: str
    charset: str
    title: str
    language: str
    description: str
    canonical: str
    noindex: bool
    job: str
    depth: int
    reason: str
    text: str
    text_source: str
    links: list[Link]
    size: int
    truncated: bool
    body_digest: bytes
    text_digest: bytes | None
    last_outcome: str
    """Outcome of the newest fetch, which may have failed after this version was seen."""
    last_reason: str


async def apply(cassandra: Cassandra, writes: Iterable[tables.Write]) -> None:
    """All writes, at once.

    Raises:
        Retry, Stop, DeadLetter: as `Cassandra.execute`; the others may have been applied.
    """
    await asyncio.gather(*(cassandra.execute(write.statement, write.params) for write in writes))


async def latest_page(
    cassandra: Cassandra, url: str, identity: IdentityRules | None = None
) -> Page | None:
    """The newest version of a URL that has content; None if there is none.

    `identity`: the rules that the frontier used; None for the standard alone.

    Raises:
        BadUrl: `url` is none.
        Retry, Stop: as `Cassandra.execute`.
    """
    known = (identity or IdentityRules()).name(parse(url, schemes=KNOWN))
    name = fingerprint_of(known.identity)
    newest, current, version = await _find(cassandra, tables.page_key(known.host, name))
    if current is None or version is None:
        return None
    text, links = await asyncio.gather(
        _text(cassandra, current.text_digest),
        cassandra.execute(
            tables.GET_OUTLINKS_AT, (*tables.links_key(known.host, name), version.fetched_at)
        ),
    )
    return _page(newest, current, version, text, _links(links))


async def latest_links(cassandra: Cassandra, host: str, fingerprint: bytes) -> list[Link] | None:
    """The links of a page's newest version; None if none are stored."""
    rows = await cassandra.execute(tables.GET_OUTLINKS, tables.links_key(host, fingerprint))
    return _links(rows) if rows else None


async def body(cassandra: Cassandra, page: Page) -> bytes:
    """The decoded body of a page."""
    rows = await cassandra.execute(tables.GET_CONTENT, (page.body_digest,))
    return await asyncio.to_thread(joined, [row.data for row in rows])


async def _find(cassandra: Cassandra, key: tables.Key) -> tuple[Any, Any, Any]:
    """The newest row; the newest with content; and the one that first brought that content."""
    newest = current = None
    before = _END_OF_TIME
    while True:
        rows = await cassandra.execute(tables.GET_PAGES, (*key, before, _AT_ONCE))
        for row in rows:
            newest = newest or row
            if current is None and row.body_digest is not None:
                current = row
            if (
                current is not None
                and row.outcome == "ok"
                and row.changed is not False
                and row.body_digest == current.body_digest
            ):
                return newest, current, row
        if len(rows) < _AT_ONCE:
            return newest, current, None
        before = rows[-1].fetched_at


async def _text(cassandra: Cassandra, digest: bytes | None) -> str:
    rows = await cassandra.execute(tables.GET_TEXT, (digest,)) if digest else []
    return rows[0].text if rows else ""


def _links(rows: list[Any]) -> list[Link]:
    found = rows[0].links if rows else None
    return [Link(url=url, anchor=anchor, rel=rel) for url, anchor, rel in found or ()]


def _page(newest: Any, current: Any, version: Any, text: str, links: list[Link]) -> Page:  # noqa: ANN401 - rows
    return Page(
        url=version.url,
        fetched_at=version.fetched_at.replace(tzinfo=UTC),
        checked_at=current.fetched_at.replace(tzinfo=UTC),
        status=version.status,
        headers=dict(version.headers or {}),
        content_type=version.content_type or "",
        charset=version.charset or "",
        title=version.title or "",
        language=version.language or "",
        description=version.description or "",
        canonical=version.canonical or "",
        noindex=bool(version.noindex),
        job=version.job,
        depth=version.depth,
        reason=version.reason,
        text=text,
        text_source=version.text_source or "none",
        links=links,
        size=version.size,
        truncated=bool(version.truncated),
        body_digest=current.body_digest,
        text_digest=current.text_digest,
        last_outcome=newest.outcome,
        last_reason=newest.reason,
    )
