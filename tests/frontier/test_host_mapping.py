"""URLs of hosts that have moved, seeds and links (E9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.identity_rules import Block, IdentityRules
from services.common.records import HostUpdated, Link, Rules, UrlDiscovered
from services.common.urls import fingerprint, parse
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed
from services.frontier.core import Admission, Limits, Memory, admit_links, admit_seed
from services.frontier.host_mapping import MAX_HOPS, Place, mapped, place_of, trail
from services.frontier.verdict import judge

NOW = 1.79e9
LATER = NOW + 100
LIMITS = Limits(
    default_scope="host",
    max_url_length=100,
    max_record=900_000,
    identity=IdentityRules({"b.test": Block(drop=["ref"])}),
)
A_TO_B = {"a.test": Place("b.test", "", LATER)}


def to(host: str, scheme: str = "", until: float = LATER) -> Place:
    return Place(host, scheme, until)


def href(url: str, hosts: dict[str, Place]) -> str:
    return mapped(parse(url), hosts, NOW).href


def links(
    *found: Link,
    rules: Rules,
    hosts: dict[str, Place],
    source: str = "http://c.test/",
    depth: int = 1,
) -> Admission:
    discovered = UrlDiscovered(
        host="a.test", source=source, rules=rules, depth=depth, links=list(found), found_at=NOW
    )
    memory = Memory(passed=Passed(10), budgets=Budgets(10, 3), hosts=hosts)
    return admit_links(discovered, memory, LIMITS, NOW)


def admitted(admission: Admission) -> list[tuple[str, str]]:
    return [(record.host, item.url) for record in admission.admitted for item in record.urls]


@pytest.mark.parametrize(
    ("url", "place", "wanted"),
    [
        ("http://a.test/x?y=1", to("b.test"), "http://b.test/x?y=1"),
        ("https://a.test/x", to("b.test"), "https://b.test/x"),
        ("http://a.test/x", to("b.test", "https"), "https://b.test/x"),
        ("http://a.test/", to("b.test:8080", "http"), "http://b.test:8080/"),
        ("http://a.test/x", to("[::1]"), "http://[::1]/x"),
        ("https://a.test/x", to("b.test", "http"), "https://a.test/x"),
        ("http://a.test/x", to("b.test", until=NOW), "http://a.test/x"),
        ("http://a.test/x", to("not a host"), "http://a.test/x"),
        ("http://a.test:81/x", to("b.test"), "http://a.test:81/x"),
        ("http://www.a.test/x", to("b.test"), "http://www.a.test/x"),
    ],
)
def test_a_url_of_a_host_that_moved_is_the_same_url_there(
    url: str, place: Place, wanted: str
) -> None:
    """The host alone; never from https to http, and not when it is over."""
    assert href(url, {"a.test": place}) == wanted


def test_a_chain_is_followed_to_its_end() -> None:
    hosts = {"a.test": to("b.test"), "b.test": to("c.test", "https", LATER - 50)}
    assert href("http://a.test/x", hosts) == "https://c.test/x"
    found = trail(parse("http://a.test/x"), hosts, NOW)
    assert found is not None
    assert [host for host, _ in found.hops] == ["a.test", "b.test"]
    assert found.until == LATER - 50


@pytest.mark.parametrize(
    ("hosts", "fate"),
    [
        ({"a.test": to("a.test")}, "circle"),
        ({"a.test": to("b.test"), "b.test": to("a.test")}, "circle"),
        ({"a.test": to("b.test"), "b.test": to("c.test"), "c.test": to("b.test")}, "circle"),
        ({"a.test": to("b.test", "https"), "b.test": to("c.test", "http")}, "insecure"),
        ({"a.test": to("b..test")}, "malformed"),
        (
            {"a.test": to("h0.test")} | {f"h{n}.test": to(f"h{n + 1}.test") for n in range(9)},
            "too-long",
        ),
    ],
)
def test_a_chain_that_leads_nowhere_good_is_not_followed_at_all(
    hosts: dict[str, Place], fate: str
) -> None:
    url = parse("http://a.test/x")
    found = trail(url, hosts, NOW)
    assert found is not None
    assert (found.fate, found.url) == (fate, url)


def test_a_chain_that_is_just_short_enough_is_followed() -> None:
    hosts = {f"h{n}.test": to(f"h{n + 1}.test") for n in range(MAX_HOPS)}
    assert href("http://h0.test/x", hosts) == f"http://h{MAX_HOPS}.test/x"


names = st.sampled_from([f"{letter}.test" for letter in "abcdefgh"])
places = st.builds(
    Place,
    st.one_of(names, st.sampled_from(["b.test:81", "[::1]", "", "x y"])),
    st.sampled_from(["", "http", "https"]),
    st.sampled_from([NOW - 1, NOW, NOW + 1, LATER]),
)


@given(hosts=st.dictionaries(names, places), name=names, scheme=st.sampled_from(["http", "https"]))
def test_there_is_never_a_loop(hosts: dict[str, Place], name: str, scheme: str) -> None:
    """What comes out is not mapped any further, unless nothing was done; nor less secure."""
    url = parse(f"{scheme}://{name}/x?y=1")
    there = mapped(url, hosts, NOW)
    assert there.path == url.path
    assert (url.scheme, there.scheme) != ("https", "http")
    assert mapped(there, hosts, NOW) == there
    if there is not url:
        place = hosts.get(there.host)
        assert place is None or place.until <= NOW


def test_what_is_kept_of_a_record_is_where_the_host_is() -> None:
    assert place_of(HostUpdated(host="a.test", at=NOW, crawl_delay=3.0)) is None
    record = HostUpdated(
        host="a.test", at=NOW, mapped_to="b.test", mapped_scheme="https", mapped_until=LATER
    )
    assert place_of(record) == Place("b.test", "https", LATER)


def test_a_link_is_judged_and_known_as_the_url_that_it_becomes() -> None:
    """Scope and identity rules are those of the new host."""
    rules = Rules(scope="host", root="b.test")
    admission = links(Link(url="http://a.test/x?ref=1"), rules=rules, hosts=A_TO_B)
    [record] = admission.admitted
    assert record.host == "b.test"
    assert record.urls[0].url == "http://b.test/x?ref=1"
    assert record.urls[0].fingerprint == fingerprint("http://b.test/x")
    assert admission.mapped == 1


def test_the_scope_of_the_job_holds_for_the_url_that_a_link_becomes() -> None:
    rules = Rules(scope="host", root="a.test")
    admission = links(Link(url="http://a.test/x"), rules=rules, hosts=A_TO_B)
    assert (admission.admitted, dict(admission.refused)) == ([], {"scope": 1})
    assert admission.mapped == 0


def test_a_link_to_the_old_and_one_to_the_new_host_are_one() -> None:
    found = [Link(url="http://a.test/x"), Link(url="http://b.test/x")]
    admission = links(*found, rules=Rules(scope="any"), hosts=A_TO_B)
    assert admitted(admission) == [("b.test", "http://b.test/x")]
    assert (admission.mapped, admission.repeated) == (1, 1)


def test_a_redirect_back_to_the_old_host_is_taken_as_it_is() -> None:
    """B sends us to A, so A's URLs are not at B, whatever was said before."""
    back = Link(url="http://a.test/x", rel="redirect")
    rules = Rules(scope="any")
    here = links(back, rules=rules, hosts=A_TO_B, source="http://b.test/x")
    assert admitted(here) == [("a.test", "http://a.test/x")]
    elsewhere = links(back, rules=rules, hosts=A_TO_B, source="http://c.test/x")
    assert admitted(elsewhere) == [("b.test", "http://b.test/x")]
    unknown = links(back, rules=rules, hosts=A_TO_B, source="")
    assert admitted(unknown) == [("a.test", "http://a.test/x")]


