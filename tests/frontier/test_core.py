"""From seeds and found links to admitted URLs, with a reason for each no."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from services.common.codec import encode
from services.common.errors import DeadLetter
from services.common.identity_rules import Block, IdentityRules
from services.common.records import AdmittedUrl, Link, Rules, UrlAdmitted, UrlDiscovered
from services.common.topics import URL_ADMITTED
from services.common.urls import fingerprint, parse
from services.frontier import seeds
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed, tag
from services.frontier.core import REFUSALS, Admission, Limits, Memory, admit_links, admit_seed

LIMITS = Limits(default_scope="host", max_url_length=100, max_record=900_000)
NOW = 1.79e9
RULES = Rules(job="news", scope="host", root="h.test", max_depth=3, max_pages=9, fresh_after=5.0)


def discovered(*links: str, rules: Rules = RULES, depth: int = 1) -> UrlDiscovered:
    return UrlDiscovered(
        host="h.test",
        source="http://h.test/",
        rules=rules,
        depth=depth,
        links=[Link(url=link) for link in links],
        found_at=1.7e9,
    )


def memory(**thresholds: int) -> Memory:
    return Memory(passed=Passed(10), budgets=Budgets(**{"capacity": 10, "most": 3, **thresholds}))


def url(href: str, depth: int) -> AdmittedUrl:
    mark = fingerprint(parse(href).identity)
    return AdmittedUrl(url=href, fingerprint=mark, depth=depth, priority=round(1 / (1 + depth), 3))


def hrefs(admission: Admission) -> list[str]:
    return [item.url for record in admission.admitted for item in record.urls]


def test_a_seed_is_admitted_with_the_rules_of_its_job() -> None:
    """F4, D3: what is fetched keeps its tracking parameter, the fingerprint has none."""
    value = (
        b'{"url": "http://www.h.test/?utm_source=x", "job": "news", "scope": "domain",'
        b' "max_depth": 3, "max_pages": 9, "fresh_after": 5}'
    )
    rules = Rules(
        job="news", scope="domain", root="h.test", max_depth=3, max_pages=9, fresh_after=5.0
    )
    mark = fingerprint("http://www.h.test/")
    assert admit_seed(value, LIMITS) == Admission(
        admitted=[
            UrlAdmitted(
                host="www.h.test",
                rules=rules,
                urls=[
                    AdmittedUrl(
                        url="http://www.h.test/?utm_source=x", fingerprint=mark, priority=1.0
                    )
                ],
            )
        ],
        passed={mark + tag(rules): 0},
        merged=Counter({"tracking": 1}),
    )


@pytest.mark.parametrize(("scope", "root"), [("host", "www.h.test:81"), ("any", "")])
def test_a_seed_without_a_scope_gets_the_default(scope: str, root: str) -> None:
    limits = Limits(default_scope=scope, max_url_length=100, max_record=900_000)  # type: ignore[arg-type]  # parametrize widens the literal
    (record,) = admit_seed(b"http://www.h.test:81/", limits).admitted
    assert (record.rules.scope, record.rules.root) == (scope, root)


def test_a_bad_seed_is_a_dead_letter() -> None:
    with pytest.raises(DeadLetter) as caught:
        admit_seed(b"ftp://h.test/", LIMITS)
    assert caught.value.reason == "url-scheme"


def test_a_scheme_is_admitted_where_the_setting_names_it() -> None:
    """C3: seeds and links of a protocol that fetchers were given."""
    limits = replace(LIMITS, schemes=["file"])
    (record,) = admit_seed(b"file://manuals/a/", limits).admitted
    assert (record.host, record.rules.root) == ("manuals", "manuals")
    found = discovered("file://manuals/a/b.html", "http://manuals/", rules=record.rules)
    admission = admit_links(found, memory(), limits, NOW)
    assert hrefs(admission) == ["file://manuals/a/b.html"]
    assert admission.refused == {"scheme": 1}


def test_links_are_admitted_with_the_rules_of_their_source() -> None:
    admission = admit_links(
        discovered("http://h.test/a", "https://h.test/b#x", depth=2), memory(), LIMITS, NOW
    )
    a, b = url("http://h.test/a", 2), url("https://h.test/b", 2)
    assert admission == Admission(
        admitted=[UrlAdmitted(host="h.test", rules=RULES, urls=[a, b])],
        passed={a.fingerprint + tag(RULES): 2, b.fingerprint + tag(RULES): 2},
    )


def test_each_refused_link_has_a_reason_and_harms_no_neighbour() -> None:
    """URL-09."""
    admission = admit_links(
        discovered(
            "",
            "mailto:a@h.test",
            "http://.../",
            "http://h.test:99999/",
            "/relative",
            "http://h.test/" + "a" * 100,
            "http://h.test/ok",
            "http://other.test/",
            "http://other.test/2",
        ),
        memory(),
        LIMITS,
        NOW,
    )
    assert hrefs(admission) == ["http://h.test/ok"]
    assert admission.refused == {
        "empty": 1,
        "scheme": 1,
        "host": 1,
        "port": 1,
        "malformed": 1,
        "too-long": 1,
        "scope": 2,
    }


@pytest.mark.parametrize(
    ("limit", "depth", "passes"), [(3, 3, True), (3, 4, False), (0, 1, False), (None, 99, True)]
)
def test_links_beyond_the_depth_limit_are_refused(
    limit: int | None, depth: int, *, passes: bool
) -> None:
    rules = Rules(root="h.test", max_depth=limit)
    admission = admit_links(
        discovered("http://h.test/a", "http://h.test/b", rules=rules, depth=depth),
        memory(),
        LIMITS,
        NOW,
    )
    assert len(hrefs(admission)) == (2 if passes else 0)
    assert admission.refused == ({} if passes else {"depth": 2})


def test_a_link_marked_nofollow_is_not_followed() -> None:
    """C4: the token counts, in any case, and nothing that merely contains it."""
    record = UrlDiscovered(
        host="h.test",
        source="http://h.test/",
        rules=RULES,
        depth=1,
        links=[
            Link(url="http://h.test/a", rel="ugc NoFollow"),
            Link(url="http://h.test/b", rel="x-nofollow"),
            Link(url="http://h.test/c", rel="redirect"),
        ],
        found_at=1.7e9,
    )
    admission = admit_links(record, memory(), LIMITS, NOW)
    assert hrefs(admission) == ["http://h.test/b", "http://h.test/c"]
    assert admission.refused == {"nofollow": 1}


def test_a_page_without_links_comes_to_nothing() -> None:
    assert admit_links(discovered(), memory(), LIMITS, NOW) == Admission()
    assert admit_links(discovered(depth=9), memory(), LIMITS, NOW) == Admission()


def test_a_negative_depth_is_a_dead_letter() -> None:
    with pytest.raises(DeadLetter) as caught:
        admit_links(discovered("http://h.test/", depth=-1), memory(), LIMITS, NOW)
    assert caught.value.reason == "schema"


def test_two_writings_of_a_link_on_one_page_pass_once() -> None:
    """D4: the first writing is the one fetched."""
    admission = admit_links(
        discovered("http://h.test/?b=1&a=2", "http://H.test:80/?a=2&b=1&utm_source=x"),
        memory(),
        LIMITS,
        NOW,
    )
    assert hrefs(admission) == ["http://h.test/?b=1&a=2"]
    assert admission.repeated == 1


def test_a_link_that_passed_is_left_out_only_after_it_was_remembered() -> None:
    """A send that fails must not make the frontier believe that the URL went out."""
    cache = memory()
    first = admit_links(discovered("http://h.test/a"), cache, LIMITS, NOW)
    again = admit_links(discovered("http://h.test/a"), cache, LIMITS, NOW)
    assert hrefs(again) == hrefs(first) == ["http://h.test/a"]
    cache.passed.remember(again.passed)
    assert admit_links(discovered("http://h.test/a"), cache, LIMITS, NOW) == Admission(repeated=1)


def test_a_link_found_nearer_to_the_seed_passes_again() -> None:
    """Else its own links could stay beyond the depth limit for good."""
    cache = memory()
    cache.passed.remember(
        admit_links(discovered("http://h.test/a", depth=3), cache, LIMITS, NOW).passed
    )
    assert hrefs(admit_links(discovered("http://h.test/a", depth=1), cache, LIMITS, NOW))
    assert not hrefs(admit_links(discovered("http://h.test/a", depth=3), cache, LIMITS, NOW))


def test_a_seed_sent_again_passes_again_and_spares_its_links() -> None:
    cache = memory()
    for _ in range(2):
        admission = admit_seed(b"http://h.test/", LIMITS)
        assert hrefs(admission) == ["http://h.test/"]
        cache.passed.remember(admission.passed)
    rules = admission.admitted[0].rules
    links = discovered("http://h.test/", rules=rules)
    assert admit_links(links, cache, LIMITS, NOW) == Admission(repeated=1)


def test_links_to_several_hosts_are_admitted_host_by_host() -> None:
    """The key of the topic is the host, whatever the producer of the links believed."""
    rules = Rules(scope="any")
    admission = admit_links(
        discovered("http://a.test/1", "http://b.test/", "http://a.test/2", rules=rules),
        memory(),
        LIMITS,
        NOW,
    )
    assert [(record.host, len(record.urls)) for record in admission.admitted] == [
        ("a.test", 2),
        ("b.test", 1),
    ]


@given(st.integers(0, 200), st.integers(1500, 20_000), st.sampled_from(["a", "\\", '"']))
def test_no_record_is_larger_than_kafka_takes(count: int, limit: int, filler: str) -> None:
    """A backslash in a query is one octet in the URL and two in JSON."""
    links = [f"http://h.test/?{number}{filler * 60}" for number in range(count)]
    limits = Limits(default_scope="host", max_url_length=200, max_record=limit)
    admission = admit_links(discovered(*links), memory(), limits, NOW)
    assert len(hrefs(admission)) == count
    sizes = [len(encode(URL_ADMITTED, record)) for record in admission.admitted]
    assert max(sizes, default=0) <= limits.max_record


@given(st.lists(st.text(max_size=30) | st.sampled_from(["http://h.test/", "http://k.test/"])))
def test_every_link_is_admitted_refused_or_repeated(links: list[str]) -> None:
    """G2: nothing vanishes without a count."""
    admission = admit_links(discovered(*links), memory(), LIMITS, NOW)
    assert len(links) == (len(hrefs(admission)) + admission.refused.total() + admission.repeated)
    assert set(admission.refused) <= set(REFUSALS)
    assert len(admission.passed) == len(hrefs(admission))


def test_every_reason_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "refusals.md").read_text()
    links, _, records = page.partition("## Seeds")
    assert sorted(rows(links)) == sorted(REFUSALS)
    assert sorted(rows(records)) == sorted(seeds.REASONS)


def rows(text: str) -> list[str]:
    return [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]


def moved(target: str, depth: int) -> Admission:
    record = UrlDiscovered(
        host=parse(target).host,
        source="http://h.test/",
        rules=Rules(job="j", scope="host", root="h.test"),
        depth=depth,
        links=[Link(url=target, rel="redirect")],
        found_at=0.0,
    )
    return admit_links(record, memory(), LIMITS, NOW)


def test_a_seed_that_moved_takes_its_scope_along() -> None:
    """Who seeds `h.test` and is sent on to `www.h.test` means the site that is there."""
    [admitted] = moved("http://www.h.test/", depth=0).admitted
    assert (admitted.host, admitted.rules.root) == ("www.h.test", "www.h.test")


def test_a_page_that_moved_does_not() -> None:
    assert moved("http://other.test/", depth=1).refused == {"scope": 1}


BY_HOST = Limits(
    default_scope="host",
    max_url_length=100,
    max_record=900_000,
    identity=IdentityRules(
        {"h.test": Block(drop=["ref"], ignore_www=True, ignore_trailing_slash=True)}
    ),
)


def test_rules_of_a_host_make_two_urls_one_and_each_merge_is_counted() -> None:
    """D3: the first writing is fetched as it came, under the host that both share."""
    seed = admit_seed(b"http://h.test/start", BY_HOST).admitted[0]
    admission = admit_links(
        discovered(
            "http://www.h.test/x/?ref=1",
            "http://h.test/x",
            "http://www.h.test/y?utm_source=1",
            rules=seed.rules,
        ),
        memory(),
        BY_HOST,
        NOW,
    )
    [record] = admission.admitted
    assert record.host == "h.test"
    assert [item.url for item in record.urls] == [
        "http://www.h.test/x/?ref=1",
        "http://www.h.test/y?utm_source=1",
    ]
    assert record.urls[0].fingerprint == fingerprint("http://h.test/x")
    assert admission.repeated == 1
    assert admission.merged == {"drop": 1, "trailing-slash": 1, "www": 2, "tracking": 1}


@pytest.mark.parametrize(
    ("source", "target", "moves"),
    [
        ("http://h.test/a?utm_source=x", "http://h.test/a", True),
        ("http://h.test/a", "http://www.h.test/a/", True),
        ("http://h.test/a", "http://h.test/b", False),
        ("http://h.test/a", "http://h.test/a", False),
        ("nonsense", "http://h.test/a", False),
    ],
)
def test_a_redirect_to_another_writing_of_the_same_url_is_no_repeat(
    source: str, target: str, *, moves: bool
) -> None:
    """C1: else the page behind it would pass for known, and never be fetched."""
    cache = memory()
    known = admit_links(discovered(target, depth=1), cache, BY_HOST, NOW)
    cache.passed.remember(known.passed)
    record = UrlDiscovered(
        host="h.test",
        source=source,
        rules=RULES,
        depth=1,
        links=[Link(url=target, rel="redirect")],
        found_at=0.0,
    )
    admission = admit_links(record, cache, BY_HOST, NOW)
    assert [item.moved for part in admission.admitted for item in part.urls] == [True] * moves
    assert admission.repeated == (0 if moves else 1)


def test_a_seed_says_which_links_its_job_follows() -> None:
    """D9: the seed itself is where the job starts, wherever it is."""
    value = (
        '{"url": "http://h.test/", "path_prefix": "/caf\u00e9/", "include": "x", "exclude": "y"}'
    )
    [record] = admit_seed(value.encode(), LIMITS).admitted
    rules = record.rules
    assert (rules.path_prefix, rules.include, rules.exclude) == ("/caf%C3%A9/", "x", "y")
    admission = admit_links(
        discovered("http://h.test/", "http://h.test/café/x", "http://h.test/café/y", rules=rules),
        memory(),
        LIMITS,
        NOW,
    )
    assert hrefs(admission) == ["http://h.test/caf%C3%A9/x"]
    assert admission.refused == {"path": 1, "pattern": 1}


@pytest.mark.parametrize(
    ("field", "reason"), [("include", "pattern"), ("exclude", "pattern"), ("path_prefix", "schema")]
)
def test_a_seed_with_a_bad_pattern_is_a_dead_letter(field: str, reason: str) -> None:
    with pytest.raises(DeadLetter) as caught:
        admit_seed(f'{{"url": "http://h.test/", "{field}": "("}}'.encode(), LIMITS)
    assert caught.value.reason == reason


def test_links_with_a_bad_pattern_are_a_dead_letter() -> None:
    record = discovered("http://h.test/", rules=Rules(include="("))
    with pytest.raises(DeadLetter) as caught:
        admit_links(record, memory(), LIMITS, NOW)
    assert caught.value.reason == "pattern"


def test_a_seed_that_moved_may_be_outside_of_its_own_patterns() -> None:
    record = UrlDiscovered(
        host="h.test",
        source="http://h.test/",
        rules=Rules(root="h.test", include="/news/"),
        depth=0,
        links=[Link(url="https://h.test/", rel="redirect")],
        found_at=0.0,
    )
    assert hrefs(admit_links(record, memory(), LIMITS, NOW)) == ["https://h.test/"]


def test_a_trap_has_its_reason_and_costs_the_job_nothing_else() -> None:
    """D10."""
    admission = admit_links(
        discovered(
            "http://h.test/x/x/x/x",
            "http://h.test/cal/2099-01",
            "http://h.test/s?f[]=1",
            "http://h.test/s?f[]=2",
            "http://h.test/ok",
        ),
        memory(most=1),
        LIMITS,
        NOW,
    )
    assert hrefs(admission) == ["http://h.test/s?f[]=1", "http://h.test/ok"]
    assert admission.refused == {"trap-repeat": 1, "trap-calendar": 1, "trap-facets": 1}


def test_links_have_their_jobs_priority_less_with_each_step() -> None:
    """D9."""
    [seed] = admit_seed(b'{"url": "http://h.test/", "priority": 6}', LIMITS).admitted
    assert [item.priority for item in seed.urls] == [6.0]
    for depth, priority in ((1, 3.0), (2, 2.0), (6, 0.857)):
        links = discovered("http://h.test/a", rules=seed.rules, depth=depth)
        [record] = admit_links(links, memory(), LIMITS, NOW).admitted
        assert [item.priority for item in record.urls] == [priority]


def sitemaps(
    *links: str,
    source: str = "http://h.test/robots.txt",
    **fields: Any,  # noqa: ANN401 - any field of the record
) -> UrlDiscovered:
    values = {"depth": 0, "sitemap_level": 1} | fields
    found = [Link(url=link, rel="sitemap") for link in links]
    return structs.replace(discovered(), source=source, links=found, **values)


def test_a_sitemap_is_admitted_as_one_with_its_level() -> None:
    """D11."""
    admission = admit_links(sitemaps("http://h.test/s.xml", sitemap_level=2), memory(), LIMITS, NOW)
    (admitted,) = admission.admitted[0].urls
    assert (admitted.sitemap_level, admitted.depth, admitted.priority) == (2, 0, 1.0)
    assert admission.admitted[0].rules == RULES


def test_a_jobs_path_and_patterns_are_for_pages_and_not_for_sitemaps() -> None:
    rules = structs.replace(RULES, path_prefix="/docs/", include="html", exclude="map")
    record = sitemaps("http://h.test/sitemap.xml", rules=rules, depth=1)
    assert hrefs(admit_links(record, memory(), LIMITS, NOW)) == ["http://h.test/sitemap.xml"]


@pytest.mark.parametrize(
    ("source", "target", "rel", "passes"),
    [
        # named by the robots.txt of a host of the job
        ("http://h.test/robots.txt", "http://cdn.test/s.xml", "sitemap", True),
        # an index there names its own files
        ("http://cdn.test/s.xml", "http://cdn.test/s1.xml", "sitemap", True),
        # and not those of others
        ("http://cdn.test/s.xml", "http://evil.test/s1.xml", "sitemap", False),
        ("http://h.test/s.xml", "http://evil.test/s1.xml", "sitemap", False),
        # what the robots.txt of the host names that keeps the file is not the job's
        ("http://cdn.test/robots.txt", "http://evil.test/s.xml", "sitemap", False),
        # a sitemap of the job's host may have moved
        ("http://h.test/s.xml", "http://cdn.test/s.xml", "redirect", True),
        ("http://cdn.test/s.xml", "http://evil.test/s.xml", "redirect", False),
        ("nonsense", "http://cdn.test/s.xml", "sitemap", False),
    ],
)
def test_a_sitemap_elsewhere_is_fetched_if_the_jobs_host_vouches_for_it(
    source: str, target: str, rel: str, passes: bool
) -> None:
    """SF-05; the URLs that it lists pass the scope as all others."""
    record = structs.replace(sitemaps(source=source), links=[Link(url=target, rel=rel)])
    admission = admit_links(record, memory(), LIMITS, NOW)
    assert hrefs(admission) == ([target] if passes else [])
    assert admission.refused == ({} if passes else {"scope": 1})
    # a seed's scope never moves with a sitemap
    assert all(found.rules == RULES for found in admission.admitted)


def test_pages_that_a_sitemap_elsewhere_lists_pass_the_scope() -> None:
    """SF-05: a sitemap enrols no foreign hosts."""
    record = structs.replace(
        discovered("http://h.test/a", "http://cdn.test/b", "http://evil.test/c"),
        source="http://cdn.test/s.xml",
    )
    admission = admit_links(record, memory(), LIMITS, NOW)
    assert (hrefs(admission), admission.refused) == (["http://h.test/a"], {"scope": 2})


def test_hints_reach_the_scheduler_and_a_newer_date_passes_again() -> None:
    """D11."""
    link = Link(url="http://h.test/a", lastmod=100.0, changefreq="daily", site_priority=0.8)
    record = structs.replace(discovered(), links=[link])
    keeps = memory()
    (admitted,) = admit_links(record, keeps, LIMITS, NOW).admitted[0].urls
    assert (admitted.lastmod, admitted.changefreq, admitted.site_priority) == (100.0, "daily", 0.8)
    keeps.passed.remember(admit_links(record, keeps, LIMITS, NOW).passed)
    assert admit_links(record, keeps, LIMITS, NOW).repeated == 1
    newer = structs.replace(record, links=[structs.replace(link, lastmod=200.0)])
    assert hrefs(admit_links(newer, keeps, LIMITS, NOW)) == ["http://h.test/a"]


def test_a_link_without_hints_costs_nothing_more() -> None:
    (record,) = admit_links(discovered("http://h.test/a"), memory(), LIMITS, NOW).admitted
    assert b"lastmod" not in encode(URL_ADMITTED, record)
    assert b"sitemap" not in encode(URL_ADMITTED, record)


def test_records_with_hints_keep_within_their_limit() -> None:
    limits = Limits(default_scope="host", max_url_length=100, max_record=10_000)
    links = [
        Link(
            url=f"http://h.test/{n}",
            lastmod=1_700_000_000.123,
            changefreq="monthly",
            site_priority=0.123456,
        )
        for n in range(500)
    ]
    admission = admit_links(structs.replace(discovered(), links=links), memory(), limits, NOW)
    assert len(hrefs(admission)) == 500
    assert max(len(encode(URL_ADMITTED, record)) for record in admission.admitted) < 10_000


def test_a_negative_level_is_no_record() -> None:
    with pytest.raises(DeadLetter):
        admit_links(sitemaps("http://h.test/a", sitemap_level=-1), memory(), LIMITS, NOW)
