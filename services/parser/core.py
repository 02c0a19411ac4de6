"""What follows from one fetch: rows to write, links to pass on, what to tell the scheduler.

Decides all of it from the fetch, what was read and what is stored; never reads or writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from services.common.records import (
    CrawlReported,
    FetchCompleted,
    Link,
    Outcome,
    PageParsed,
    UrlDiscovered,
)
from services.common.settings import Settings
from services.parser import change, tables
from services.parser.change import Verdict
from services.parser.discoveries import discover, discover_target, robots_sitemaps
from services.parser.document import Document, Task
from services.parser.listing import ListingKind
from services.parser.reports import parsed_page, report


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The settings that decisions depend on."""

    agent: str
    max_links: int
    max_text: int
    max_body: int
    retention: int
    sitemaps: bool = True
    feeds: bool = True

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Taken from the settings of the services they belong to."""
        return cls(
            agent=settings.fetcher.agent,
            max_links=settings.parser.max_links,
            max_text=settings.parser.max_text,
            max_body=settings.fetcher.max_body,
            retention=settings.parser.retention,
            sitemaps=settings.parser.sitemaps,
            feeds=settings.parser.feeds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is known of a fetch's body when it is decided about."""

    body_digest: bytes | None = None
    """None if there is no body to speak of: only `ok` has one."""
    chunks: Sequence[bytes] = ()
    """The body as it would be stored."""
    document: Document | None = None
    """None if nothing had to be read."""
    stored_links: Sequence[Link] = ()
    """Links of the stored version, where they are wanted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What to do: `rows` in any order, `page`, `discovered` and `parsed`, `reported`.

    In this order a reported page can be read, and its links are on their way.
    """

    rows: list[tables.Write] = field(default_factory=list)
    page: tables.Write
    discovered: list[UrlDiscovered] = field(default_factory=list)
    parsed: PageParsed | None = None
    reported: CrawlReported
    verdict: Literal["new", "changed", "unchanged", "incomplete", "failed"]
    cut: dict[str, int] = field(default_factory=dict)
    """Links not passed on, by reason."""


def needs_reading(fetch: FetchCompleted, body_digest: bytes) -> bool:
    """Whether the body must be parsed: never that of a failure or an unchanged page."""
    return fetch.outcome is Outcome.OK and not change.same_body(fetch.request, body_digest)


def wants_stored_links(fetch: FetchCompleted, body_digest: bytes | None) -> bool:
    """Whether the links of an unchanged page are to be passed on all the same."""
    same = body_digest is not None and change.same_body(fetch.request, body_digest)
    return fetch.request.follow and (same or fetch.outcome is Outcome.UNCHANGED)


def task_of(fetch: FetchCompleted, limits: Limits) -> Task:
    """What a parsing process is given."""
    return Task(
        url=fetch.request.url,
        body=fetch.body,
        size=fetch.size,
        headers=[
            pair
            for pair in fetch.headers
            if pair[0] in ("content-type", "content-language", "x-robots-tag")
        ],
        agent=limits.agent,
        now=fetch.started_at,
        max_links=limits.max_links,
        max_text=limits.max_text,
        sitemap_level=fetch.request.sitemap_level,
        listings=_listings(limits),
    )


def _listings(limits: Limits) -> list[ListingKind]:
    wanted: tuple[tuple[ListingKind, bool], ...] = (
        ("sitemap", limits.sitemaps),
        ("feed", limits.feeds),
    )
    return [kind for kind, is_wanted in wanted if is_wanted]


def decide(fetch: FetchCompleted, reading: Reading, limits: Limits) -> Effects:
    """All that follows from a fetch."""
    effects = _decide(fetch, reading, limits)
    if not fetch.sitemaps:
        return effects
    found, cut = robots_sitemaps(fetch, follow=limits.sitemaps)
    return replace(effects, discovered=found + effects.discovered, cut=_sum(effects.cut, cut))


