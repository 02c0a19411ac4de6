"""What a string means as a URL, and why it means none."""

import pytest

from services.common.urls import (
    KNOWN,
    REASONS,
    BadUrl,
    Url,
    fingerprint,
    parse,
    registered_domain,
)


def refusal(raw: str, base: str | None = None) -> str:
    with pytest.raises(BadUrl) as caught:
        parse(raw, base)
    assert caught.value.reason in REASONS
    return caught.value.reason


def test_a_url_has_all_its_names() -> None:
    assert parse(" HTTP://User:pw@WWW.Example.test:8080/a/../B?b=2&a=1&utm_source=x#top\n") == Url(
        href="http://www.example.test:8080/B?b=2&a=1&utm_source=x",
        identity="http://www.example.test:8080/B?a=1&b=2",
        scheme="http",
        host="www.example.test:8080",
        hostname="www.example.test",
        path="/B?b=2&a=1&utm_source=x",
    )


@pytest.mark.parametrize(
    ("base", "link", "href"),
    [
        ("http://h.test/", "../../download/", "http://h.test/download/"),
        ("http://h.test/a/b", "./../../../../z", "http://h.test/z"),
        ("http://h.test/a/b", "%2e%2e/x", "http://h.test/x"),
        ("http://h.test/a/b", ".%2E/x", "http://h.test/x"),
        ("http://h.test/a/b?x=1", "?page=2", "http://h.test/a/b?page=2"),
        ("http://h.test/a/b?q", "#top", "http://h.test/a/b?q"),
        ("http://h.test/a/b?q", "", "http://h.test/a/b?q"),
        ("http://h.test/a/b;p=1", "c;q=2", "http://h.test/a/c;q=2"),
        ("http://h.test/a/b", "..%2fx", "http://h.test/a/..%2fx"),
        ("http://h.test", "x", "http://h.test/x"),
        ("https://h.test/a", "//k.test/b", "https://k.test/b"),
        ("http://h.test/a/b", "\\c\\d", "http://h.test/c/d"),
        ("http://h.test/a/", " \n b\tc \r", "http://h.test/a/bc"),
        ("http://h.test/a/", "www.k.test/x", "http://h.test/a/www.k.test/x"),
        ("http://h.test/a/b", "http:c", "http://h.test/a/c"),
        ("http://h.test/a?b", "/c d?e f", "http://h.test/c%20d?e%20f"),
    ],
)
def test_a_link_resolves_as_in_a_browser(base: str, link: str, href: str) -> None:
    """C5, URL-03: WHATWG path states; an encoded dot is a dot, an encoded slash is data."""
    assert parse(link, base).href == href


def test_an_encoded_slash_after_dots_is_data_in_the_identity_too() -> None:
    """URL-03."""
    assert parse("http://h.test/a/..%2fx").identity == "http://h.test/a/..%2Fx"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        ("http://[2001:db8::1/x", "host"),
        ("http://h.test:99999/", "port"),
        ("http://h.test:80:80/x", "port"),
        ("http://h.test:8a/", "port"),
        ("http://h.test:0/", "port"),
        ("http://h.test:-1/", "port"),
        ("http://[::1]:99999/", "port"),
        ("http://h.test:" + "9" * 10_000, "port"),
        ("http://", "host"),
        ("http:///", "host"),
        ("http:", "host"),
        ("http://?q", "host"),
        ("http://user@/", "host"),
        ("http://.../", "host"),
        ("http://./", "host"),
        ("http://a..test/", "host"),
        ("http://.test/", "host"),
        ("http://h.test../", "host"),
        (f"http://{'a' * 64}.test/", "host"),
        (f"http://{'a.' * 127}ab/", "host"),
        ("http://a b.test/", "host"),
        ("http://a%2fb.test/", "host"),
        ("http://a*b.test/", "host"),
        ("http://xn--a/", "host"),
        ("http://1.2.3.256/", "host"),
        ("http://[::1%25eth0]/", "host"),
        ("mailto:someone@h.test", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("data:text/html,x", "scheme"),
        ("ftp://h.test/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("htp://h.test:99999/", "scheme"),
        ("h.test:8080/x", "scheme"),
        ("h.test/x", "malformed"),
        ("/x", "malformed"),
        ("http://h.test/\ud800", "malformed"),
    ],
)
def test_what_cannot_be_fetched_is_refused_with_its_reason(raw: str, reason: str) -> None:
    """URL-09: failure is a value for that one URL."""
    assert refusal(raw) == reason


