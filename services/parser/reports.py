"""What indexers and the scheduler are told of a fetch.

Decides which validators are worth sending back. Never decides what changed: see change.py.
"""

from services.common.records import CrawlReported, FetchCompleted, Outcome, PageParsed
from services.parser.caching import fresh_for
from services.parser.change import Verdict
from services.parser.document import Document, header

_VALIDATOR_LIMIT = 1000
"""Longer validators are not kept: they would travel with every request."""
_LOCATION_LIMIT = 4000
"""Longer redirect targets are nothing that the scheduler could learn from."""


def parsed_page(fetch: FetchCompleted, document: Document) -> PageParsed:
    """The page as indexers get it."""
    request = fetch.request
    return PageParsed(
        url=request.url,
        fingerprint=request.fingerprint,
        host=request.host,
        job=request.rules.job,
        depth=request.depth,
        fetched_at=fetch.started_at,
        status=fetch.status or 200,
        content_type=document.content_type,
        title=document.title,
        text=document.text,
        text_source=document.text_source,
        text_truncated=document.text_truncated,
        language=document.language,
        description=document.description,
        canonical=document.canonical,
        noindex=document.noindex,
        links=len(document.links),
    )


def report(
    fetch: FetchCompleted, verdict: Verdict, reason: str, *, listing: bool | None = None
) -> CrawlReported:
    """The crawl as the scheduler gets it; digests are those of what is stored from now on."""
    request = fetch.request
    known = fetch.outcome is not Outcome.OK  # what is stored stays as it is
    return CrawlReported(
        host=request.host,
        fingerprint=request.fingerprint,
        scheduled_at=request.scheduled_at,
        url=request.url,
        job=request.rules.job,
        outcome=fetch.outcome,
        reason=reason,
        status=fetch.status,
        changed=verdict.changed,
        fetched_at=fetch.started_at,
        elapsed=fetch.elapsed,
        size=fetch.size,
        etag=_validator(fetch, "etag") or (request.etag if known else None),
        last_modified=_validator(fetch, "last-modified")
        or (request.last_modified if known else None),
        body_digest=verdict.stored_body,
        text_digest=verdict.stored_text,
        retry_after=fetch.retry_after,
        crawl_delay=fetch.crawl_delay,
        fetcher=fetch.fetcher,
        location=_location(fetch),
        listing=listing,
        group=fetch.group,
        fresh_for=fresh_for(fetch.headers, fetch.started_at) if _usable(fetch) else None,
    )


def _location(fetch: FetchCompleted) -> str | None:
    target = fetch.location if fetch.outcome is Outcome.MOVED else None
    return target if target is not None and len(target) <= _LOCATION_LIMIT else None


def _validator(fetch: FetchCompleted, name: str) -> str | None:
    """A validator to send back next time.

    None of an incomplete body, or a 304 would make the cut body the last one ever read.
    """
    if not _usable(fetch):
        return None
    value = header(fetch.headers, name)
    return value if 0 < len(value) <= _VALIDATOR_LIMIT else None


def _usable(fetch: FetchCompleted) -> bool:
    return fetch.outcome in (Outcome.OK, Outcome.UNCHANGED) and not fetch.truncated
