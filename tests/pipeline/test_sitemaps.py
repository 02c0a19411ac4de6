"""Pages that only sitemaps and feeds lead to, through real engines (D11)."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from services.common.records import CrawlReported, PageParsed, UrlAdmitted
from services.common.settings import Settings
from services.common.topics import CRAWL_REPORTED, DEAD_LETTERS, PAGE_PARSED, URL_ADMITTED, Topic
from services.common.urls import parse
from services.local.demo import DemoWeb, Running, expected
from services.local.live import Progress

JOB = "lists"
Read = Callable[[Settings, Topic], list[Any]]


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """Two ordinary hosts, each with sitemaps and a feed."""
    return DemoWeb(hosts=2, pages=12, odd=False)


@pytest.fixture(scope="module")
def rows(
    web: Running, crawl: Callable[..., Progress], fetches: Callable[[str], dict[str, list[Any]]]
) -> dict[str, list[Any]]:
    """What a crawl of one host left, by URL."""
    crawl(web.seeds[0], job=JOB, scope="host")
    return fetches(JOB)


@pytest.fixture(scope="module")
def admitted(
    rows: dict[str, list[Any]], place: Settings, read_topic: Read
) -> dict[str, tuple[UrlAdmitted, Any]]:
    """What passed the frontier for that job, by URL."""
    assert rows
    records: list[UrlAdmitted] = read_topic(place, URL_ADMITTED)
    return {
        parse(url.url).identity: (record, url)
        for record in records
        if record.rules.job == JOB
        for url in record.urls
    }


def test_pages_are_reached_through_robots_txt_index_and_files(
    web: Running, rows: dict[str, list[Any]]
) -> None:
    """robots.txt -> index -> packed, plain and text files -> pages; page -> feed -> pages."""
    assert rows.keys() == expected(web.web, web.seeds, scope="host").keys()
    paths = {parse(url).path for url in rows}
    chain = {"/sitemap.xml", "/sitemap-1.xml.gz", "/sitemap-unlisted.xml", "/sitemap-more.txt"}
    only = {"/unlisted/1.html", "/unlisted/2.html", "/more/1.html"}
    assert chain | only | {"/news.rss", "/feed-only/1.html", "/feed-only/2.html"} <= paths
    forbidden = web.web.url(0, "/private/staff.html")
    assert {found[-1].outcome for url, found in rows.items() if url != forbidden} == {"ok"}


def test_dates_of_sitemaps_and_feeds_arrive_with_the_admitted_urls(
    web: Running, admitted: dict[str, tuple[UrlAdmitted, Any]]
) -> None:
    lone = admitted[web.web.url(0, "/unlisted/1.html")][1]
    assert lone.lastmod == web.web.version(0, 0, time.time()).since
    assert admitted[web.web.url(0, "/feed-only/1.html")][1].lastmod == int(web.web.epoch)
    assert admitted[web.web.url(0, "/more/1.html")][1].lastmod is None


def test_sitemaps_have_levels_and_pages_are_one_step_deeper(
    web: Running, admitted: dict[str, tuple[UrlAdmitted, Any]]
) -> None:
    places = {
        path: (
            admitted[web.web.url(0, path)][1].sitemap_level,
            admitted[web.web.url(0, path)][1].depth,
        )
        for path in ("/sitemap.xml", "/sitemap-1.xml.gz", "/unlisted/1.html", "/news.rss")
    }
    assert places == {
        "/sitemap.xml": (1, 0),
        "/sitemap-1.xml.gz": (2, 0),
        "/unlisted/1.html": (0, 1),
        "/news.rss": (0, 1),
    }


def test_lists_are_stored_and_reported_but_not_published(
    web: Running, rows: dict[str, list[Any]], place: Settings, read_topic: Read
) -> None:
    truth = expected(web.web, web.seeds, scope="host")
    lists = {url for url, right in truth.items() if right.listing}
    pages = {url for url, found in rows.items() if found[-1].outcome == "ok"} - lists
    published: list[PageParsed] = read_topic(place, PAGE_PARSED)
    assert {parse(page.url).identity for page in published if page.job == JOB} == pages
    reports: list[CrawlReported] = read_topic(place, CRAWL_REPORTED)
    assert {parse(report.url).identity for report in reports if report.listing} == lists
    assert read_topic(place, DEAD_LETTERS) == []


def test_another_job_finds_them_too(
    web: Running,
    rows: dict[str, list[Any]],
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
) -> None:
    """Though robots.txt is not read again, and the sitemaps are unchanged."""
    crawl(web.seeds[0], job="again", scope="host", fresh_after=time.time())
    assert fetches("again").keys() == rows.keys()


@pytest.mark.parametrize("limit", [0, 1])
def test_a_depth_limit_holds_for_what_is_listed(
    web: Running,
    crawl: Callable[..., Progress],
    fetches: Callable[[str], dict[str, list[Any]]],
    limit: int,
) -> None:
    """Seeds alone: no sitemaps. One step: what they list, but not what the feed does."""
    job = f"depth {limit}"
    crawl(web.seeds[0], job=job, scope="host", max_depth=limit, fresh_after=time.time())
    found = fetches(job).keys()
    assert found == expected(web.web, web.seeds, limit, scope="host").keys()
    assert (web.web.url(0, "/unlisted/1.html") in found) is (limit > 0)
    assert web.web.url(0, "/feed-only/1.html") not in found
