"""Sitemaps and what they list, on their way to the frontier (D11)."""

from collections.abc import Callable
from typing import Any

from services.common.records import FetchCompleted, FetchRequested, Link, Outcome, Rules
from services.parser.core import Limits, Reading, decide
from services.parser.discoveries import MAX_LINKS, discover, robots_sitemaps
from services.parser.document import Document
from services.parser.tables import MAX_ROW, that_fit

Requested = Callable[..., FetchRequested]
Completed = Callable[..., FetchCompleted]

LIMITS = Limits(agent="Recrawl", max_links=100, max_text=1000, max_body=10_000, retention=0)
FOUND = ["http://h.test/s1.xml", "http://cdn.test/s2.xml", "http://h.test/s3.xml"]
NONE: dict[str, Any] = {
    "outcome": Outcome.DISALLOWED,
    "reason": "robots",
    "status": None,
    "headers": [],
}


def test_what_robots_txt_names_goes_to_the_frontier_with_any_report(
    requested: Requested, completed: Completed
) -> None:
    """Even the one on a page that robots.txt forbids."""
    request = requested("https://h.test:81/a", depth=2)
    effects = decide(completed(b"", request, sitemaps=FOUND, **NONE), Reading(), LIMITS)
    assert [
        (record.host, record.source, record.depth, record.sitemap_level, record.rules)
        for record in effects.discovered
    ] == [
        (host, "https://h.test:81/robots.txt", 2, 1, request.rules)
        for host in ("h.test", "cdn.test")
    ]
    assert effects.discovered[0].links == [
        Link(url=url, rel="sitemap") for url in (FOUND[0], FOUND[2])
    ]


def test_they_come_before_the_links_of_the_page(requested: Requested, completed: Completed) -> None:
    document = Document(kind="html", links=[Link(url="http://h.test/x")])
    fetch = completed(b"x", requested(depth=0), sitemaps=FOUND[:1])
    effects = decide(fetch, Reading(body_digest=b"d" * 16, document=document), LIMITS)
    assert [record.sitemap_level for record in effects.discovered] == [1, 0]


def test_a_job_that_goes_no_deeper_follows_no_sitemaps(
    requested: Requested, completed: Completed
) -> None:
    for limit, depth, follows in ((0, 0, False), (2, 2, False), (2, 1, True), (None, 9, True)):
        request = requested(depth=depth, rules=Rules(root="h.test", max_depth=limit))
        found, cut = robots_sitemaps(completed(b"", request, sitemaps=FOUND), follow=True)
        assert bool(found) is follows
        assert cut == ({} if follows else {"depth": 3})


def test_switched_off_they_are_counted_and_left(requested: Requested, completed: Completed) -> None:
    fetch = completed(b"", requested(), sitemaps=FOUND, **NONE)
    limits = Limits(
        agent="x", max_links=1, max_text=1, max_body=1, retention=0, sitemaps=False, feeds=True
    )
    effects = decide(fetch, Reading(), limits)
    assert (effects.discovered, effects.cut) == ([], {"switched-off": 3})


def test_an_index_adds_a_level_and_no_depth_and_its_pages_one(
    requested: Requested, completed: Completed
) -> None:
    fetch = completed(b"", requested(depth=1, sitemap_level=1))
    links = [Link(url="http://h.test/s.xml", rel="sitemap"), Link(url="http://h.test/p")]
    found, _ = discover(fetch, links)
    assert [(record.depth, record.sitemap_level, record.links) for record in found] == [
        (1, 2, links[:1]),
        (2, 0, links[1:]),
    ]


def test_a_sitemap_that_moved_stays_one(requested: Requested, completed: Completed) -> None:
    fetch = completed(
        b"",
        requested("http://h.test/sitemap.xml", depth=0, sitemap_level=1),
        outcome=Outcome.MOVED,
        location="http://h.test/index.xml",
        headers=[],
        status=301,
    )
    (record,) = decide(fetch, Reading(), LIMITS).discovered
    assert (record.depth, record.sitemap_level) == (0, 1)


def test_a_long_list_travels_in_parts(requested: Requested, completed: Completed) -> None:
    links = [Link(url=f"http://h.test/{n}", lastmod=1.0) for n in range(2 * MAX_LINKS + 1)]
    found, _ = discover(completed(b"", requested()), links)
    assert [len(record.links) for record in found] == [MAX_LINKS, MAX_LINKS, 1]
    assert [link for record in found for link in record.links] == links


def test_a_list_is_stored_and_passed_on_but_not_published(
    requested: Requested, completed: Completed
) -> None:
    document = Document(
        kind="sitemap", text_digest=b"t" * 16, links=[Link(url="http://h.test/x", lastmod=9.0)]
    )
    reading = Reading(body_digest=b"d" * 16, chunks=[b"frame"], document=document)
    effects = decide(completed(b"x", requested()), reading, LIMITS)
    assert [write.statement.name for write in effects.rows] == ["put_content", "put_outlinks"]
    assert effects.parsed is None
    assert effects.reported.listing is True
    assert effects.reported.text_digest == b"t" * 16
    assert effects.discovered[0].links == document.links


def test_the_reason_why_a_body_is_no_sitemap_is_kept(
    requested: Requested, completed: Completed
) -> None:
    document = Document(kind="sitemap", reason="not-a-sitemap", cut={"not-a-sitemap": 1})
    reading = Reading(body_digest=b"d" * 16, document=document)
    effects = decide(completed(b"x", requested(sitemap_level=1)), reading, LIMITS)
    assert (effects.reported.outcome, effects.reported.reason) == (Outcome.OK, "not-a-sitemap")
    assert effects.cut == {"not-a-sitemap": 1}


def test_a_row_holds_no_more_links_than_cassandra_takes() -> None:
    links = [Link(url=f"http://h.test/{n:0>2000}") for n in range(5000)]
    kept = that_fit(links)
    assert kept == links[: len(kept)]
    assert 0 < MAX_ROW - sum(len(link.url) for link in kept) < 300_000
    assert that_fit(links[:10]) == links[:10]
