"""One body read, from octets to a document."""

from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from services.parser.bodies import digest
from services.parser.document import Document, Task, header, read

WORDS = "The river rose by two metres in the night and the old bridge was closed to lorries."


def task(body: bytes, content_type: str = "text/html; charset=utf-8", **fields: Any) -> Task:  # noqa: ANN401 - any field
    values: dict[str, Any] = {
        "url": "http://h.test/d/",
        "body": zstandard.ZstdCompressor().compress(body),
        "size": len(body),
        "headers": [("content-type", content_type)],
        "agent": "Recrawl",
        "now": 1_700_000_000.0,
        "max_links": 100,
        "max_text": 1000,
    }
    return Task(**(values | fields))


def test_a_page_is_read_whole() -> None:
    """C4, C5."""
    html = f"""<!doctype html><html lang=en><head><title>Flood</title>
    <meta name=description content=Short><link rel=canonical href=/flood></head>
    <body><article><p>{WORDS}</p></article><a href=/a>A</a><a rel=nofollow href=/b>B</a>"""
    document = read(task(html.encode()))
    assert (document.kind, document.content_type, document.charset) == (
        "html",
        "text/html",
        "utf-8",
    )
    assert (document.title, document.language, document.description, document.canonical) == (
        "Flood",
        "en",
        "Short",
        "http://h.test/flood",
    )
    assert document.text_source == "main"
    assert WORDS in document.text
    assert document.text_digest == digest(document.text.encode())
    assert [(link.url, link.rel) for link in document.links] == [
        ("http://h.test/flood", "canonical"),
        ("http://h.test/a", ""),
        ("http://h.test/b", "nofollow"),
    ]


def test_a_page_that_says_nofollow_says_it_of_each_link() -> None:
    """C4; case PAR-07: `/a` and `/b` say it themselves, the page says it of `/c`."""
    html = b"""<a rel="nofollow ugc" href=/a>a</a><a rel=NOFOLLOW href=/b>b</a><a href=/c>c</a>"""
    own = read(task(html))
    assert [link.rel for link in own.links] == ["nofollow ugc", "nofollow", ""]
    headers = [("content-type", "text/html"), ("x-robots-tag", "nofollow, noindex")]
    all_of_them = read(task(html, headers=headers))
    assert [link.rel for link in all_of_them.links] == ["nofollow ugc", "nofollow", "nofollow"]
    assert all_of_them.noindex


def test_where_no_main_text_is_looked_for_the_body_stands_in() -> None:
    document = read(task(f"<p>{WORDS}".encode(), main=False))
    assert (document.text, document.text_source) == (WORDS, "body")


def test_text_is_cut_and_its_digest_is_of_all_of_it() -> None:
    body = b"word " * 1000
    document = read(task(body, "text/plain"))
    assert (len(document.text), document.text_source, document.text_truncated) == (
        1000,
        "plain",
        True,
    )
    assert document.text_digest == digest(body.strip())


def test_a_script_that_closes_itself_ends_there_in_xhtml_only() -> None:
    """Case PAR-11."""
    page = (
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>'
        b'<script src="a.js"/></head><body><a href="/x">x</a><br/><p/></body></html>'
    )
    xhtml = read(task(page, "application/xhtml+xml"))
    assert [link.url for link in xhtml.links] == ["http://h.test/x"]
    assert read(task(page.replace(b'<?xml version="1.0"?>', b""))).links == []


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html", b"%PDF-1.7 words", "pdf"),
        ("text/html", b'{"a":1}', "json"),
        ("text/html", bytes(range(256)) * 20, "binary"),
        ("application/xml", b"<opml><body/></opml>", "xml"),
    ],
)
def test_what_is_no_page_has_no_text_and_no_links(
    content_type: str, body: bytes, kind: str
) -> None:
    """Case PAR-11."""
    document = read(task(body, content_type))
    assert (document.kind, document.text, document.text_digest, document.links) == (
        kind,
        "",
        None,
        [],
    )