def _decide(fetch: FetchCompleted, reading: Reading, limits: Limits) -> Effects:
    if fetch.outcome is Outcome.OK and reading.document is not None:
        return _read_page(fetch, reading, reading.document, limits)
    if fetch.outcome in (Outcome.OK, Outcome.UNCHANGED):
        return _same_page(fetch, reading, limits)
    return _no_page(fetch, limits)


def _read_page(
    fetch: FetchCompleted, reading: Reading, document: Document, limits: Limits
) -> Effects:
    """A body that was read: new, changed, or other octets with the same text."""
    request = fetch.request
    body_digest = reading.body_digest or b""
    # our own size limit cuts at the same place each time, so those bodies can be compared
    complete = not fetch.truncated or fetch.size >= limits.max_body
    if change.same_body(request, body_digest):
        verdict = change.unchanged(request)
    else:
        verdict = change.compare(fetch, body_digest, document.text_digest, complete=complete)
    version = verdict.changed is not False
    # a cut body is kept for what it is, but never takes the place of a whole one
    lasting = complete or request.body_digest is None
    rows = _content_rows(fetch, reading, document) if version else []
    if (version and lasting) or change.same_body(request, body_digest):
        rows.append(tables.outlinks_row(request, tables.that_fit(document.links)))
    if version and complete and request.body_digest is not None and limits.retention:
        rows += tables.forget_rows(request, limits.retention)
    reason = document.failure or document.reason or fetch.reason
    discovered, cut = discover(fetch, document.links)
    return Effects(
        rows=rows,
        page=tables.page_row(
            fetch,
            document,
            reason=reason,
            changed=verdict.changed,
            body_digest=body_digest if version else verdict.stored_body,
            text_digest=document.text_digest if version else verdict.stored_text,
            ttl=0 if version and lasting else limits.retention,
        ),
        discovered=discovered,
        parsed=parsed_page(fetch, document) if version and not document.is_listing else None,
        reported=report(fetch, verdict, reason, listing=document.is_listing),
        verdict=_name(verdict, complete=complete),
        cut=_sum(document.cut, cut),
    )


def _name(
    verdict: Verdict, *, complete: bool
) -> Literal["new", "changed", "unchanged", "incomplete"]:
    if verdict.changed is None:
        return "new" if complete else "incomplete"
    return "changed" if verdict.changed else "unchanged"


def _content_rows(
    fetch: FetchCompleted, reading: Reading, document: Document
) -> list[tables.Write]:
    rows = tables.content_rows(reading.body_digest or b"", reading.chunks, fetch.size)
    if document.text_digest is not None and not document.is_listing:
        rows.append(tables.text_row(document.text_digest, document.text))
    return rows


def _same_page(fetch: FetchCompleted, reading: Reading, limits: Limits) -> Effects:
    """304, or the same octets: nothing was read."""
    verdict = change.unchanged(fetch.request)
    discovered, cut = discover(fetch, reading.stored_links)
    return Effects(
        page=tables.page_row(
            fetch,
            Document(),
            reason=fetch.reason,
            changed=False,
            body_digest=verdict.stored_body,
            text_digest=verdict.stored_text,
            ttl=limits.retention,
        ),
        discovered=discovered,
        reported=report(fetch, verdict, fetch.reason),
        verdict="unchanged",
        cut=cut,
    )


def _no_page(fetch: FetchCompleted, limits: Limits) -> Effects:
    """No body: a failure, or a move."""
    request = fetch.request
    discovered: list[UrlDiscovered] = []
    cut: dict[str, int] = {}
    if fetch.outcome is Outcome.MOVED:
        discovered, cut = discover_target(fetch)
    gone = fetch.outcome is Outcome.GONE and limits.retention
    kept = Verdict(changed=None, stored_body=request.body_digest, stored_text=request.text_digest)
    return Effects(
        rows=tables.forget_rows(request, limits.retention) if gone else [],
        page=tables.page_row(
            fetch,
            Document(),
            reason=fetch.reason,
            changed=None,
            body_digest=None,
            text_digest=None,
            ttl=limits.retention,
        ),
        discovered=discovered,
        reported=report(fetch, kept, fetch.reason),
        verdict="failed",
        cut=cut,
    )


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in first | second}
