"""How far from its seed a job may go."""

import pytest

from services.common.records import Rules, Scope
from services.common.urls import parse
from services.frontier.scope import root_of, within


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
