"""What a right crawl of the demo web finds: each URL, its outcome, depth, links and text.

A breadth-first walk over the web's definition; nothing is rendered and nothing is fetched. The
rules are those of the pipeline: robots.txt is kept, nofollow is kept, a redirect's target has
the depth of its source, every link has the depth of its page plus one. A host's sitemaps have
the depth of what is known of the host first, and what they list is one deeper; they are left
out where that is too deep.

With a depth limit that bites, a real crawl may find a page first by a longer way than the
shortest, and stop earlier below it. Only the trap's way in is free of that: the odd host is
linked from host 0's directory alone. So use a limit well above `deepest` of the rest.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from services.common.records import Outcome
from services.local.demo import article as articles
from services.local.demo.lists import listed, lone_page, named_by_robots
from services.local.demo.odd import PRIVATE, UNRESOLVABLE, calendar, odd_pages
from services.local.demo.site import DemoWeb


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What should come of one URL."""

    outcome: Outcome
    reason: str | None = None
    """The fetcher's reason where there is only one right one; None: not said here."""
    depth: int = 0
    """Least number of links from a seed."""
    moved_to: str = ""
    """Canonical URL that a redirect leads to."""
    page: tuple[int, int] | None = None
    """Host and number if the URL is an article."""
    listing: bool = False
    """A sitemap or feed: stored, but no page for readers."""


def expected(
    web: DemoWeb,
    seeds: Iterable[str] | None = None,
    max_depth: int | None = None,
    scope: Literal["any", "host"] = "any",
) -> dict[str, Expectation]:
    """Every URL that a crawl from `seeds` (default: the web's) fetches or is refused.

    Keys are canonical URLs, which are their own identities. What the frontier must refuse (out
    of scope, too deep, nofollow, not http) is not in it.

    Raises:
        ValueError: the crawl would never end: the trap is on and there is no depth limit.
    """
    if max_depth is None and web.trap and "odd" in map(web.role, range(web.hosts)):
        raise ValueError("a web with a trap needs a depth limit")
    found: dict[str, Expectation] = {}
    queue = deque((seed, 0) for seed in (web.seeds if seeds is None else seeds))
    met: set[int | None] = {None}
    while queue:
        url, depth = queue.popleft()
        if url in found:
            continue
        found[url] = replace(_look(web, url), depth=depth)
        deeper = max_depth is None or depth < max_depth
        host, path = _split(web, url)
        if host is not None and deeper:
            # Same depth, so before all that is deeper.
            robots = None if host in met else named_by_robots(web, host)
            met.add(host)
            files = listed(web, host, path)
            queue.extendleft(
                (name, depth) for name in (robots, *(files.sitemaps if files else ())) if name
            )
        if found[url].moved_to:
            # Same depth, so before all that is deeper.
            queue.extendleft(_in_scope([found[url].moved_to], url, scope, depth))
        elif deeper:
            queue.extend(_in_scope(sorted(links(web, url)), url, scope, depth + 1))
    return found


def links(web: DemoWeb, url: str) -> frozenset[str]:
    """Canonical URLs of the links of a page that are to be followed; none if it is no page."""
    host, path = _split(web, url)
    if host is None or _refused(web, host, path):
        return frozenset()
    if (page := web.find(host, path)) is not None:
        return web.targets(host, page).all()
    if odd := odd_pages(web, host).get(path):
        return odd.links
    if month := calendar(web, host, path):
        return frozenset({web.url(host, month)})
    if (index := web.directory_index(host, path)) is not None:
        return frozenset(web.directory(index))
    found = listed(web, host, path)
    return frozenset(found.pages if found else ())


def paragraphs(web: DemoWeb, url: str, at: float) -> list[str]:
    """What the text of an article must hold at a time; spaces are single, lines unbroken.

    Raises:
        KeyError: the URL is no article.
    """
    host, path = _split(web, url)
    page = None if host is None else web.find(host, path)
    if host is None or page is None:
        raise KeyError(url)
    return articles.article(web, host, page, web.version(host, page, at).number).paragraphs


def live_version(web: DemoWeb, url: str, at: float) -> int:
    """The version that the web shows of an article at a time.

    To be compared with `edition(text)` of what a crawler has of it.

    Raises:
        KeyError: the URL is no article.
    """
    host, path = _split(web, url)
    page = None if host is None else web.find(host, path)
    if host is None or page is None:
        raise KeyError(url)
    return web.version(host, page, at).number


def deepest(truth: Mapping[str, Expectation]) -> int:
    """Depth of the deepest page apart from the trap's."""
    return max((right.depth for url, right in truth.items() if "/calendar/" not in url), default=0)


def _look(web: DemoWeb, url: str) -> Expectation:
    """What comes of fetching a URL, its depth aside."""
    host, path = _split(web, url)
    if host is None:
        return _look_outside(url)
    if web.role(host) == "closed":
        return Expectation(outcome=Outcome.TRANSIENT, reason="robots-unreachable")
    if _refused(web, host, path):
        return Expectation(outcome=Outcome.DISALLOWED, reason="robots")
    if (page := web.find(host, path)) is not None:
        return Expectation(outcome=Outcome.OK, page=(host, page))
    if odd := odd_pages(web, host).get(path):
        return Expectation(outcome=odd.outcome, reason=odd.reason, moved_to=odd.moved_to)
    listing = listed(web, host, path) is not None
    known = (
        listing
        or lone_page(web, host, path) is not None
        or path == "/private/staff.html"
        or calendar(web, host, path) is not None
        or web.directory_index(host, path) is not None
    )
    return Expectation(outcome=Outcome.OK if known else Outcome.GONE, listing=listing)


def _look_outside(url: str) -> Expectation:
    if url.startswith(PRIVATE):
        return Expectation(outcome=Outcome.POLICY, reason="private-address")
    if url == UNRESOLVABLE:
        return Expectation(outcome=Outcome.TRANSIENT)
    raise ValueError(f"not of this web: {url}")


def _split(web: DemoWeb, url: str) -> tuple[int | None, str]:
    authority = urlsplit(url).netloc
    host = web.host_at(authority)
    ours = host is not None and authority == web.authority(host)
    return host if ours else None, url[len("http://") + len(authority) :]


def _refused(web: DemoWeb, host: int, path: str) -> bool:
    """Whether a host's robots.txt forbids a path; see answers.robots."""
    role = web.role(host)
    if role in {"closed", "robots-missing"}:
        return role == "closed"
    return path.startswith("/private/") and path != "/private/open.html"


def _in_scope(
    targets: Iterable[str], source: str, scope: str, depth: int
) -> Iterable[tuple[str, int]]:
    authority = urlsplit(source).netloc
    return [(url, depth) for url in targets if scope == "any" or urlsplit(url).netloc == authority]
