"""What makes two URLs one on hosts that have rules of their own."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.common.identity_rules import (
    KINDS,
    Block,
    IdentityRules,
    Named,
    Step,
    explain_identity,
)
from services.common.urls import BadUrl, parse

STANDARD = IdentityRules()


def identity(raw: str, **rules: object) -> str:
    return IdentityRules({"h.test": Block(**rules)}).name(parse(raw)).identity  # type: ignore[arg-type]  # cases are data


@pytest.mark.parametrize(
    ("rules", "raw", "expected"),
    [
        ({"drop": ["ref", "aff_*"]}, "?ref=1&aff_x=2&aff=3&q=4&href=5", "?aff=3&href=5&q=4"),
        ({"drop": ["f[0]"]}, "?f[0]=a&f%5B0%5D=b&f[1]=c", "?f[1]=c"),
        ({"drop": ["*"]}, "?a=1&b", ""),
        ({"keep_only": ["id"]}, "?x=1&id=2&utm_source=3", "?id=2"),
        ({"keep_only": []}, "?x=1", ""),
        ({"keep_only": ["utm_id"]}, "?utm_id=1&x", "?utm_id=1"),
        ({"keep": ["gclid"]}, "?gclid=1&fbclid=2", "?gclid=1"),
        ({"keep": ["gclid"], "drop": ["gclid"]}, "?gclid=1", ""),
        ({"session": ["sid"]}, "a;sid=1/b;v=2?sid=3&q", "a/b;v=2?q"),
        ({"session": ["sid"]}, "..;sid=1/b", "..;sid=1/b"),
        ({"path_parameters": ["*"]}, "a;v=1;w/b;x", "a/b"),
        ({"path_parameters": ["v"]}, "(S(x));v=1/b", "b"),
        ({"ignore_trailing_slash": True}, "x/", "x"),
        ({"ignore_trailing_slash": True}, "x//?q", "x?q"),
        ({"ignore_trailing_slash": True}, "", ""),
        ({"ignore_trailing_slash": True, "session": ["s"]}, "x/;s=1", "x"),
    ],
)
def test_a_rule_leaves_out_what_makes_no_difference(
    rules: dict[str, object], raw: str, expected: str
) -> None:
    """D3."""
    assert identity(f"http://h.test/{raw}", **rules) == f"http://h.test/{expected}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("http://www.h.test/x", "https://h.test/x"),
        ("https://www.h.test/x", "https://h.test/x"),
        ("http://h.test:8080/x", "http://h.test:8080/x"),
        ("http://www.www.h.test/x", "http://www.www.h.test/x"),
        ("http://other.test/x", "http://other.test/x"),
    ],
)
def test_www_and_scheme_are_ignored_where_a_rule_says_so(raw: str, expected: str) -> None:
    """A port of its own says which scheme is meant; another host is another host."""
    assert identity(raw, ignore_www=True, ignore_scheme=True) == expected


def test_the_records_host_follows_the_identity() -> None:
    """Both names must meet in one partition of the scheduler, and in one queue."""
    rules = IdentityRules({"*": Block(ignore_www=True)})
    assert rules.name(parse("http://www.h.test:81/")) == Named(
        "http://h.test:81/", "h.test:81", ("www",)
    )
    assert rules.name(parse("http://www.com/")).host == "www.com"
    assert rules.name(parse("http://[::1]/")).host == "[::1]"


def test_the_most_specific_pattern_has_the_last_word_and_lists_add_up() -> None:
    rules = IdentityRules(
        {
            "*": Block(drop=["a"], ignore_trailing_slash=True, keep_only=["a", "b", "c", "x"]),
            "*.h.test": Block(drop=["b"], ignore_trailing_slash=False),
            "www.h.test": Block(drop=["c"], keep_only=["a", "b", "c", "y"]),
        }
    )

    def of(host: str) -> str:
        return rules.name(parse(f"http://{host}/p/?a&b&c&x&y")).identity

    assert of("k.test") == "http://k.test/p?b&c&x"
    assert of("h.test") == "http://h.test/p/?c&x"
    assert of("deep.er.h.test") == "http://deep.er.h.test/p/?c&x"
    assert of("www.h.test") == "http://www.h.test/p/?y"
    assert of("xh.test") == "http://xh.test/p?b&c&x"


def test_without_www_the_shorter_names_rules_hold_for_both() -> None:
    """Else one page would have two identities, by the name it was found under."""
    rules = IdentityRules(
        {"h.test": Block(ignore_www=True, drop=["a"]), "www.h.test": Block(drop=["b"])}
    )
    assert rules.name(parse("http://www.h.test/?a&b")).identity == "http://h.test/?b"


def test_every_step_to_an_identity_can_be_shown() -> None:
    """G3."""
    rules = IdentityRules({"h.test": Block(drop=["ref"], ignore_www=True, ignore_scheme=True)})
    assert explain_identity(parse("http://www.h.test/%7ea?ref=1&gclid=2"), rules) == [
        Step("fetched", "http://www.h.test/%7ea?ref=1&gclid=2"),
        Step("standard", "http://www.h.test/~a?gclid=2&ref=1"),
        Step("tracking", "http://www.h.test/~a?ref=1"),
        Step("drop", "http://www.h.test/~a"),
        Step("www", "http://h.test/~a"),
        Step("scheme", "https://h.test/~a"),
    ]


def test_sessions_in_paths_make_no_difference() -> None:
    """D10: Java's and ASP.NET's, without any rule."""
    for raw in ("/(S(lit3py55t21z5v55vlm25s55))/a", "/(X(1)S(x))/a", "/a;jsessionid=5"):
        named = STANDARD.name(parse(f"http://h.test{raw}"))
        assert named == Named("http://h.test/a", "h.test", ("session",))
    for raw in ("/(S)/a", "/f(x)/a", "/(s(x))/a", "/(S(x))"):
        assert STANDARD.name(parse(f"http://h.test{raw}")).identity == f"http://h.test{raw}"


pieces = st.sampled_from(
    ["a", "/", "//", ".", "..", ";sid=1", ";v", ";jsessionid=x", "(S(x))", "%7e", "%2F", "%", "%2e"]
)
queries = st.lists(
    st.sampled_from(["a=1", "a", "b=%7e", "utm_x=1", "gclid=2", "sid=3", "", "=", "%61=5", "%"]),
    max_size=5,
).map("&".join)
raws = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}/{''.join(path)}?{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h.test", "www.h.test", "www.www.h.test", "h.test:8080", "[::1]"]),
    st.lists(pieces, max_size=7),
    queries,
)
names = st.lists(st.sampled_from(["a", "b", "sid", "v", "utm_*", "*", "gclid"]), max_size=3)
switches = st.sampled_from([None, True, False])
blocks = st.builds(
    Block,
    drop=names,
    keep=names,
    keep_only=st.none() | names,
    session=names,
    path_parameters=names,
    ignore_trailing_slash=switches,
    ignore_www=switches,
    ignore_scheme=switches,
)


@example("http://h.test/?utm_x=1&%&%&%&%")  # as long without the parameter as with it
@given(raws)
def test_without_a_file_the_rules_are_the_standard(raw: str) -> None:
    """The short way and the one that shows each step agree."""
    url = parse(raw)
    named = STANDARD.name(url)
    steps = explain_identity(url, STANDARD)
    assert (named.identity, named.host) == (url.identity, url.host)
    assert steps[-1].identity == url.identity
    assert named.merges == tuple(step.rule for step in steps[1:] if step.rule != "standard")


@example("http://h.test/;jsessionid=x.;jsessionid=x?", {})
@given(raws, st.dictionaries(st.sampled_from(["*", "*.test", "h.test", "www.h.test"]), blocks))
def test_an_identity_is_a_fixed_point_under_any_rules(raw: str, file: dict[str, Block]) -> None:
    """URL-05."""
    if "www.h.test" in file and file["www.h.test"].ignore_www:
        return  # rules_file.py refuses this one
    rules = IdentityRules(file)
    named = rules.name(parse(raw))
    again = rules.name(parse(named.identity))
    assert (again.identity, again.host) == (named.identity, named.host)
    assert set(named.merges) <= set(KINDS)


@given(st.text(max_size=40))
def test_no_url_makes_the_rules_fail(tail: str) -> None:
    try:
        url = parse(f"http://h.test/{tail}")
    except BadUrl:
        return
    rules = IdentityRules({"*": Block(drop=["a"], session=["s"], path_parameters=["*"])})
    named = rules.name(url)
    assert rules.name(parse(named.identity)).identity == named.identity
