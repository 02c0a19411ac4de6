"""Sitemaps as sites make them."""

from pathlib import Path

import pytest

from services.common.records import Link
from services.parser.lenient_xml import elements, root_of
from services.parser.listing import Gatherer, Listing
from services.parser.sitemaps import MAX_LEVEL, ROOTS, Place, read_text, read_xml

URL = "http://www.example.test/sitemap.xml"
NOW = 1_800_000_000.0
A, B = "http://www.example.test/a", "http://www.example.test/b"


ONE = f"<url><loc>{A}</loc></url>"


def listing(text: str, level: int = 1, limit: int = 100) -> Listing:
    into = Gatherer(URL, limit)
    root = root_of(text, ROOTS, strict=False)
    assert root is not None
    read_xml(elements(text, root), into, Place(URL, level, NOW))
    return into.listing("sitemap")


def urls(text: str) -> list[str]:
    return [link.url for link in listing(text).links]


def within(inner: str, attributes: str = "") -> str:
    return f"<urlset {attributes}>{inner}</urlset>"


@pytest.mark.parametrize(
    "text",
    [
        f"<s:urlset xmlns:s='http://www.sitemaps.org/x'><s:url><s:loc>{A}</s:loc></s:url></s:urlset>",
        f"<s:urlset><s:url><s:loc>{A}</s:loc></s:url></s:urlset>",
        within(ONE),
        within(
            f"<url><loc>{A}</loc></url>", 'xmlns="https://www.sitemaps.org/schemas/sitemap/0.9/"'
        ),
        within(ONE, 'xmlns="http://www.google.com/schemas/sitemap/0.84"'),
        within(ONE, 'xmlns="//www.sitemaps.org/schemas/sitemap/0.9"'),
        within(ONE, " " * 400 + 'xmlns="urn:late"'),
        f"<URLSET><URL><LOC>{A}</LOC></URL></URLSET>",
    ],
)
def test_namespaces_prefixes_and_case_make_no_difference(text: str) -> None:
    """SF-01."""
    assert urls(text) == [A]


def test_images_and_videos_are_no_pages() -> None:
    """SF-01."""
    found = listing(
        within(
            "<url><image:image><image:loc>http://www.example.test/i.jpg</image:loc></image:image>"
            f"<loc>{A}</loc><video:video><video:content_loc>/v.mp4</video:content_loc>"
            "<video:player_loc>/p</video:player_loc><video:title>t</video:title></video:video></url>"
        )
    )
    assert found.links == [Link(url=A)]
    assert found.cut == {"asset": 3}


def test_translations_are_links_with_their_language() -> None:
    """SF-01."""
    found = listing(
        within(
            "<url><loc>http://www.example.test/en</loc>"
            '<xhtml:link rel="alternate" hreflang="de" href="http://www.example.test/de"/>'
            '<xhtml:link rel="alternate" hreflang="en" href="http://www.example.test/en"/>'
            '<xhtml:link rel="canonical" href="http://www.example.test/no"/></url>',
            'xmlns:xhtml="http://www.w3.org/1999/xhtml"',
        )
    )
    assert found.links == [
        Link(url="http://www.example.test/en"),
        Link(url="http://www.example.test/de", rel="alternate", hreflang="de"),
    ]


