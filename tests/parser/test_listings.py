"""What is taken for a sitemap or a feed, whatever its type says; and what never is."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.listing import MAX_URLS, Listing
from services.parser.listings import Asked, digest_of, read
from services.parser.media import sniff

URL = "http://www.example.test/dir/sitemap.xml"
NOW = 1_800_000_000.0
A, B = "http://www.example.test/a", "http://www.example.test/b"
MAP = f"<urlset><url><loc>{A}</loc></url></urlset>"
FEED = f"<rss version='2.0'><channel><item><link>{A}</link></item></channel></rss>"


def listed(
    body: str | bytes, *, level: int = 1, content_type: str = "application/xml", url: str = URL
) -> Listing | None:
    octets = body.encode() if isinstance(body, str) else body
    return read(
        octets,
        Asked(
            url=url,
            content_type=content_type,
            kind=sniff(content_type, octets),
            level=level,
            now=NOW,
            max_links=100,
        ),
    )


def urls(body: str | bytes, **asked: object) -> list[str]:
    listing = listed(body, **asked)  # type: ignore[arg-type]  # a test's shorthand
    assert listing is not None
    return [link.url for link in listing.links]


@pytest.mark.parametrize(
    "content_type", ["application/xml", "text/xml", "text/html", "text/plain", "", "image/png"]
)
def test_where_a_sitemap_is_expected_the_type_does_not_matter(content_type: str) -> None:
    for body in (MAP, gzip.compress(MAP.encode()), gzip.compress(gzip.compress(MAP.encode()))):
        assert urls(body, content_type=content_type) == [A]


@pytest.mark.parametrize(
    "content_type", ["application/x-gzip", "application/octet-stream", "text/xml"]
)
def test_packed_or_not_says_the_body_and_not_its_name(content_type: str) -> None:
    """SF-05: plain XML named .gz, packed twice, dirt behind the packed file."""
    name = "http://www.example.test/sitemap.xml.gz"
    packed = gzip.compress(MAP.encode())
    for body in (MAP.encode(), packed, gzip.compress(packed), packed + b"<!-- cached -->"):
        for level in (0, 1):
            assert urls(body, content_type=content_type, url=name, level=level) == [A]


def test_a_list_is_recognised_where_none_is_expected() -> None:
    """A seed may be a sitemap or a feed."""
    for body in (
        MAP,
        FEED,
        f"<?xml version='1.0'?>\n<!-- x -->\n<?pi?>{MAP}",
        f"<!DOCTYPE x>{MAP}",
    ):
        for content_type in ("application/xml", "text/xml", "text/html", "", "application/rss+xml"):
            assert urls(body, level=0, content_type=content_type) == [A]
    # the source of one, shown as text, is none, unless its name says so
    assert listed(FEED, level=0, content_type="text/plain", url="http://h.test/show") is None
    assert urls(FEED, level=0, content_type="text/plain", url="http://h.test/feed.xml") == [A]


@pytest.mark.parametrize(
    "body",
    [
        "<!DOCTYPE html><html><body>how to write <code>&lt;urlset></code> <urlset> </body></html>",
        "<p>about <rss></p>",
        "<html><!-- <urlset> --></html>",
        "<!-- <urlset> --><html></html>",
        "words about <urlset>",
        "<opml><body/></opml>",
        '{"urlset": 1}',
        "",
        "urlset",
        b"\x1f\x8b<urlset>",
        b"\x1f\x8b" + b"\0" * 40,
        b"\x89PNG<urlset>",
    ],
)
def test_what_is_no_list_is_left_to_the_other_readers(body: str | bytes) -> None:
    for content_type in ("text/html", "application/xml", "application/json", "image/png", ""):
        assert listed(body, level=0, content_type=content_type, url="http://h.test/p") is None


@pytest.mark.parametrize(
    "body",
    [
        '<!DOCTYPE html><html><a href="/x">home</a></html>',
        "<html><head/><body>404 <urlset></body></html>",
        "<div>Not found, see <a href='/'>home</a></div>",
        "Not found",
        "",
        "{}",
        b"\x89PNG\r\n\x1a\n",
        b"\x1f\x8b\x08",
        gzip.compress(b"<html>no</html>"),
    ],
)
def test_where_a_sitemap_is_expected_and_none_comes_there_are_no_urls_and_a_reason(
    body: str | bytes,
) -> None:
    """SF-03: an error page served with status 200."""
    listing = listed(body, content_type="text/html")
    assert listing is not None
    assert (listing.links, listing.cut) == ([], {"not-a-sitemap": 1})


def test_encodings_are_found_out() -> None:
    """SF-03: marks, UTF-16, declared and wrongly declared encodings."""
    path = "http://www.example.test/\N{CYRILLIC SMALL LETTER YA}"
    right = ["http://www.example.test/%D1%8F"]
    text = f"<urlset><url><loc>{path}</loc></url></urlset>"
    assert urls(text) == urls("\N{ZERO WIDTH NO-BREAK SPACE}\n" + text) == right
    declared = '<?xml version="1.0" encoding="windows-1251"?>' + text
    assert urls(declared.encode("cp1251")) == right
    # declared, but UTF-8 all the same
    assert urls(declared) == right
    assert urls(text, content_type="text/xml; charset=iso-8859-1") == right
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert urls(text.encode(encoding)) == right
    assert urls(b"<urlset><!-- \xff --><url><loc>" + A.encode() + b"</loc></url></urlset>") == [A]


def test_a_file_beyond_the_limits_is_read_up_to_them() -> None:
    """SF-05: 70,000 URLs, and a bomb."""
    rows = "".join(f"<url><loc>/{number}</loc></url>" for number in range(MAX_URLS + 20))
    listing = listed(f"<urlset>{rows}</urlset>")
    assert listing is not None
    assert (len(listing.links), listing.cut) == (MAX_URLS, {"too-many": 20})
    bomb = listed(gzip.compress(MAP[:-9].encode() + b" " * (60 << 20)))
    assert bomb is not None
    assert ([link.url for link in bomb.links], bomb.cut) == ([A], {"too-large": 1})


def test_a_text_file_is_a_list_where_one_is_expected_or_its_name_says_so() -> None:
    for level, url in ((1, "http://h.test/urls"), (0, "http://h.test/my-sitemap-1.txt?x")):
        assert urls(f"{A}\n{B}", level=level, content_type="text/plain", url=url) == [A, B]
        packed = gzip.compress(f"{A}\n{B}".encode())
        assert urls(packed, level=1, content_type="text/plain", url=url) == [A, B]
    assert listed(A, level=0, content_type="text/plain", url="http://h.test/notes.txt") is None


def test_a_json_feed_is_recognised_by_its_version() -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": [{"url": A}]}
    for content_type in ("application/feed+json", "application/json", ""):
        assert urls(json.dumps(feed), level=0, content_type=content_type) == [A]
    assert listed('{"version": "2", "items": []}', level=0, content_type="application/json") is None


def test_the_digest_stands_for_the_urls_and_dates_alone() -> None:
    def made(text: str) -> bytes:
        listing = listed(text)
        assert listing is not None
        return digest_of(listing)

    assert made(MAP) == made(f"<!-- made today -->{MAP}<!-- in 2 s -->")
    assert made(MAP) != made(MAP.replace("</loc>", "</loc><lastmod>2024-01-01</lastmod>"))


_PIECES = st.sampled_from(
    [
        "<urlset>", "<sitemapindex>", "<url>", "</url>", "<loc>", "</loc>", "<sitemap>", "<rss>",
        "<channel>", "<item>", "<link>", "</link>", "<feed>", "<entry>", "<link href='", "'/>",
        "http://h.test/", "/a?b=1&c=2", "<![CDATA[", "]]>", "<!--", "-->", "&amp;", "&#0;", "&x;",
        "<?xml version='1.0'?>", "<!DOCTYPE a [", "]>", "<lastmod>", "2024-01-01", "\0", "\ud800",
        "\n", "<", ">", "xml:base='/b/'", "<x:y z=", "\N{ZERO WIDTH NO-BREAK SPACE}",
    ]
)  # fmt: skip


@given(st.lists(_PIECES | st.text(max_size=5), max_size=40).map("".join), st.booleans())
def test_any_soup_gives_urls_or_none_and_no_error(text: str, expected: bool) -> None:
    body = text.encode("utf-8", "surrogatepass")
    for packed in (body, gzip.compress(body), text.encode("utf-16-le", "surrogatepass")):
        listing = listed(packed, level=int(expected))
        assert not expected or listing is not None
        for link in listing.links if listing else ():
            assert link.url.startswith(("http://", "https://"))


@given(st.binary(max_size=200), st.sampled_from(["", "text/xml", "application/json"]))
def test_any_octets_give_no_error(body: bytes, content_type: str) -> None:
    for level in (0, 1):
        listed(body, level=level, content_type=content_type)
        listed(b"<urlset>" + body, level=level, content_type=content_type)
