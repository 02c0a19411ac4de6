"""The stored links of a page as the frontier gets them: one record per target host. Pure.

What the parser left out (`nofollow`, no URL) is left out again; sitemaps go in records of their
own, as those that robots.txt names.
"""

from collections.abc import Iterable, Iterator

from services.common.records import Link, Rules, UrlDiscovered
from services.common.urls import SCHEMES, BadUrl, parse
from services.parser.discoveries import MAX_LINKS
from services.parser.links import SITEMAP


def discovered(
    links: Iterable[Link], *, source: str, rules: Rules, depth: int, found_at: float
) -> Iterator[UrlDiscovered]:
    """The records; `depth` is that of the links."""
    hosts: dict[tuple[str, int], list[Link]] = {}
    schemes = SCHEMES | {source.partition(":")[0]}
    for link in links:
        rel = link.rel.split()
        if "nofollow" in rel:
            continue
        try:
            host = parse(link.url, schemes=schemes).host
        except BadUrl:
            continue
        hosts.setdefault((host, int(SITEMAP in rel)), []).append(link)
    for (host, level), found in hosts.items():
        for start in range(0, len(found), MAX_LINKS):
            yield UrlDiscovered(
                host=host,
                source=source,
                rules=rules,
                depth=depth - level,
                links=found[start : start + MAX_LINKS],
                found_at=found_at,
                sitemap_level=level,
            )
