"""What is a link, and where it leads (PAR-01, PAR-03, PAR-09)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from services.common.records import Link
from services.parser.links import Found, base_of, read_links

PAGE = "http://h.test/dir/page.html"


def found(html: str, url: str = PAGE, limit: int = 1000, charset: str = "utf-8") -> Found:
    tree = LexborHTMLParser(html)
    return read_links(tree, url, base_of(tree, url), limit=limit, charset=charset)


def urls(html: str, url: str = PAGE) -> list[str]:
    return [link.url for link in found(html, url).links]


@pytest.mark.parametrize(
    ("head", "link", "expected"),
    [
        ('<base href="/forum/">', "x", "http://h.test/forum/x"),
        ('<base href="myself.html">', "?a=1", "http://h.test/dir/myself.html?a=1"),
        (f'<!--{"c" * 6000}--><base href="http://cdn.test/b/">', "x", "http://cdn.test/b/x"),
        ('<base href="/one/"><base href="/two/">', "x", "http://h.test/one/x"),
        ('<base target=_blank><base href="/two/">', "x", "http://h.test/two/x"),
        ('<!-- <base href="/old/"> -->', "x", "http://h.test/dir/x"),
        ('<base href="http://">', "x", "http://h.test/dir/x"),
        ('<base href="javascript:void(0)">', "x", "http://h.test/dir/x"),
        ('<base href="data:text/html,x">', "x", "http://h.test/dir/x"),
    ],
)
def test_the_first_base_with_an_address_counts(head: str, link: str, expected: str) -> None:
    """C5; case PAR-01."""
    assert urls(f"<head>{head}</head><body><a href='{link}'>t</a>") == [expected]


def test_a_base_after_the_link_counts_too() -> None:
    """C5; case PAR-01: the first base in tree order, wherever it stands."""
    assert urls('<body><a href="x">t</a><base href="/bb/">') == ["http://h.test/bb/x"]


SITE = "http://www.example.org/d/"


@pytest.mark.parametrize(
    "html",
    [
        '<!-- <a href="/c"> -->',
        "<script>var a='<a href=\"/s\">'</script>",
        '<template><a href="/t"></a></template>',
        '<meta property="og:site_name" content="Example.org">',
        '<img src="data:image/png;base64,/9j/4AAQ">',
        "<a href='mailto:a@b.test'>m</a><a href='tel:1'>t</a><a href='JavaScript:x()'>j</a>",
        "<a href='java&#10;script:x()'>j</a>",
        '<form action="/search"><input name=q></form>',
        '<link rel=stylesheet href="/s.css"><link rel="alternate stylesheet" href="/s2.css">',
        '<link rel=preconnect href="https://cdn.test"><link rel=icon href="/i.png">',
        "<a>nothing</a><a name=x>nothing</a>",
        "<meta http-equiv=refresh content=30><meta http-equiv=content-type content=text/html>",
        "<link rel=next><iframe></iframe>",
        f"<a href='/{'x' * 9000}'>long</a>",
    ],
)
def test_what_is_no_link_is_not_taken(html: str) -> None:
    """D1; case PAR-09."""
    assert urls(html, SITE) == []


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<noscript><a href="/n">n</a></noscript>', ["http://www.example.org/n"]),
        ('<map><area href="/m"></map>', ["http://www.example.org/m"]),
        ('<iframe src="/f"></iframe>', ["http://www.example.org/f"]),
        ('<html><frameset><frame src="/g"></frameset></html>', ["http://www.example.org/g"]),
        ('<svg><a xlink:href="/v">v</a></svg>', ["http://www.example.org/v"]),
        (
            '<a href="/l?a=1&amp;b=2&copy=3">l</a>',
            ["http://www.example.org/l?a=1&b=2&copy=3"],
        ),
        (
            (
                '<link rel=next href="?page=2"><link rel=alternate hreflang=de href="/de">'
                '<link rel=amphtml href="/amp">'
            ),
            [
                "http://www.example.org/d/?page=2",
                "http://www.example.org/de",
                "http://www.example.org/amp",
            ],
        ),
        (
            "<meta http-equiv=Refresh content=\"5; URL='/moved'\">",
            ["http://www.example.org/moved"],
        ),
        ("<a href=' \n/sp\tace '>s</a>", ["http://www.example.org/space"]),
        ("<a href='//other.test/x'>s</a>", ["http://other.test/x"]),
        ("<a href='\\\\other.test\\x'>s</a>", ["http://other.test/x"]),
    ],
)
def test_what_leads_to_a_document_is_a_link(html: str, expected: list[str]) -> None:
    """D1; case PAR-09."""
    assert urls(html, SITE) == expected


def test_a_nul_neither_cuts_the_page_nor_stays_in_a_link() -> None:
    """Case PAR-03."""
    html = '<a href="/a">1</a>\0<a href="/b">2</a><a href="/c\0d">3</a>'
    assert urls(html) == ["http://h.test/a", "http://h.test/b", "http://h.test/c%EF%BF%BDd"]


def test_a_link_keeps_its_first_anchor_text_and_its_relations() -> None:
    html = """<a rel="NoFollow  ugc" href="/a#top">First <b>words</b>
        </a><a href="/a">second</a><a href="/b"><img alt="picture"></a>"""
    assert found(html) == Found(
        links=[
            Link(url="http://h.test/a", anchor="First words", rel="nofollow ugc"),
            Link(url="http://h.test/b", anchor="picture"),
        ],
        cut={"repeated": 1},
    )


def test_links_beyond_the_limit_are_counted() -> None:
    html = "".join(f'<a href="/{n}">x</a>' for n in range(7)) + '<a href="#x">self</a>'
    assert found(html, limit=5).cut == {"too-many": 3}
    assert len(found(html, limit=5).links) == 5


def test_a_page_is_no_link_of_itself() -> None:
    assert found('<a href="#part">x</a><a href="page.html">y</a>').cut == {"self": 2}


def test_bad_links_are_counted_by_reason_and_their_neighbours_kept() -> None:
    html = "<a href='http://[bad'>x</a><a href='mailto:x@y.test'>x</a><a href='/ok'>y</a>"
    assert found(html).cut == {"host": 1, "scheme": 1}
    assert urls(html) == ["http://h.test/ok"]


def test_anchor_texts_have_a_limit() -> None:
    anchor = found(f"<a href=/x>{'word ' * 10_000}</a>").links[0].anchor
    assert 190 < len(anchor) <= 200


def test_a_query_is_written_in_the_encoding_of_its_page() -> None:
    assert found("<a href='/s?q=é'>x</a>", charset="windows-1252").links[0].url.endswith("?q=%E9")


def test_fifty_thousand_links_take_seconds_of_cpu_not_minutes() -> None:
    html = "".join(f'<p><a href="/{n}">text {n}</a>' for n in range(50_000))
    start = time.process_time()
    assert len(found(html, limit=50_000).links) == 50_000
    assert time.process_time() - start < 20


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_attribute_values_are_read(base: str, href: str) -> None:
    for link in found(f'<base href="{base}"><a href="{href}">x</a>').links:
        assert link.url.startswith(("http://", "https://"))


def test_feeds_are_marked_by_their_type() -> None:
    """D11."""
    html = """<link rel=alternate type=application/rss+xml href=/rss title=News>
    <link rel="Alternate" type="application/atom+xml; charset=utf-8" href=/atom>
    <link rel="alternate home" type=application/feed+json href=/json>
    <link rel=alternate hreflang=de href=/de><link rel=feed href=/feed>
    <link rel=stylesheet type=application/rss+xml href=/no>"""
    assert [(link.url, link.rel) for link in found(html).links] == [
        ("http://h.test/rss", "alternate feed"),
        ("http://h.test/atom", "alternate feed"),
        ("http://h.test/json", "alternate home feed"),
        ("http://h.test/de", "alternate"),
        ("http://h.test/feed", "feed"),
    ]


def test_no_page_can_say_that_a_link_is_a_sitemap_of_ours() -> None:
    """D11: what that token allows is robots.txt's to give; the link itself is one as any."""
    html = "<link rel=sitemap href=/s.xml><a rel='Sitemap next' href=/map>x</a>"
    assert found(html).links == [
        Link(url="http://h.test/s.xml"),
        Link(url="http://h.test/map", anchor="x", rel="next"),
    ]
