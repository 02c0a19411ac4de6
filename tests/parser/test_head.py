"""What a page says about itself."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from services.parser.head import Head, read_head

BASE = "http://h.test/d/"


def head(html: str) -> Head:
    return read_head(LexborHTMLParser(html), BASE)


def test_all_fields_are_read() -> None:
    assert head(
        """<html lang=de><head><title> A
        title </title><meta name=Description content="About  it"><link rel=canonical href="/c">"""
    ) == Head(title="A title", description="About it", language="de", canonical="http://h.test/c")


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title></title><meta property=og:title content=Og><h1>One</h1>", "Og"),
        ("<h1>One <i>heading</i></h1><h1>Two</h1>", "One heading"),
        ("<body><svg><title>Drawing</title></svg>", ""),
        ("<p>nothing", ""),
    ],
)
def test_a_title_is_looked_for_where_it_may_be(html: str, title: str) -> None:
    assert head(html).title == title


def test_what_has_no_name_or_no_content_says_nothing() -> None:
    html = "<meta content=x><meta name=description content=' '><link rel=next href=/n>"
    assert head(html) == Head()


def test_a_canonical_address_that_is_none_is_left_out() -> None:
    assert head("<link rel=canonical href='http://'>").canonical == ""


def test_fields_have_a_limit() -> None:
    assert len(head(f"<title>{'word ' * 5000}</title>").title) <= 1000