def test_a_seed_is_mapped_and_its_scope_with_it() -> None:
    admission = admit_seed(b"http://a.test/x", LIMITS, A_TO_B, NOW)
    [record] = admission.admitted
    assert (record.host, record.urls[0].url) == ("b.test", "http://b.test/x")
    assert record.rules.root == "b.test"
    assert admission.mapped == 1
    [late] = admit_seed(b"http://a.test/x", LIMITS, A_TO_B, LATER).admitted
    assert late.host == "a.test"


def test_a_seed_that_redirects_to_a_host_that_moved_takes_its_scope_to_the_end() -> None:
    rules = Rules(scope="host", root="c.test")
    target = Link(url="http://a.test/x", rel="redirect")
    admission = links(target, rules=rules, hosts=A_TO_B, source="http://c.test/x", depth=0)
    assert admitted(admission) == [("b.test", "http://b.test/x")]
    assert admission.admitted[0].rules.root == "b.test"


def test_a_verdict_shows_where_a_host_went_and_judges_the_url_there() -> None:
    """G3."""
    verdict = judge("http://a.test/x?ref=1", Rules(root="b.test"), 1, LIMITS, NOW, hosts=A_TO_B)
    assert verdict.refused is None
    assert verdict.url is not None
    assert verdict.written is not None
    assert (verdict.url.href, verdict.written.href) == (
        "http://b.test/x?ref=1",
        "http://a.test/x?ref=1",
    )
    assert verdict.fingerprint == fingerprint("http://b.test/x")
    assert verdict.trail is not None
    assert verdict.trail.hops == (("a.test", A_TO_B["a.test"]),)
    assert judge("http://b.test/x", Rules(), 1, LIMITS, NOW, hosts=A_TO_B).trail is None