def test_an_x_robots_tag_counts_for_what_is_no_page() -> None:
    """C4; case PAR-07: often overlooked for PDF."""
    headers = [("content-type", "application/pdf"), ("x-robots-tag", "noindex")]
    assert read(task(b"%PDF-1.7", headers=headers)).noindex


def test_utf_16_words_are_not_letters() -> None:
    """Case PAR-03."""
    html = f"<html><body><p>{WORDS}</p></body></html>".encode("utf-16-le")
    assert WORDS in read(task(html, "text/html; charset=iso-8859-1")).text


def test_the_first_header_of_a_name_counts() -> None:
    assert header([("a", "1"), ("b", "2"), ("b", "3")], "b") == "2"
    assert header([], "b") == ""


TYPES = st.sampled_from(
    ["text/html", "application/xhtml+xml", "text/plain", "", "application/xml", "text/html;charset"]
)
MARKUP = st.lists(
    st.sampled_from(
        [
            b"<a href=", b"'", b'"', b">", b"</a>", b"<p>", b"<div>", b"\0", b"\xff", b"<!--",
            b"<script>", b"<table>", b"<svg>", b"<body>", b"</html>", b"&#x0;", b"&#xD800;",
            b"<base href=//>", b"<meta charset=utf-16>", b"<frameset>", b"<template>", b"<?xml ",
            b"]]>", b"\xc3", b"w ", b"<math>", b"<select>", b"<title>", b"<plaintext>", b"/>",
            b"<article>", b"<noscript>",
        ]
    ),
    max_size=60,
).map(b"".join)  # fmt: skip


@given(st.one_of(MARKUP, st.binary(max_size=300)), TYPES)
def test_no_input_is_beyond_reading(body: bytes, content_type: str) -> None:
    document = read(task(body, content_type))
    assert isinstance(document, Document)
    document.text.encode()
    document.title.encode()


@pytest.fixture
def page_of() -> Callable[[str], str]:
    return lambda inside: f"<html><body>{inside}<article><p>{WORDS}</p></article></body></html>"


@pytest.mark.parametrize(
    "inside",
    ["<div>" * 3000, "<b>" * 3000, "<table><tr><td>" * 800, f"<script>{'x' * 3_000_000}</script>",
     "x" * 3_000_000, "&amp;" * 200_000, "<a " + "x=y " * 100_000 + ">"],
    ids=["deep", "formatting", "tables", "script", "one-line", "references", "attributes"],
)  # fmt: skip
def test_large_and_deep_pages_are_read_to_their_end(
    inside: str, page_of: Callable[[str], str]
) -> None:
    html = page_of(inside) + "<a href=/last>last</a>"
    assert "http://h.test/last" in [link.url for link in read(task(html.encode())).links]


SITEMAP = b"<urlset><url><loc>/a</loc></url></urlset>"
FEED = b"<rss><channel><title>T</title><item><link>/a</link></item></channel></rss>"


def test_a_sitemap_or_feed_gives_its_links_and_no_text() -> None:
    """D11; what it asks of robots is for itself."""
    for body, kind in ((SITEMAP, "sitemap"), (FEED, "feed")):
        given = task(
            body,
            headers=[("content-type", "text/xml"), ("x-robots-tag", "noindex, nofollow")],
            listings=["sitemap", "feed"],
        )
        document = read(given)
        assert (document.kind, document.is_listing, document.noindex) == (kind, True, True)
        assert [(link.url, link.rel) for link in document.links] == [("http://h.test/a", "")]
        assert (document.text, document.text_source) == ("", "none")
        assert document.text_digest is not None


def test_a_kind_of_list_that_is_switched_off_gives_no_links() -> None:
    for body, others in ((SITEMAP, ["feed"]), (FEED, ["sitemap"])):
        document = read(task(body, "text/xml", listings=others))
        assert (document.is_listing, document.links) == (True, [])
        assert document.cut == {"switched-off": 1}


def test_where_a_sitemap_is_expected_a_page_is_none() -> None:
    """SF-03."""
    document = read(task(b"<html><a href=/x>home</a></html>", sitemap_level=1))
    assert (document.is_listing, document.links, document.reason) == (True, [], "not-a-sitemap")
