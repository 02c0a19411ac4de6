"""Decides what a request becomes: what goes on the wire, and what its response means.

Pure: records, facts and `now` in; a `WireRequest` or a `FetchCompleted` out. Compresses nothing
and sends nothing; `body` in its results is decoded and uncompressed.
"""

import re
from dataclasses import dataclass, replace

from services.common.records import FetchCompleted, FetchRequested, Outcome
from services.common.urls import Url
from services.fetcher import classify, location, retry_after
from services.fetcher.classify import Verdict
from services.fetcher.host_rules import DEFAULT, Options
from services.fetcher.protocols.port import WireRequest, WireResponse
from services.fetcher.robots import MAX_BYTES
from services.fetcher.robots_facts import Facts

ROBOTS_SCHEMES = frozenset({"http", "https"})
"""Protocols that robots.txt governs (RFC 9309, 2.3)."""
LEASE_TOLERANCE = 2.0
"""Seconds that our clock and the scheduler's may differ before a lease counts as over."""

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_CODINGS = "gzip, br, zstd, deflate"
_FIELD_VALUE = re.compile("[\t\x20-\x7e\x80-\xff]+")
SITEMAP_BODY = 50 << 20
"""Octets of a sitemap that are read where `max_body` is less (sitemaps.org)."""
_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_NOT_MODIFIED = 304
_PLAIN_OK = 200
_BUSY = frozenset({429, 503})
_OK = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One request on its way, with what surrounds it."""

    request: FetchRequested
    fetcher: str
    started_at: float
    elapsed: float = 0.0
    held: float | None = None
    """Seconds that the site keeps us away, where that is why nothing was sent."""
    facts: Facts | None = None
    """None: the request never got as far as robots.txt."""


def identity(agent: str, version: str, contact: str) -> str:
    """The User-Agent: who we are and how a site's owner reaches us."""
    return f"{agent}/{version} (+{contact})"


def page_request(
    request: FetchRequested,
    url: Url,
    user_agent: str,
    limit: int,
    *,
    options: Options = DEFAULT,
    cookie: str = "",
) -> WireRequest:
    """The wire request for a page, conditional where validators are known (RFC 9110, 13.1).

    `cookie` is the Cookie header's value, empty for none.
    """
    validators = (("if-none-match", request.etag), ("if-modified-since", request.last_modified))
    conditions = [
        (name, value) for name, value in validators if value and _FIELD_VALUE.fullmatch(value)
    ]
    cookies = [("cookie", cookie)] if cookie and _FIELD_VALUE.fullmatch(cookie) else []
    return WireRequest(
        url=url,
        headers=(*_common(user_agent, options), *conditions, *cookies),
        limit=options.max_body or (max(limit, SITEMAP_BODY) if request.sitemap_level else limit),
        options=options,
    )


def worth_a_ping(request: FetchRequested, url: Url, above: int) -> bool:
    """Whether to ask by HEAD before the body: it is large, and nothing makes GET conditional.

    `above` is the setting `head_above`. A URL tried again after a failure is asked for at once.
    """
    unconditional = not (request.etag or request.last_modified)
    large = 0 < above < request.size
    return large and unconditional and not request.attempt and url.scheme in ROBOTS_SCHEMES


def ping_request(
    url: Url, user_agent: str, limit: int, *, options: Options = DEFAULT, cookie: str = ""
) -> WireRequest:
    """The HEAD request; without codings, so that Content-Length is that of the page itself."""
    cookies = [("cookie", cookie)] if cookie and _FIELD_VALUE.fullmatch(cookie) else []
    headers = dict(_common(user_agent, options)) | {"accept-encoding": "identity"}
    return WireRequest(
        url=url,
        method="HEAD",
        headers=(*headers.items(), *cookies),
        limit=limit,
        options=options,
    )


def pinged(fetch: Fetch, response: WireResponse) -> FetchCompleted | None:
    """The report where the answer to HEAD is enough; None if the page is to be asked for.

    Enough is the stored length with no validator, as before; or being asked to stay away.
    """
    wait = wait_asked(response, fetch.started_at + fetch.elapsed)
    if wait is not None and response.status in _BUSY:
        verdict = classify.by_status(response.status)
        return _report(fetch, verdict, response=response, retry_after=wait)
    lengths = set(response.values("content-length"))
    validators = response.values("etag") + response.values("last-modified")
    same = lengths == {str(fetch.request.size)} and not validators and not response.damage
    if response.status == _PLAIN_OK and same:
        return _report(fetch, classify.HEAD_SAME, response=response)
    return None


def robots_request(url: Url, user_agent: str, options: Options = DEFAULT) -> WireRequest:
    """The wire request for a robots.txt; one octet more than counts, so that a cut shows.

    The file is wanted whatever its media type is.
    """
    options = replace(options, keep_types=(), skip_types=())
    headers = _common(user_agent, options)
    return WireRequest(url=url, headers=headers, limit=MAX_BYTES + 1, options=options)


