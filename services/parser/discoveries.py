"""Links as the frontier gets them: one record per target host.

Decides how links are grouped, and leaves out those that the page says not to follow. Never
decides whether a URL may be crawled, nor how deep: that is the frontier's.
"""

from collections.abc import Iterable

from services.common.records import FetchCompleted, Link, UrlDiscovered
from services.common.urls import SCHEMES, BadUrl, parse

MAX_LINKS = 500
"""Links in one record."""


def discover(
    fetch: FetchCompleted, links: Iterable[Link], depth: int | None = None
) -> tuple[list[UrlDiscovered], dict[str, int]]:
    """One record per target host, or more where the links are many.

    The second value counts links not to be followed and those that are no URL, by reason.
    `depth` is that of the links; None for one step deeper than the page.
    """
    request = fetch.request
    hosts: dict[str, list[Link]] = {}
    cut: dict[str, int] = {}
    schemes = SCHEMES | {request.url.partition(":")[0]}
    for link in links:
        reason = "nofollow" if "nofollow" in link.rel.split() else ""
        if not reason:
            try:
                host = parse(link.url, schemes=schemes).host
                hosts.setdefault(host, []).append(link)
            except BadUrl as error:
                reason = error.reason
        if reason:
            cut[reason] = cut.get(reason, 0) + 1
    return [
        UrlDiscovered(
            host=host,
            source=request.url,
            rules=request.rules,
            depth=request.depth + 1 if depth is None else depth,
            links=found[start : start + MAX_LINKS],
            found_at=fetch.started_at + fetch.elapsed,
        )
        for host, found in hosts.items()
        for start in range(0, len(found), MAX_LINKS)
    ], cut
