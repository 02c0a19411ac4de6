"""How far from its seed a job may go."""

import pytest

from services.common.errors import DeadLetter
from services.common.records import Rules, Scope
from services.common.urls import parse
from services.frontier.patterns import compiled
from services.frontier.scope import Filter, prefix_of, root_of, within


@pytest.mark.parametrize(
    ("scope", "seed", "inside", "outside"),
    [
        (
            "host",
            "http://www.h.test/a",
            ["http://www.h.test/", "https://www.h.test/b"],
            ["http://h.test/", "http://x.www.h.test/", "http://www.h.test:8080/"],
        ),
        (
            "host",
            "http://h.test:8080/",
            ["http://h.test:8080/b", "https://h.test:8080/b"],
            ["http://h.test/", "http://h.test:8081/"],
        ),
        (
            "domain",
            "http://www.example.co.uk/a",
            ["http://example.co.uk/", "https://a.b.example.co.uk:8080/"],
            ["http://other.co.uk/", "http://co.uk/", "http://notexample.co.uk/"],
        ),
        (
            "domain",
            "http://me.github.io/",
            ["http://me.github.io/x"],
            ["http://you.github.io/", "http://github.io/"],
        ),
        ("domain", "http://127.0.1.1:1/", ["http://127.0.1.1:2/"], ["http://127.0.1.2:1/"]),
        ("domain", "http://[::1]/", ["http://[::1]:81/"], ["http://[::2]/"]),
        ("any", "http://h.test/", ["http://h.test/", "https://other.example/"], []),
    ],
)
def test_scope_is_measured_from_the_seed(
    scope: Scope, seed: str, inside: list[str], outside: list[str]
) -> None:
    def passes(raw: str) -> bool:
        url = parse(raw)
        return within(url, url.host, rules)

    start = parse(seed)
    rules = Rules(scope=scope, root=root_of(start, start.host, scope))
    assert passes(seed)
    assert [link for link in inside if not passes(link)] == []
    assert [link for link in outside if passes(link)] == []


@pytest.mark.parametrize(
    ("rules", "url", "reason"),
    [
        (Rules(), "http://h.test/", None),
        (Rules(path_prefix="/docs/"), "http://h.test/docs/a?b", None),
        (Rules(path_prefix="/docs/"), "http://h.test/docs", "path"),
        (Rules(path_prefix="/docs/"), "http://h.test/docs/../x", "path"),
        (Rules(path_prefix="/a?b="), "http://h.test/a?b=1", None),
        (Rules(include="/news/[0-9]+"), "http://h.test/news/12", None),
        (Rules(include="/news/[0-9]+"), "http://h.test/news/x", "pattern"),
        (Rules(include="^/news"), "http://h.test/news", "pattern"),
        (Rules(exclude="[?&]sort="), "http://h.test/?a&sort=1", "pattern"),
        (Rules(exclude="[?&]sort="), "http://h.test/?resort=1", None),
        (Rules(include="/a", exclude="/b"), "http://h.test/a/b", "pattern"),
    ],
)
def test_a_job_is_kept_to_a_path_and_to_patterns(
    rules: Rules, url: str, reason: str | None
) -> None:
    """D9: judged by what is fetched, patterns anywhere in it."""
    assert Filter(rules).refusal(parse(url)) == reason


@pytest.mark.parametrize(
    ("pattern", "detail"),
    [
        ("(", "missing )"),
        ("(?=x)", "invalid perl operator"),
        (r"(a)\1", "invalid escape"),
        ("(((a{100}){100}){100})", "repetition"),
        ("x" * 1001, "1000 are allowed"),
        ("\ud800", "surrogates"),
    ],
)
def test_a_pattern_that_could_hold_us_up_is_none(pattern: str, detail: str) -> None:
    with pytest.raises(DeadLetter, match="pattern") as caught:
        compiled(pattern)
    assert caught.value.reason == "pattern"
    assert detail in caught.value.detail


def test_no_pattern_takes_longer_than_the_url_is_long() -> None:
    """Exponential in the engines that go back and try again."""
    assert compiled("^(a+)+$").search("a" * 100_000 + "!") is None


@pytest.mark.parametrize(
    ("given", "prefix"),
    [("", ""), ("/", "/"), ("/café/", "/caf%C3%A9/"), ("/a/../b", "/b"), ("/a b", "/a%20b")],
)
def test_a_prefix_is_compared_as_urls_are_written(given: str, prefix: str) -> None:
    assert prefix_of(given) == prefix


@pytest.mark.parametrize("given", ["docs", "\ud800", "http://h.test/", "/\ud800"])
def test_a_prefix_that_is_no_path_is_a_dead_letter(given: str) -> None:
    with pytest.raises(DeadLetter) as caught:
        prefix_of(given)
    assert caught.value.reason == "schema"
