"""C11: what the rules file means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.host_rules import DEFAULT, NO_RULES, Options, Proxy, parse, wanted

FILE = """
[[rule]]
hosts = ["*"]
egress = ["192.0.2.1", "2001:db8::1"]
max_body = 2048

[[rule]]
hosts = ["*.Example.org", "example.org"]
proxy = "https://me:p%40ss@proxy.test"
headers = { Accept-Language = "de" }
skip_types = ["video/*"]
tls = "record"

[[rule]]
hosts = ["plain.example.org"]
proxy = "off"
cookies = "host"
egress_by = "turn"
ports = [80, 8080]
"""


def test_later_rules_win_option_by_option() -> None:
    rules = parse(FILE)
    general = {"egress": ("192.0.2.1", "2001:db8::1"), "max_body": 2048}
    proxy = Proxy("proxy.test", 443, tls=True, authorization="Basic bWU6cEBzcw==")
    site = general | {
        "headers": (("accept-language", "de"),),
        "skip_types": ("video/*",),
        "tls": "record",
    }
    assert rules.options("other.test") == Options(**general)  # type: ignore[arg-type] # by name
    for host in ("example.org", "www.example.org", "a.b.example.org"):
        assert rules.options(host) == Options(proxy=proxy, **site)  # type: ignore[arg-type] # by name
    assert rules.options("plain.example.org") == Options(
        cookies="host",
        egress_by="turn",
        ports=(80, 8080),
        **site,  # type: ignore[arg-type] # by name
    )


def test_without_rules_every_host_is_treated_alike() -> None:
    assert NO_RULES.options("a.test") == DEFAULT == parse("").options("a.test")


def test_a_rule_with_paths_applies_where_one_of_them_is_found() -> None:
    """C12: a browser for a part of a site."""
    rules = parse("""
    [[rule]]
    hosts = ["h.test"]
    paths = ["^/app/", "[?&]js="]
    module = "browser"
    [[rule]]
    hosts = ["h.test"]
    max_body = 2048
    [[rule]]
    hosts = ["h.test"]
    paths = ["^/app/static/"]
    module = "off"
    """)
    paths = ("/app/x", "/x?a&js=1", "/x?a", "/app/static/x")
    modules = [rules.options("h.test", path).module for path in paths]
    assert modules == ["browser", "browser", "", ""]
    assert {rules.options("h.test", path).max_body for path in paths} == {2048}
    assert rules.options("other.test", "/app/x") == DEFAULT
    assert rules.modules == {"browser"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hosts = []", "length >= 1"),
        ('proxy = "http://x"', "hosts"),
        ('hosts = ["*"]\nprxy = "x"', "prxy"),
        ('hosts = ["*"]\nproxy = "socks5://x"', "want http"),
        ('hosts = ["*"]\nproxy = "x:80"', "want http"),
        ('hosts = ["*"]\nproxy = "http://x:99999"', "[Pp]ort"),
        ('hosts = ["*"]\negress = ["eth0"]', "eth0"),
        ('hosts = ["*"]\nports = [0]', ">= 1"),
        ('hosts = ["*"]\nmax_body = 5', ">= 1024"),
        ('hosts = ["*"]\ntls = "ignore"', "ignore"),
        ('hosts = ["*"]\nheaders = { User-Agent = "x" }', "cannot be set"),
        ('hosts = ["*"]\nheaders = { Host = "x" }', "cannot be set"),
        ('hosts = ["*"]\nheaders = { "a b" = "x" }', "cannot be set"),
        ('hosts = ["*"]\nheaders = { A = "x\\ny" }', "cannot be set"),
        ('hosts = ["*"]\npaths = ["(?=x)"]', "perl operator"),
        ("hosts = [", "end of document"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse("[[rule]]\n" + line)


@pytest.mark.parametrize(
    ("content_type", "keep", "skip", "expected"),
    [
        ("text/html; charset=x", (), (), True),
        ("", ("text/*",), (), True),
        ("TEXT/HTML", ("text/*",), (), True),
        ("image/png", ("text/*",), (), False),
        ("image/png", (), ("image/*", "video/*"), False),
        ("image/svg+xml", ("image/svg+xml",), ("image/*",), False),
        ("application/pdf", ("text/*", "application/pdf"), (), True),
        ("nonsense", ("text/*",), (), False),
    ],
)
def test_media_types_are_kept_or_skipped(
    content_type: str, keep: tuple[str, ...], skip: tuple[str, ...], *, expected: bool
) -> None:
    assert wanted(content_type, Options(keep_types=keep, skip_types=skip)) == expected


@given(st.text())
def test_any_host_name_has_options(hostname: str) -> None:
    assert parse(FILE).options(hostname).max_body == 2048