def test_bad_links_of_a_page_leave_the_good_ones() -> None:
    """URL-09."""
    base = "http://h.test/page"
    accepted = []
    refused = []
    for link in (
        "http://[2001:db8::1/x",
        "http://h.test:99999/",
        "http://h.test:80:80/x",
        "http://h.test:8a/",
        "http://",
        "http:///",
        "http://.../",
        "/ok",
        "http://[2001:db8::1]/v6",
    ):
        try:
            accepted.append(parse(link, base).href)
        except BadUrl as error:
            refused.append(error.reason)
    assert accepted == ["http://h.test/ok", "http://[2001:db8::1]/v6"]
    assert refused == ["host", "port", "port", "port", "host", "host", "host"]


def test_a_bad_base_is_a_reason_and_not_a_crash() -> None:
    assert refusal("x", "not absolute") == "malformed"
    assert refusal("x", "mailto:a@h.test") == "malformed"
    assert refusal("x", "http://h.test/\ud800") == "malformed"


@pytest.mark.parametrize(
    ("raw", "host"),
    [
        ("http://h.test:80/", "h.test"),
        ("https://h.test:443/", "h.test"),
        ("http://h.test:443/", "h.test:443"),
        ("http://h.test:/", "h.test"),
        ("http://H.TEST:0080/", "h.test"),
        ("http://h.test./", "h.test"),
        ("http://h.test.:81/", "h.test:81"),
        ("http://my_host.test/", "my_host.test"),
        ("http://-a-.test/", "-a-.test"),
        ("http://bücher.test/", "xn--bcher-kva.test"),
        ("http://faß.test/", "xn--fa-hia.test"),
        ("http://\uff25\uff38AMPLE\u3002test/", "example.test"),
        ("http://ex%61mple.test/", "example.test"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://[::FFFF:127.0.0.1]/", "[::ffff:7f00:1]"),
        ("http://[2001:DB8:0:0::1]:80/", "[2001:db8::1]"),
        ("http://user@127.0.0.1:80\\@pub.test/", "127.0.0.1"),
        ("http://user:p%40ss@h.test/", "h.test"),
    ],
)
def test_a_server_has_one_name(raw: str, host: str) -> None:
    """D6, NET-05: pace and guards go by the host, so every writing of it is one."""
    url = parse(raw)
    assert url.host == host
    assert url.href.startswith(f"{url.scheme}://{host}/")
    assert url.identity.startswith(f"{url.scheme}://{host}/")


def test_credentials_go_nowhere() -> None:
    url = parse("https://user:secret@h.test/x?mail=a@h.test")
    assert url.href == url.identity == "https://h.test/x?mail=a@h.test"


def test_only_asked_for_schemes_are_urls() -> None:
    """C3: a new protocol is a scheme to accept and nothing else here."""
    assert parse("FTP://h.test:21/a", schemes={"ftp"}).href == "ftp://h.test/a"
    with pytest.raises(BadUrl) as caught:
        parse("http://h.test/", schemes={"ftp"})
    assert caught.value.reason == "scheme"


def test_a_page_leads_to_its_own_scheme_and_no_web_page_to_a_file() -> None:
    """C3, NET-05: what a page of a protocol links to, by relative links or absolute ones."""
    assert parse("b.html", "file://manuals/a/").href == "file://manuals/a/b.html"
    assert parse("file://other/x", "file://manuals/a/").host == "other"
    assert parse("http://h.test/", "file://manuals/a/").scheme == "http"
    for base in ("http://h.test/", "filed://h.test/", None):
        with pytest.raises(BadUrl) as caught:
            parse("file://manuals/a", base)
        assert caught.value.reason == "scheme"


def test_what_was_admitted_once_is_read_whatever_the_schemes_are_now() -> None:
    assert parse("gopher://h.test/x", schemes=KNOWN).identity == "gopher://h.test/x"
    with pytest.raises(BadUrl):
        parse("mailto:a@h.test", schemes=KNOWN)


def test_a_scheme_unknown_to_the_standard_never_crashes() -> None:
    assert parse("gopher://h.test", schemes={"gopher"}).host == "h.test"
    assert parse("gopher://h.test?/", schemes={"gopher"}).path == "?/"
    for raw in ("gopher:x", "gopher:///x", "gopher://H.TEST/"):
        with pytest.raises(BadUrl) as caught:
            parse(raw, schemes={"gopher"})
        assert caught.value.reason == "host"


def test_a_fingerprint_is_16_octets_of_the_identity() -> None:
    assert fingerprint("http://h.test/").hex() == "10b342522d71e5473470d7414d3948f9"


@pytest.mark.parametrize(
    ("hostname", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("user.github.io", "user.github.io"),
        ("deep.user.github.io", "user.github.io"),
        ("www.h.test", "h.test"),
        ("h.test", "h.test"),
        ("localhost", "localhost"),
        ("127.0.1.1", "127.0.1.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("www.xn--bcher-kva.test", "xn--bcher-kva.test"),
    ],
)
def test_the_registered_domain_is_what_its_owner_bought(hostname: str, domain: str) -> None:
    assert registered_domain(hostname) == domain
