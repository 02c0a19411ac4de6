"""The whole pipeline over the demo web, compared with what is known of it, URL by URL."""

import hashlib
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from services.common.cassandra import connect
from services.common.records import Outcome, PageParsed
from services.common.settings import Settings
from services.common.topics import DEAD_LETTERS, PAGE_PARSED, Topic
from services.common.urls import BadUrl, fingerprint, parse
from services.local.demo import (
    Access,
    DemoWeb,
    Expectation,
    Running,
    expected,
    least_gaps,
    links,
    paragraphs,
    read_log,
)
from services.local.demo.odd import BIG, NEVER
from services.local.live import Progress
from services.local.supervisor import Pipeline
from services.parser import store

JOB = "first"
JITTER = 0.01
"""Seconds that the server may write down the end of an answer too late."""
STORED = ("ok", "unchanged")


@dataclass(frozen=True)
class Crawled:
    """The first crawl of the whole web, and what the web saw of it."""

    truth: dict[str, Expectation]
    rows: dict[str, list[Any]]
    accesses: list[Access]
    progress: Progress

    def those(self, *outcomes: Outcome) -> set[str]:
        """URLs that should have come to this."""
        return {url for url, right in self.truth.items() if right.outcome in outcomes}

    @property
    def pages(self) -> set[str]:
        """URLs that should be stored and are no sitemaps or feeds."""
        return {url for url in self.those(Outcome.OK) if not self.truth[url].listing}

    @property
    def articles(self) -> list[str]:
        """The articles that may be fetched."""
        return sorted(
            url for url, right in self.truth.items() if right.page and right.outcome is Outcome.OK
        )


@pytest.fixture(scope="module")
def crawled(
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
) -> Crawled:
    """The first crawl, done once for all tests of this module."""
    progress = crawl(*web.seeds, job=JOB, scope="any")
    return Crawled(
        truth=expected(web.web),
        rows=fetches(JOB),
        accesses=log(web),
        progress=progress,
    )


def log(web: Running) -> list[Access]:
    assert web.log_path is not None
    return read_log(web.log_path)


def url_of(access: Access) -> str:
    """The identity of the URL that was asked for."""
    return parse(f"http://{access.host}{access.path}").identity


def is_robots(access: Access) -> bool:
    return access.path.startswith("/robots")


def verdict(right: Expectation, row: Any) -> tuple[str, str | None]:  # noqa: ANN401 - a driver's row
    """Outcome and reason of a row; the reason only where the truth has one."""
    return row.outcome, row.reason if right.reason else None


def test_each_url_is_found_and_comes_to_what_the_truth_says(crawled: Crawled) -> None:
    """D1, C1, C4, C6: every URL, none more, none less, with outcome and reason."""
    found = {url: verdict(crawled.truth[url], crawled.rows[url][-1]) for url in crawled.rows}
    assert found == {
        url: (right.outcome.value, right.reason) for url, right in crawled.truth.items()
    }


def test_each_page_is_in_the_result_once(crawled: Crawled) -> None:
    """D1, D4: however many links lead to it, and however they are spelled."""
    stored = Counter(
        {url: sum(row.outcome in STORED for row in rows) for url, rows in crawled.rows.items()}
    )
    assert +stored == Counter(crawled.those(Outcome.OK))


def test_each_article_is_asked_for_once(crawled: Crawled) -> None:
    """D4, A15."""
    asked = Counter(map(url_of, crawled.accesses))
    assert {url: asked[url] for url in crawled.articles} == dict.fromkeys(crawled.articles, 1)


def test_nothing_disallowed_or_unlinked_is_ever_asked_for(crawled: Crawled, web: Running) -> None:
    """C4: by the web's own log; what robots.txt allows by a longer match is asked for."""
    asked = {url_of(access) for access in crawled.accesses if not is_robots(access)}
    outside = {url for url in crawled.truth if web.web.host_at(urlsplit(url).netloc) is None}
    closed = crawled.those(Outcome.DISALLOWED) | {
        url for url, right in crawled.truth.items() if right.reason == "robots-unreachable"
    }
    assert asked == crawled.truth.keys() - outside - closed
    never = {path for path in (access.path for access in crawled.accesses) if forbidden(path)}
    assert {path for path in never if path != "/private/open.html"} <= open_private(crawled, web)


def forbidden(path: str) -> bool:
    return path.startswith(NEVER)


def open_private(crawled: Crawled, web: Running) -> set[str]:
    """Paths under /private/ on the host that has no robots.txt."""
    return {
        urlsplit(url).path
        for url in crawled.those(Outcome.OK)
        if (host := web.web.host_at(urlsplit(url).netloc)) is not None
        and web.web.role(host) == "robots-missing"
    }


def test_no_two_requests_to_a_host_are_closer_than_its_delay(
    crawled: Crawled, web: Running, place: Settings
) -> None:
    """D6, E2: from an answer's end to the next request, robots.txt included; never two at once."""
    roles = {web.web.authority(host): web.web.role(host) for host in range(web.web.hosts)}
    delays = {
        host: web.web.crawl_delay if role == "delay" else place.scheduler.min_gap
        for host, role in roles.items()
    }
    too_close = {
        host: (gap, delays[host])
        for host, gap in least_gaps(crawled.accesses).items()
        if gap < delays[host] - JITTER
    }
    assert too_close == {}
    assert {access.host for access in crawled.accesses} == set(delays)


async def test_text_and_links_are_those_of_the_page(
    crawled: Crawled, web: Running, place: Settings
) -> None:
    """C5, D3, F3: every third article, in all languages and charsets."""
    sample = crawled.articles[::3]
    assert len(sample) > 20
    async with await connect(place.cassandra) as cassandra:
        for url in sample:
            page = await store.latest_page(cassandra, url)
            assert page is not None
            assert followed(page) - {url} == links(web.web, url) - {url}, url
            text = " ".join(page.text.split())
            missing = [part for part in paragraphs(web.web, url, time.time()) if part not in text]
            assert missing == [], url


