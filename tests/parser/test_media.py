"""What a body is, whatever its Content-Type says (PAR-11)."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.media import Kind, essence, sniff

XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a.js"/></head></html>'


@pytest.mark.parametrize(
    ("declared", "body", "kind"),
    [
        ("text/html", b"%PDF-1.7 ...", "pdf"),
        ("application/pdf", b"<!doctype html>login</html>", "html"),
        ("application/xhtml+xml", XHTML, "xhtml"),
        ("text/html", XHTML, "html"),
        ("application/octet-stream", gzip.compress(b"<urlset/>"), "binary"),
        ("application/octet-stream", b'<?xml version="1.0"?><urlset>', "xml"),
        ("text/plain", b"<!doctype html>source to show", "text"),
        ("", b"<html>", "html"),
        ("text/html", b'{"a":1}', "json"),
        ("image/jpeg", b"<html>", "binary"),
        ("text/html", bytes(range(256)) * 4, "binary"),
        ("text/html", b'<?xml version="1.0"?><rss version="2.0">', "xml"),
        ("text/html", b'<?xml version="1.0"?><!DOCTYPE html><html>', "html"),
        ("text/html; charset=utf-8", b"just words", "html"),
        ("application/xml", b"<feed>", "xml"),
        ("text/plain", b"words", "text"),
        ("text/html", b"\xff\xfe" + "<html>x".encode("utf-16-le"), "html"),
        ("text/html", "<html>no mark".encode("utf-16-be"), "html"),
        ("text/html", b"", "html"),
        ("", b"", "text"),
        ("application/ld+json", b"[]", "json"),
        ("text/css", b"a{}", "binary"),
    ],
)
def test_a_body_goes_to_the_reader_that_can_use_it(declared: str, body: bytes, kind: Kind) -> None:
    """C4; case PAR-11."""
    assert sniff(declared, body) == kind


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Text/HTML; charset=utf-8", "text/html"),
        (" text/html ", "text/html"),
        ("text/html,text/html", "text/html"),
        ("html", ""),
        ("", ""),
        ("*/*", "*/*"),
    ],
)
def test_the_media_type_is_read_without_its_parameters(header: str, expected: str) -> None:
    assert essence(header) == expected


@given(st.text(max_size=40), st.binary(max_size=200))
def test_any_header_and_octets_have_a_kind(header: str, body: bytes) -> None:
    assert sniff(header, body) in {"html", "xhtml", "xml", "text", "json", "pdf", "binary"}
