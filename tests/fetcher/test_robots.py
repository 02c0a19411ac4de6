"""C4 and cases ROB-01, ROB-03, ROB-05, ROB-09: what a robots.txt says to us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.robots import (
    MAX_BYTES,
    MAX_SITEMAP_URL,
    MAX_SITEMAPS,
    Rules,
    parse,
    sitemap_urls,
)

HOST = "http://h.test"


def allowed(rules: Rules, path: str) -> bool:
    return rules.allow(HOST + path)


def says(text: str, path: str, agent: str = "MyBot") -> str:
    return "allow" if allowed(parse(text.encode(), agent), path) else "disallow"


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n",
        "User-agent: *\nDisallow: /\n".encode("utf-16"),
        b"User-agent: *\rDisallow: /\r",
        b"user-AGENT :*\r\n\tDISALLOW : / # all\r\n",
        b"User-agent *\nDisallow /\n",
        b"User-agent: *\nDissallow: /\n",
    ],
)
def test_odd_ways_to_close_a_site_close_it(body: bytes) -> None:
    """ROB-01."""
    assert not allowed(parse(body, "MyBot"), "/any")


def test_sitemap_lines_belong_to_no_group_and_resolve_against_the_file() -> None:
    """ROB-01."""
    text = (
        "\N{ZERO WIDTH NO-BREAK SPACE}Sitemap: https://h.test/s1.xml\nUser-agent: MyBot\n"
        "Disallow: /x\nsitemap : /rel.xml\nSITEMAP:https://other.test/x.xml.gz # c\nSitemap:\n"
        "Sitemap: mailto:x"
    )
    rules = parse(text.encode(), "MyBot")
    assert sitemap_urls(rules, "https://h.test/robots.txt") == [
        "https://h.test/s1.xml",
        "https://h.test/rel.xml",
        "https://other.test/x.xml.gz",
    ]
    assert not allowed(rules, "/x")


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("Disallow: /\nAllow: /pub/", "/pub/x", "allow"),
        ("Allow: /pub/\nDisallow: /pub/private", "/pub/private/1", "disallow"),
        ("Disallow: /page\nAllow: /page", "/page", "allow"),
        ("Allow: /page\nDisallow: /*.html", "/page.html", "disallow"),
        ("Allow: /folder/page\nDisallow: /*.html", "/folder/page.html", "allow"),
        ("Allow: /$\nDisallow: /", "/", "allow"),
        ("Allow: /$\nDisallow: /", "/a", "disallow"),
        ("Disallow: /*.php$", "/x.php?a=1", "allow"),
        ("Allow:    /*/filter/page=*/$\nDisallow: /", "/1/filter/page=5/", "allow"),
        ("Disallow: *.pdf", "/d/x.pdf", "disallow"),
        ("Allow:\nDisallow: /", "/x", "disallow"),
        ("Disallow:", "/x", "allow"),
        ("Disallow: /*?s=", "/search?s=q", "disallow"),
        ("Disallow: /Admin", "/admin", "allow"),
        ("Disallow: /", "/robots.txt", "allow"),
        # TRAP-03: the slash closes the listing's children, not its filters
        ("Disallow: /search/", "/search?f[0]=a:1", "allow"),
        ("Disallow: /search/", "/search/?f[0]=a:1", "disallow"),
        ("Disallow: /caf\u00e9", "/caf%C3%A9/x", "disallow"),
        ("Disallow: /a%3cd", "/a%3Cd", "disallow"),
        ("Disallow: //x", "//x/y", "disallow"),
    ],
)
def test_the_longest_match_wins_and_allow_wins_a_tie(lines: str, path: str, expected: str) -> None:
    """ROB-03."""
    assert says(f"User-agent: *\n{lines}", path) == expected


def test_sitemap_lines_are_bounded_in_number_and_length() -> None:
    lines = [f"Sitemap: /{number}.xml\n" for number in range(2 * MAX_SITEMAPS)]
    lines += lines[:5]
    lines[0] = f"Sitemap: /{'x' * MAX_SITEMAP_URL}.xml\n"
    found = sitemap_urls(parse("".join(lines).encode(), "MyBot"), "https://h.test/robots.txt")
    assert found == [f"https://h.test/{number}.xml" for number in range(1, MAX_SITEMAPS + 1)]


@pytest.mark.parametrize(
    ("text", "agent", "paths", "expected"),
    [
        (
            (
                "User-agent: MyBot\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\n"
                "User-agent: MyBot\nDisallow: /b"
            ),
            "MyBot",
            ["/a", "/b"],
            "disallow",
        ),
        ("User-agent: A\n\nUser-agent: MyBot\nDisallow: /a", "A", ["/a"], "disallow"),
        ("User-agent: *\n\nDisallow: /a", "MyBot", ["/a"], "disallow"),
        (
            "User-agent: MyBot\nSitemap: http://h.test/s.xml\nDisallow: /a",
            "MyBot",
            ["/a"],
            "disallow",
        ),
        (
            "User-agent: *\nCrawl-delay: 10\nUser-agent: MyBot\nDisallow: /a",
            "OtherBot",
            ["/a"],
            "disallow",
        ),
        (
            "User-agent: MyBot\nCrawl-delay: 5\n\nUser-agent: *\nDisallow: /",
            "MyBot",
            ["/x"],
            "disallow",
        ),
        (
            "User-agent: *\nDisallow: /\n\nUser-agent: MyBot\nDisallow:",
            "MyBot",
            ["/x"],
            "allow",
        ),
        ("Disallow: /a\nUser-agent: *\nDisallow: /b", "MyBot", ["/a"], "allow"),
    ],
)
def test_a_group_ends_only_where_the_rfc_says(
    text: str, agent: str, paths: list[str], expected: str
) -> None:
    """ROB-05."""
    assert [says(text, path, agent) for path in paths] == [expected] * len(paths)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mybot", "disallow"),
        ("MyBot/2.1", "disallow"),
        ("MyBot # us", "disallow"),
        ("My", "allow"),
        ("MyBotX", "allow"),
        ("OtherBot", "allow"),
        ("Mozilla MyBot", "allow"),
        ("*", "disallow"),
        ("**", "allow"),
        ("", "allow"),
    ],
)
def test_a_user_agent_line_names_us_by_the_whole_product_token(line: str, expected: str) -> None:
    """RFC 9309, 2.2.1."""
    assert says(f"User-agent: {line}\nDisallow: /", "/x") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10", 10),
        ("0.5", 0.5),
        ("0", 0),
        ("1e9", 1e9),
        ("1000000", 1e6),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("10,5", None),
        ("10s", None),
        ("1_0", None),
        ("", None),
        ("1 # c", 1),
    ],
)
def test_a_crawl_delay_is_a_plain_number_or_nothing(value: str, expected: float | None) -> None:
    """ROB-09; what is above the cap is reported as asked and capped where it is used."""
    text = f"User-agent: *\nCrawl-delay: {value}\nDisallow: /a"
    assert parse(text.encode(), "MyBot").crawl_delay == expected


def test_a_crawl_delay_is_that_of_our_group() -> None:
    text = b"User-agent: *\nCrawl-delay: 10\nDisallow:\nUser-agent: MyBot\nCrawl-delay: 3\nAllow: /"
    assert (parse(text, "MyBot").crawl_delay, parse(text, "x").crawl_delay) == (3, 10)


def test_a_file_too_long_is_read_to_the_last_whole_line_within_the_limit() -> None:
    head = b"User-agent: *\nDisallow: /a\n"
    cut = b"#" * (MAX_BYTES - len(head) - 13) + b"\nDisallow: /bcd\nDisallow: /c"
    rules = parse(head + cut, "x")
    assert [allowed(rules, path) for path in ("/a", "/b", "/bcd", "/c")] == [
        False,
        True,
        True,
        True,
    ]


def test_an_html_page_has_no_rules() -> None:
    """ROB-07, chain e."""
    assert says("<!DOCTYPE html>\n<html><body>Disallow: /</body></html>", "/x") == "allow"


def test_control_characters_in_a_rule_cannot_start_a_new_one() -> None:
    assert says("User-agent: *\nDisallow: /a\x0bAllow: /b\x85Disallow: /c", "/c") == "allow"


@given(st.binary(max_size=400), st.text(max_size=30))
def test_any_octets_give_rules(body: bytes, path: str) -> None:
    allowed(parse(body, "MyBot"), "/" + path)


@given(st.text(alphabet="Uu:sera-gntDiwloy*/ab#$%\n\r\t \x00\x85\u2028\ufeff", max_size=300))
def test_anything_like_a_robots_file_gives_rules(text: str) -> None:
    delay = parse(text.encode(), "MyBot").crawl_delay
    assert delay is None or delay >= 0
