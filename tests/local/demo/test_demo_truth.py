"""The demo web's truth, looked at by itself."""

from collections import Counter

import pytest

from services.common import urls
from services.common.records import Outcome
from services.local.demo import DemoWeb, deepest, expected, links, live_version, paragraphs
from services.local.demo.odd import NEVER, PRIVATE, UNRESOLVABLE

WEB = DemoWeb()
DEPTH = 12
TRUTH = expected(WEB, max_depth=DEPTH)


def _path(url: str) -> str:
    return urls.parse(url).path


def test_every_article_of_every_open_host_is_reachable() -> None:
    pages = [WEB.place(number) for number in range(WEB.pages)]
    right = {WEB.page_url(*place) for place in pages if WEB.role(place[0]) != "closed"}
    stored = {url for url, expectation in TRUTH.items() if expectation.page is not None}
    assert stored == right
    assert all(TRUTH[url].outcome == Outcome.OK for url in stored)


def test_the_truth_has_every_kind_of_outcome_that_a_first_crawl_can_have() -> None:
    outcomes = Counter(expectation.outcome for expectation in TRUTH.values())
    assert set(outcomes) == set(Outcome) - {Outcome.UNCHANGED}


def test_only_disallowed_urls_lie_under_the_forbidden_prefixes() -> None:
    """C4."""
    for url, expectation in TRUTH.items():
        host = WEB.host_at(urls.parse(url).host)
        if _path(url).startswith(NEVER) and expectation.outcome != Outcome.DISALLOWED:
            assert _path(url) == "/private/open.html" or (
                host is not None and WEB.role(host) in {"robots-missing", "closed"}
            )


def test_what_is_no_link_or_not_to_be_followed_is_not_expected() -> None:
    assert not [url for url in TRUTH if _path(url).startswith(("/nofollow/", "/fake/"))]


def test_keys_are_identities() -> None:
    assert [url for url in TRUTH if urls.parse(url).identity != url] == []


def test_the_private_address_and_the_unknown_name_are_refused_for_their_reasons() -> None:
    assert TRUTH[PRIVATE].reason == "private-address"
    assert TRUTH[f"{PRIVATE}latest/"].outcome == Outcome.POLICY
    assert TRUTH[UNRESOLVABLE].outcome == Outcome.TRANSIENT


def test_the_trap_ends_at_the_depth_limit() -> None:
    trap = sorted(TRUTH[url].depth for url in TRUTH if "/calendar/" in url)
    assert trap == list(range(4, DEPTH + 1))
    assert deepest(TRUTH) < DEPTH
    with pytest.raises(ValueError, match="depth limit"):
        expected(WEB)
    assert expected(DemoWeb(trap=False)).keys() == {url for url in TRUTH if "/calendar/" not in url}


def test_a_redirect_adds_no_depth() -> None:
    base = "/odd/chain-"
    depths = {_path(url): expectation.depth for url, expectation in TRUTH.items()}
    assert {depths[f"{base}{n}"] for n in (1, 2, 3)} == {depths["/odd/target-6.html"]}


def test_a_depth_limit_leaves_out_what_is_deeper() -> None:
    shallow = expected(WEB, max_depth=2)
    assert shallow == {
        url: right
        for url, right in TRUTH.items()
        # a sitemap at the limit would lead to what is deeper
        if right.depth <= 2 and not (right.depth == 2 and "/sitemap" in url)
    }
    assert list(expected(WEB, max_depth=0)) == list(WEB.seeds)


def test_some_pages_are_found_by_lists_alone() -> None:
    """D11."""
    without = expected(DemoWeb(sitemaps=False), max_depth=DEPTH)
    extra = {_path(url).split("/")[1] for url in TRUTH.keys() - without.keys()}
    assert {"unlisted", "more", "feed-only"} <= extra
    assert sum(right.listing for right in TRUTH.values()) == 8 * 4 + 2
    # a host's pages are one step from what led to the host
    sitemap = TRUTH[WEB.url(0, "/sitemap-unlisted.xml")]
    assert (sitemap.depth, TRUTH[WEB.url(0, "/unlisted/1.html")].depth) == (0, 1)


def test_scope_host_stays_on_the_seeds_host() -> None:
    found = expected(WEB, seeds=[WEB.home(3)], max_depth=DEPTH, scope="host")
    assert {urls.parse(url).host for url in found} == {WEB.authority(3)}
    assert sum(right.page is not None for right in found.values()) == WEB.sizes[3]


def test_pages_that_are_no_articles_have_no_text_or_version() -> None:
    for url in (WEB.url(0, "/all-hosts/"), PRIVATE):
        with pytest.raises(KeyError):
            paragraphs(WEB, url, 0)
        with pytest.raises(KeyError):
            live_version(WEB, url, 0)
    with pytest.raises(ValueError, match="not of this web"):
        expected(WEB, seeds=["http://example.com/"], max_depth=0)


def test_hosts_beyond_one_directory_page_are_found_too() -> None:
    web = DemoWeb(hosts=120, pages=120, odd=False)
    found = expected(web)
    assert {web.home(host) for host in range(120)} <= found.keys()
    assert web.url(0, "/all-hosts/3.html") in links(web, web.url(0, "/all-hosts/2.html"))
