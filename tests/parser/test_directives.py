"""What pages ask of robots (PAR-07)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from services.parser.directives import Directives, read_directives

NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
ALL = Directives()


def of_html(html: str) -> Directives:
    return read_directives(LexborHTMLParser(html), [], "MyBot", NOW)


def of_headers(*values: str) -> Directives:
    return read_directives(None, [("x-robots-tag", value) for value in values], "MyBot", NOW)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            (
                "<!-- <meta name=robots content=noindex> -->"
                '<META NAME="ROBOTS" CONTENT="INDEX, FOLLOW">'
            ),
            ALL,
        ),
        ('<meta name=robots content="none">', Directives(noindex=True, nofollow=True)),
        (
            "<meta name=robots content=nofollow><meta name=mybot content=noindex>",
            Directives(noindex=True, nofollow=True),
        ),
        ("<meta name=otherbot content=noindex>", ALL),
        ("<noscript><meta name=robots content=noindex></noscript>", Directives(noindex=True)),
        ("<body><p>x<meta name=robots content=noindex>", Directives(noindex=True)),
        ("<template><meta name=robots content=noindex></template>", ALL),
        ("<meta name=robots content='noarchive;nofollow'>", ALL),
        (
            "<meta name=robots content='unavailable_after: 2010-06-25'>",
            Directives(noindex=True),
        ),
        ("<meta name=robots>", ALL),
    ],
)
def test_the_strictest_of_what_the_page_says_to_us_counts(html: str, expected: Directives) -> None:
    """C4; case PAR-07."""
    assert of_html(html) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["otherbot: noindex, nofollow", "nofollow"], Directives(nofollow=True)),
        (["noindex, mybot: nofollow"], Directives(noindex=True, nofollow=True)),
        (["noindex, otherbot: nofollow"], Directives(noindex=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], Directives(noindex=True)),
        (["unavailable_after: Friday, 25-Jun-10 15:00:00 UTC"], Directives(noindex=True)),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST"], ALL),
        (["unavailable_after: soon"], ALL),
        (["googlebot: noindex", "mybot: noarchive"], Directives(noarchive=True)),
        (["max-snippet: 20, noindex"], Directives(noindex=True)),
        (["MyBot: none"], Directives(noindex=True, nofollow=True)),
        ([""], ALL),
    ],
)
def test_a_header_names_whom_it_means_until_its_end(
    values: list[str], expected: Directives
) -> None:
    """C4; case PAR-07."""
    assert of_headers(*values) == expected


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_header_and_meta_text_is_read(header: str, content: str) -> None:
    of_headers(header)
    of_html(f'<meta name=robots content="{content}">')
