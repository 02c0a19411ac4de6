"""C12: what a page may ask for, and what becomes of its headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.browser.parts import (
    Asked,
    Budget,
    document,
    for_the_page,
    of_the_document,
    on_the_wire,
    renderable,
)

SCRIPT = Asked("GET", "script", web=True)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (SCRIPT, ""),
        (Asked("GET", "stylesheet", web=True), ""),
        (Asked("GET", "xhr", web=True), ""),
        (Asked("GET", "fetch", web=True), ""),
        (Asked("GET", "image", web=True), "kind"),
        (Asked("GET", "font", web=True), "kind"),
        (Asked("GET", "media", web=True), "kind"),
        (Asked("POST", "fetch", web=True), "method"),
        (Asked("GET", "fetch", web=False), "scheme"),
    ],
)
def test_scripts_styles_and_data_are_asked_for_and_nothing_is_changed(
    asked: Asked, reason: str
) -> None:
    assert Budget(5, 1000).refusal(asked) == reason


def test_what_a_page_asks_for_is_bounded_in_number_and_octets() -> None:
    budget = Budget(2, 1000)
    assert [budget.refusal(SCRIPT) for _ in range(3)] == ["", "", "requests"]
    budget = Budget(2, 1000)
    budget.octets -= 1000
    assert budget.refusal(SCRIPT) == "octets"


@pytest.mark.parametrize(
    ("status", "damage", "kind", "disposition", "expected"),
    [
        (200, "", "Text/HTML; charset=x", "", True),
        (203, "", "application/xhtml+xml", "inline", True),
        (200, "", "application/pdf", "", False),
        (200, "", "", "", False),
        (200, "incomplete", "text/html", "", False),
        (404, "", "text/html", "", False),
        (302, "", "text/html", "", False),
        (200, "", "text/html", 'attachment; filename="x"', False),
    ],
)
def test_only_whole_html_documents_take_a_browser(
    status: int, damage: str, kind: str, disposition: str, *, expected: bool
) -> None:
    assert renderable(status, damage, kind, disposition) == expected


def test_a_site_is_sent_what_scripts_set_and_no_word_on_the_browser() -> None:
    headers = {"user-agent": "Chrome", "sec-ch-ua": "x", "accept": "*/*", "x-token": "1"}
    assert on_the_wire(headers) == (("accept", "*/*"), ("x-token", "1"))


def test_a_document_has_its_own_charset_and_no_validators() -> None:
    headers = [
        ("content-type", "text/html; charset=koi8-r"),
        ("etag", '"x"'),
        ("content-length", "5"),
        ("x-robots-tag", "noindex"),
    ]
    assert of_the_document(headers) == [
        ("content-type", "text/html; charset=utf-8"),
        ("x-robots-tag", "noindex"),
    ]


def test_headers_given_twice_reach_the_page() -> None:
    headers = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("link", "x"), ("link", "y")]
    assert for_the_page(headers) == {"set-cookie": "a=1\nb=2", "link": "x, y"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<html><head lang=x><p>", b'<html><head lang=x><meta http-equiv="refresh"'),
        ("<header>", b'<meta http-equiv="refresh"'),
    ],
)
def test_where_a_script_leads_is_in_the_document(text: str, expected: bytes) -> None:
    octets, cut = document(text, 'http://h.test/?a&b"', 1000)
    assert octets.startswith(expected)
    assert b'content="0; url=http://h.test/?a&amp;b&quot;"' in octets
    assert not cut


@given(st.text(), st.text(), st.integers(0, 50))
def test_any_text_makes_a_document_within_the_limit(text: str, away: str, limit: int) -> None:
    octets, cut = document(text, away, limit)
    assert len(octets) <= limit
    assert cut or away or octets.decode() == text