def followed(page: store.Page) -> set[str]:
    """Identities of the stored links that may be followed."""
    found = set()
    for link in page.links:
        if "nofollow" not in link.rel.lower().split():
            try:
                found.add(parse(link.url).identity)
            except BadUrl:
                continue
    return found


def test_each_page_is_published_once_for_indexers(
    crawled: Crawled, place: Settings, read_topic: Callable[[Settings, Topic], list[PageParsed]]
) -> None:
    """D2."""
    published = Counter(parse(page.url).identity for page in read_topic(place, PAGE_PARSED))
    assert published == Counter(crawled.pages)


def test_nothing_becomes_a_dead_letter(
    crawled: Crawled, place: Settings, read_topic: Callable[[Settings, Topic], list[Any]]
) -> None:
    """Odd pages are no faults of ours."""
    assert crawled.progress.tally.stored == len(crawled.those(Outcome.OK))
    assert read_topic(place, DEAD_LETTERS) == []


async def test_a_body_over_kafkas_limit_arrives_whole(
    crawled: Crawled, served: bytes, place: Settings
) -> None:
    """C9, E6: three million octets that hardly compress."""
    async with await connect(place.cassandra) as cassandra:
        page = await store.latest_page(cassandra, big(crawled))
        assert page is not None
        body = await store.body(cassandra, page)
    assert len(served) >= BIG > place.kafka.max_record
    assert digest(body) == digest(served)
    assert not page.truncated


@pytest.fixture
def served(crawled: Crawled) -> bytes:
    """The big page as the web serves it."""
    with urllib.request.urlopen(big(crawled), timeout=60) as answer:  # noqa: S310 - our own demo web
        body: bytes = answer.read()
    return body


def big(crawled: Crawled) -> str:
    return next(url for url in crawled.truth if url.endswith("/odd/big.html"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_known_web_crawled_again_is_unchanged_and_stored_no_second_time(
    crawled: Crawled,
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
    select: Callable[..., list[Any]],
) -> None:
    """C10, E10: conditional requests, and equal bodies where a page has no validators."""
    before = contents(select)
    seen = len(log(web))
    # The closed host keeps us waiting at each try.
    homes = [url for url in web.base_urls if crawled.truth[url].outcome is Outcome.OK]
    crawl(*homes, job="again", scope="host", fresh_after=time.time())
    rows = fetches("again")
    truth = {url for home in homes for url in expected(web.web, [home], scope="host")}
    assert rows.keys() == truth
    whole = {url for url in crawled.articles if crawled.rows[url][-1].reason == "ok"}
    assert {url for url in whole if rows[url][-1].changed is not False} == set()
    assert contents(select) == before
    again = [access for access in log(web)[seen:] if url_of(access) in whole]
    assert {access.status for access in again if access.conditional} == {304}
    plain = {url_of(access) for access in again if not access.conditional}
    assert plain == {url for url in whole if is_noise(web.web, crawled.truth[url])}


def contents(select: Callable[..., list[Any]]) -> set[tuple[bytes, int]]:
    return {(row.digest, row.chunk) for row in select("SELECT digest, chunk FROM contents")}


def is_noise(web: DemoWeb, right: Expectation) -> bool:
    return right.page is not None and web.change(*right.page) == "noise"


def test_scope_host_keeps_a_crawl_on_its_host(
    crawled: Crawled,
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
) -> None:
    """D1: links to other hosts are refused."""
    home = web.web.home(1)
    assert home in crawled.truth
    seen = len(log(web))
    crawl(home, job="one host", scope="host", fresh_after=time.time())
    assert {access.host for access in log(web)[seen:]} == {web.web.authority(1)}
    assert fetches("one host").keys() == expected(web.web, [home], scope="host").keys()


@pytest.mark.parametrize("limit", [1, 2])
def test_depth_holds_exactly(
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
    limit: int,
) -> None:
    job = f"depth {limit}"
    crawl(*web.seeds, job=job, scope="any", max_depth=limit, fresh_after=time.time())
    assert fetches(job).keys() == expected(web.web, max_depth=limit).keys()


@pytest.mark.parametrize("limit", [1, 17])
def test_max_pages_holds_exactly(
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
    limit: int,
) -> None:
    job = f"pages {limit}"
    crawl(*web.seeds, job=job, scope="any", max_pages=limit, fresh_after=time.time())
    stored = {url for url, rows in fetches(job).items() if rows[-1].outcome in STORED}
    lists = {url for url, right in expected(web.web).items() if right.listing}
    assert len(stored - lists) == limit


def test_every_url_is_in_one_state_and_none_is_pending(
    crawled: Crawled, crawl: Callable[..., Progress], services: Pipeline, web: Running
) -> None:
    """G2, G4: known = the sum of all states, and it is what the truth has, whatever jobs ran."""
    status = dict(crawl(*web.seeds, job="count", scope="host", max_depth=0).status)
    known, hosts = status.pop("known"), status.pop("hosts")
    pending = {status.pop(name, 0) for name in ("waiting", "in_flight", "retrying", "due")}
    assert pending == {0}
    assert sum(status.values()) == known >= len(crawled.truth)
    assert hosts >= web.web.hosts
    assert services.problems() == []


def test_fingerprints_tell_the_urls_of_the_web_apart(crawled: Crawled) -> None:
    """D4, D5: exact, so no two URLs are one by chance."""
    assert len({fingerprint(url) for url in crawled.truth}) == len(crawled.truth)