def part_request(
    url: Url,
    user_agent: str,
    limit: int,
    *,
    options: Options = DEFAULT,
    headers: tuple[tuple[str, str], ...] = (),
) -> WireRequest:
    """The wire request for what a page asks for besides itself; `headers` are the page's."""
    options = replace(options, keep_types=(), skip_types=())
    own = dict(_common(user_agent, options))
    theirs = {name: value for name, value in headers if _FIELD_VALUE.fullmatch(value)}
    return WireRequest(
        url=url,
        headers=tuple((theirs | own | _accepted(theirs)).items()),
        limit=limit,
        options=options,
    )


def _accepted(headers: dict[str, str]) -> dict[str, str]:
    return {"accept": headers["accept"]} if "accept" in headers else {}


def lease_left(request: FetchRequested, now: float) -> float:
    """Seconds in which the request must start; not positive when the lease is over.

    The scheduler then has emitted the request again, or will.
    """
    return request.lease_until + LEASE_TOLERANCE - now


def gap(wanted: float, facts: Facts, cap: float) -> float:
    """Seconds to stay away from the host after its last request; `cap` bounds Crawl-delay."""
    return max(wanted, min(facts.crawl_delay or 0.0, cap))


def refused(fetch: Fetch, verdict: Verdict) -> FetchCompleted:
    """The report on a request that got no response, or that was never sent."""
    facts = fetch.facts
    wait = fetch.held
    if facts is not None and facts.rules is None and verdict.outcome is Outcome.TRANSIENT:
        wait = max(0.0, facts.until - fetch.started_at)
    return _report(fetch, verdict, retry_after=wait)


def answered(fetch: Fetch, url: Url, response: WireResponse) -> FetchCompleted:
    """The report on a request that got `response`."""
    target = redirect_target(url, response)
    verdict = _verdict(fetch.request, response, target)
    if target == url.href:
        verdict = classify.REDIRECT_LOOP
    keep = verdict.outcome is Outcome.OK
    return _report(
        fetch,
        verdict,
        response=response,
        body=response.body if keep else b"",
        target=target,
        retry_after=wait_asked(response, fetch.started_at + fetch.elapsed),
    )


def wait_asked(response: WireResponse, now: float) -> float | None:
    """Seconds that the response asks us to stay away; success asks for nothing."""
    if response.status in _OK or response.status == _NOT_MODIFIED:
        return None
    return retry_after.seconds(response.values("retry-after"), now)


def trouble(response: WireResponse, now: float) -> float | None:
    """Seconds that the response asks us to stay away, 0 if it only says to go slow; or None."""
    asked = wait_asked(response, now)
    return asked or 0.0 if response.status in _BUSY else asked


def redirect_target(url: Url, response: WireResponse) -> str | None:
    """The absolute target of a redirect response; None if it is none or names no usable one."""
    values = response.values("location") if response.status in _REDIRECTS else []
    return location.resolve(values[0].encode("latin-1"), url.href) if values else None


def _verdict(request: FetchRequested, response: WireResponse, target: str | None) -> Verdict:
    if response.status in _OK:
        if response.damage:
            return classify.by_damage(response.damage, request.attempt)
        return classify.OK
    if response.status == _NOT_MODIFIED:
        conditional = request.etag or request.last_modified
        return classify.UNCHANGED if conditional else classify.BAD_STATUS
    return classify.MOVED if target else classify.by_status(response.status)


def _report(
    fetch: Fetch,
    verdict: Verdict,
    *,
    response: WireResponse | None = None,
    body: bytes = b"",
    target: str | None = None,
    retry_after: float | None = None,
) -> FetchCompleted:
    return FetchCompleted(
        request=fetch.request,
        outcome=verdict.outcome,
        reason=verdict.reason,
        status=response.status if response else None,
        headers=response.headers if response else [],
        started_at=fetch.started_at,
        elapsed=fetch.elapsed,
        first_byte=response.first_byte if response else None,
        body=body,
        size=len(body),
        truncated=bool(response and response.damage) and verdict.outcome is not Outcome.POLICY,
        location=target,
        retry_after=retry_after,
        crawl_delay=fetch.facts.crawl_delay if fetch.facts else None,
        address=response.address if response else None,
        distrust=response.distrust if response else "",
        rendered=response.rendered if response else False,
        fetcher=fetch.fetcher,
    )


def _common(user_agent: str, options: Options) -> tuple[tuple[str, str], ...]:
    own = {"user-agent": user_agent, "accept": _ACCEPT, "accept-encoding": _CODINGS}
    return tuple((own | dict(options.headers)).items())
