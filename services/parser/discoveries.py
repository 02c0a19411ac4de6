"""Links as the frontier gets them: one record per target host.

Decides how links are grouped, and leaves out those that the page says not to follow. Never
decides whether a URL may be crawled, nor how deep: that is the frontier's.

What a sitemap lists is one step from the page that its host was known by: the sitemaps
themselves have the depth of what named them, and only their pages are one deeper. So the limit
of a job means the same with and without sitemaps.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from services.common.records import FetchCompleted, FetchRequested, Hop, Link, UrlDiscovered
from services.common.urls import SCHEMES, BadUrl, parse
from services.parser.links import SITEMAP

MAX_LINKS = 500
"""Links in one record."""


def discover(
    fetch: FetchCompleted, links: Iterable[Link], depth: int | None = None
) -> tuple[list[UrlDiscovered], dict[str, int]]:
    """One record per target host, or more where the links are many; sitemaps in their own.

    The second value counts links not to be followed and those that are no URL, by reason.
    `depth` is that of the links; None for one step deeper than the page.
    """
    request = fetch.request
    hosts: dict[tuple[str, int], list[Link]] = {}
    cut: dict[str, int] = {}
    schemes = SCHEMES | {request.url.partition(":")[0]}
    for link in links:
        rel = link.rel.split()
        level = request.sitemap_level + 1 if SITEMAP in rel else 0
        if "redirect" in rel:
            level = request.sitemap_level
        reason = "nofollow" if "nofollow" in rel else ""
        if level and _at_limit(fetch):
            reason = "depth"
        if not reason:
            try:
                host = parse(link.url, schemes=schemes).host
                hosts.setdefault((host, level), []).append(link)
            except BadUrl as error:
                reason = error.reason
        if reason:
            cut[reason] = cut.get(reason, 0) + 1
    deeper = request.depth + 1 if depth is None else depth
    return [
        UrlDiscovered(
            host=host,
            source=request.url,
            rules=request.rules,
            depth=request.depth if level else deeper,
            links=found[start : start + MAX_LINKS],
            found_at=fetch.started_at + fetch.elapsed,
            sitemap_level=level,
        )
        for (host, level), found in hosts.items()
        for start in range(0, len(found), MAX_LINKS)
    ], cut


def discover_target(fetch: FetchCompleted) -> tuple[list[UrlDiscovered], dict[str, int]]:
    """Where a fetch is redirected to, with the trail that leads there; as `discover`.

    The target is as deep as the URL that moved.
    """
    request = fetch.request
    link = Link(url=fetch.location or "", rel="redirect")
    found, cut = discover(fetch, [link], depth=request.depth)
    return [replace(record, trail=[*request.trail, _hop(request)]) for record in found], cut


def _hop(request: FetchRequested) -> Hop:
    return Hop(
        url=request.url,
        fingerprint=request.fingerprint,
        host=request.host,
        job=request.rules.job,
        scheduled_at=request.scheduled_at,
    )


def robots_sitemaps(
    fetch: FetchCompleted, *, follow: bool
) -> tuple[list[UrlDiscovered], dict[str, int]]:
    """What robots.txt of the fetch's host names, for the job of the fetch; as `discover`.

    Where what they list would be too deep for the job they are left out; `follow` False leaves
    them out too.
    """
    request = fetch.request
    if not follow:
        return [], {"switched-off": len(fetch.sitemaps)}
    if _at_limit(fetch):
        return [], {"depth": len(fetch.sitemaps)}
    hosts: dict[str, list[Link]] = {}
    for url in fetch.sitemaps:
        hosts.setdefault(parse(url).host, []).append(Link(url=url, rel=SITEMAP))
    own = parse(request.url)
    return [
        UrlDiscovered(
            host=host,
            source=f"{own.scheme}://{own.host}/robots.txt",
            rules=request.rules,
            depth=request.depth,
            links=links,
            found_at=fetch.started_at + fetch.elapsed,
            sitemap_level=1,
        )
        for host, links in hosts.items()
    ], {}


def _at_limit(fetch: FetchCompleted) -> bool:
    """Whether the job goes no deeper than the page."""
    limit = fetch.request.rules.max_depth
    return limit is not None and fetch.request.depth >= limit
