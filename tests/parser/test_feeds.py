"""Feeds as sites make them."""

import json

import pytest

from services.common.records import Link
from services.parser.feeds import ROOTS, read_json, read_xml
from services.parser.lenient_xml import elements, root_of
from services.parser.listing import Gatherer, Listing

URL = "http://h.test/blog/feed"
NOW = 1_800_000_000.0
AT = 1_709_596_800.0
"""2024-03-05."""


def listing(text: str, limit: int = 100) -> Listing:
    into = Gatherer(URL, limit)
    root = root_of(text, ROOTS, strict=True)
    assert root is not None
    title = read_xml(elements(text, root), into, URL, NOW)
    return into.listing("feed", title)


def urls(text: str) -> list[str]:
    return [link.url for link in listing(text).links]


def test_rss_2() -> None:
    found = listing(
        """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom">
        <channel><title>News &amp; more</title><link>http://h.test/</link>
        <atom:link href="http://h.test/blog/feed" rel="self"/><atom:link rel="hub" href="http://x.test/"/>
        <atom:link rel="next" href="?page=2"/>
        <image><url>http://h.test/i.png</url><link>http://h.test/image</link></image>
        <item><title>One</title><link>http://h.test/1</link><guid>http://h.test/?p=1</guid>
        <pubDate>Tue, 05 Mar 2024 00:00:00 GMT</pubDate><comments>http://h.test/1#c</comments>
        <enclosure url="http://h.test/1.mp3"/><source url="http://other.test/rss">o</source>
        <description>&lt;a href="/no">no&lt;/a></description></item>
        <item><title><![CDATA[Two]]></title><guid isPermaLink="true">http://h.test/2</guid></item>
        <item><title>None</title><guid isPermaLink="false">http://h.test/no</guid></item>
        <item><guid>tag:h.test,2024:3</guid></item>
        </channel></rss>"""
    )
    assert found.title == "News & more"
    assert found.links == [
        Link(url="http://h.test/"),
        Link(url="http://h.test/blog/feed?page=2", rel="next feed"),
        Link(url="http://h.test/1", anchor="One", lastmod=AT),
        Link(url="http://h.test/2", anchor="Two"),
    ]
    assert found.cut == {"empty": 2}


def test_rss_0_9_and_rss_1_have_their_items_beside_the_channel() -> None:
    assert urls(
        """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
        <channel rdf:about="http://h.test/"><title>T</title><items><rdf:Seq>
        <rdf:li rdf:resource="http://h.test/1"/></rdf:Seq></items></channel>
        <item rdf:about="http://h.test/1"><title>1</title><link>http://h.test/one</link></item>
        <item rdf:about="http://h.test/2"><dc:date>2024-03-05</dc:date></item></rdf:RDF>"""
    ) == ["http://h.test/one", "http://h.test/2"]
    assert urls("<rss version='0.91'><channel><item><link>/1</link></item></channel></rss>") == [
        "http://h.test/1"
    ]


def test_atom() -> None:
    found = listing(
        """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://h.test/x/">
        <title>A</title><link href="http://h.test/home"/><link rel="self" href="f"/>
        <entry xml:base="y/"><title type="html">One</title>
        <link rel="replies" href="no"/><link rel="enclosure" href="no.mp3"/>
        <link rel="alternate" type="application/pdf" href="1.pdf"/>
        <link rel="alternate" type="text/html" href="1"/>
        <published>2020-01-01T00:00:00Z</published><updated>2024-03-05T00:00:00Z</updated>
        <author><name>n</name><uri>http://h.test/no</uri></author>
        <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
        <a href="no">n</a></div></content>
        <source><link href="http://other.test/"/></source></entry>
        <entry><link href="2"/><id>urn:2</id></entry></feed>"""
    )
    assert found.links == [
        Link(url="http://h.test/home"),
        Link(url="http://h.test/x/y/1", anchor="One", lastmod=AT),
        Link(url="http://h.test/x/2"),
    ]


def test_json_feed() -> None:
    into = Gatherer(URL, 100)
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "J",
        "home_page_url": "http://h.test/",
        "next_url": "?page=2",
        "items": [
            {"id": "1", "url": "/1", "title": "One", "date_modified": "2024-03-05T00:00:00Z"},
            {"id": "http://h.test/2", "date_published": 7},
            "odd",
        ],
    }
    assert read_json(json.dumps(feed), into, URL, NOW) == "J"
    found = into.listing("feed")
    assert found.links == [
        Link(url="http://h.test/1", anchor="One", lastmod=AT),
        Link(url="http://h.test/2"),
        Link(url="http://h.test/"),
        Link(url="http://h.test/blog/feed?page=2", rel="next feed"),
    ]
    assert found.cut == {"malformed": 1}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "1", '{"version": 1}', "[" * 100_000, '{"items": []}']
)
def test_other_json_is_no_feed(text: str) -> None:
    assert read_json(text, Gatherer(URL, 100), URL, NOW) is None


def rss(inner: str) -> str:
    return f"<rss><channel>{inner}</channel></rss>"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (rss("<item><title>A & B</title><link>/1?a=1&b=2</link></item>"), ["/1?a=1&b=2"]),
        (rss("<item><link>\n /1 \n</link></item>"), ["/1"]),
        (rss("<item><description><p>x<br>y</description><link>/1</link></item>"), ["/1"]),
        (rss("<item><link>/1</link><item><link>/2</link></item>"), ["/1", "/2"]),
        ("<rss><channel><item><link>/1</link></item><item><link>/2", ["/1"]),
        (rss("<item><link>/1</link><feedburner:origLink>/o</feedburner:origLink></item>"), ["/o"]),
        (
            rss("<item><media:content url='/m.jpg'/><media:t>x</media:t><link>/1</link></item>"),
            ["/1"],
        ),
        ("<feed><entry><link>/1</link></entry></feed>", ["/1"]),
        ("<rss><item><link>/1</link></item></rss>", ["/1"]),
        (rss(""), []),
        ("<rss>", []),
    ],
)
def test_what_can_be_read_is_read(text: str, right: list[str]) -> None:
    assert urls(text) == [f"http://h.test{path}" for path in right]


def test_a_feed_gives_no_more_links_than_a_page() -> None:
    rows = "".join(f"<item><link>/{number}</link></item>" for number in range(30))
    found = listing(f"<rss><channel>{rows}</channel></rss>", limit=20)
    assert (len(found.links), found.cut) == (20, {"too-many": 10})