def test_hints_travel_with_the_link_and_nonsense_is_dropped() -> None:
    """D11."""
    hinted = listing(
        within(
            f"<url><loc>{A}</loc><lastmod>2024-03-05</lastmod><changefreq> Daily </changefreq>"
            f"<priority>0,8</priority></url><url><loc>{B}</loc><lastmod>soon</lastmod>"
            "<changefreq>often</changefreq><priority>0.5</priority></url>"
            "<url><loc>/c</loc><priority>11</priority><lastmod>2099-01-01</lastmod></url>"
            "<url><loc>/n</loc><news:news><news:publication_date>2024-03-05T00:00:00Z"
            "</news:publication_date><news:title>t</news:title></news:news></url>"
        )
    ).links
    assert hinted == [
        Link(url=A, lastmod=1_709_596_800.0, changefreq="daily", site_priority=0.8),
        Link(url=B),
        Link(url="http://www.example.test/c"),
        Link(url="http://www.example.test/n", lastmod=1_709_596_800.0),
    ]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("\n  \n<?xml version='1.0'?>" + within(ONE), [A]),
        ("<?xml version='1.0'?><?xml version='1.0'?>" + within(ONE), [A]),
        (
            within("<url><loc><![CDATA[\n http://www.example.test/a?x=1&y=2 \n]]></loc></url>"),
            ["http://www.example.test/a?x=1&y=2"],
        ),
        (
            within("<url><loc>/rel</loc></url><url><loc>//www.example.test/b</loc></url>"),
            ["http://www.example.test/rel", B],
        ),
        (within(ONE) + "<!-- cached --><script>var a = 1 && 2</script>", [A]),
        # bare and doubled ampersands, names that only HTML has, references to nothing
        (
            within("<url><loc>/p?a=1&b=2&copy=3</loc></url>"),
            ["http://www.example.test/p?a=1&b=2&copy=3"],
        ),
        (within("<url><loc>/p?a=1&amp;amp;b=2</loc></url>"), ["http://www.example.test/p?a=1&b=2"]),
        (within("<url><loc>/caf&eacute;</loc></url>"), ["http://www.example.test/caf%C3%A9"]),
        (within("<url><loc>/a&#0;&#xD800;b</loc></url>"), ["http://www.example.test/ab"]),
        (within("<url><loc>/a&#x2F;b</loc></url>"), ["http://www.example.test/a/b"]),
        # markup that is broken
        (within(f"<url><loc>{A}</loc><url><loc>{B}</loc>"), [A, B]),
        (within(f"<url><loc>{A}</url><url><loc>{B}</loc></url>"), [A, B]),
        (within(f"<url><loc>{A}</loc></urls><url><loc>{B}</loc></url>"), [A, B]),
        (
            within(f"<url><loc>{A}</loc><x>1 < 2</x></url><url><loc>{B}</loc></url>"),
            [A, B],
        ),
        (within(f"<url><foo:loc2>x</foo:loc2><loc>{A}</loc></url>"), [A]),
        (within(f"<url>\x0b<loc>{A}\x00</loc></url>"), [A]),
        ("<br />\n<b>Warning</b>: x in y<br />\n<?xml version='1.0'?>" + within(ONE), [A]),
        # cut off: the last URL may be half of one
        (f"<urlset><url><loc>{A}</loc></url><url><loc>http://www.example.te", [A]),
        (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</lo", [A]),
        (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</loc>\n<lastmod>20", [A, B]),
        # nothing to be had
        (within(""), []),
        (within("<url/><url><loc/></url><url><loc> </loc></url>"), []),
        (within("<url><loc>mailto:a@b</loc></url><url><loc>http://[</loc></url>"), []),
    ],
)
def test_what_can_be_read_is_read(text: str, right: list[str]) -> None:
    """SF-03."""
    assert urls(text) == right


def test_a_url_is_listed_once_and_the_sitemap_itself_never() -> None:
    found = listing(within(ONE * 3 + f"<url><loc>{URL}</loc></url>"))
    assert [link.url for link in found.links] == [A]
    assert found.cut == {"repeated": 2, "self": 1}


def test_an_index_names_sitemaps_down_to_a_level() -> None:
    """SF-05: an index may name itself, or fresh indexes without end."""
    text = (
        f"<sitemapindex><sitemap><loc>{URL}</loc></sitemap><sitemap><loc>/s1.xml.gz</loc>"
        "<lastmod>2024-03-05</lastmod></sitemap></sitemapindex>"
    )
    for level in range(MAX_LEVEL):
        found = listing(text, level)
        assert found.links == [
            Link(url="http://www.example.test/s1.xml.gz", rel="sitemap", lastmod=1_709_596_800.0)
        ]
    assert listing(text, MAX_LEVEL).links == []
    assert listing(text, MAX_LEVEL).cut == {"nested": 2}


def test_nothing_is_expanded_and_nothing_is_read_from_elsewhere(tmp_path: Path) -> None:
    """SF-05: a billion laughs, and a file of ours."""
    secret = tmp_path / "secret"
    secret.write_text("http://www.example.test/secret")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    text = (
        f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "{secret.as_uri()}">'
        f'<!ENTITY % p SYSTEM "{secret.as_uri()}"> %p;]>'
    ) + within(f"<url><loc>&f;</loc></url><url><loc>/&l9;</loc></url><url><loc>{A}</loc></url>")
    assert urls(text) == [
        "http://www.example.test/&f;",
        "http://www.example.test/&l9;",
        A,
    ]


def test_nesting_without_end_is_given_up() -> None:
    text = within(ONE + "<url>" * 100_000)
    assert A in urls(text)


def test_a_plain_list_has_a_url_a_line() -> None:
    """SF-03."""
    into = Gatherer(URL, 3)
    read_text(f"{A}\r\n\r\n  {B}\r# c\nHTTP://www.example.test/c # d\n/rel\nwords\n{A}", into, URL)
    found = into.listing("sitemap")
    assert [link.url for link in found.links] == [A, B, "http://www.example.test/c"]
    assert found.cut == {"malformed": 2, "repeated": 1}
