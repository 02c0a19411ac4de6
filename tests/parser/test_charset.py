"""Which encoding a body is read in (CS-01, CS-03, PAR-03)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.charset import decode

RUSSIAN = "Привет, мир: проверка кодировки"


def page(text: str, head: str = "") -> str:
    return f"<!doctype html><html><head>{head}<title>t</title></head><body>{text}</body></html>"


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        (b"\xef\xbb\xbf" + RUSSIAN.encode(), "text/html; charset=iso-8859-1", RUSSIAN),
        (
            page(RUSSIAN, "<meta charset=utf-8>").encode("cp1251"),
            "text/html; charset=windows-1251",
            page(RUSSIAN, "<meta charset=utf-8>"),
        ),
        (b"\xff\xfe" + page(RUSSIAN).encode("utf-16-le"), "", page(RUSSIAN)),
        (
            b"<meta charset=iso-8859-1>\x93quoted\x94 \x96 dash",
            "",
            "<meta charset=iso-8859-1>\u201cquoted\u201d \u2013 dash",
        ),
        (
            page(RUSSIAN, "<meta charset=windows-1251>").encode("cp1251"),
            "text/html; charset=none",
            page(RUSSIAN, "<meta charset=windows-1251>"),
        ),
        (RUSSIAN.encode("cp1251"), 'text/html; charset="windows-1251"', RUSSIAN),
        (RUSSIAN.encode(), "text/html; charset=utf8", RUSSIAN),
        ("café".encode(), "", "café"),
    ],
    ids=[
        "bom-over-header",
        "header-over-meta",
        "utf-16-bom",
        "latin-1-means-windows-1252",
        "unknown-header-label",
        "quoted-label",
        "utf8-label",
        "undeclared-utf-8",
    ],
)
def test_evidence_counts_in_the_order_of_the_standard(
    body: bytes, header: str, expected: str
) -> None:
    """C5; case CS-01."""
    assert decode(body, header).text == expected


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("gb2312", "gbk", "中文\u9555内容"),
        ("Shift_JIS", "cp932", "丸数字①と髙"),
        ("x-sjis", "cp932", "日本語①"),
        ("euc-kr", "cp949", "한국어 \ub620"),
    ],
)
def test_labels_mean_what_browsers_make_of_them(label: str, codec: str, text: str) -> None:
    """Case CS-03."""
    html = page(text, f"<meta charset={label}>")
    assert decode(html.encode(codec)).text == html


def test_a_misspelt_meta_tag_still_declares() -> None:
    """Case CS-03."""
    html = page("中文内容", '<meta httpequiv="ContentType" content="text/html; charset=gbk">')
    assert decode(html.encode("gbk")).text == html


def test_utf_16_in_a_meta_tag_means_utf_8() -> None:
    """Case CS-03."""
    html = page(RUSSIAN, "<meta charset=utf-16>")
    assert decode(html.encode()).text == html


def test_gb2312_reads_the_four_octet_characters_of_gb18030() -> None:
    """Case CS-03."""
    text = "中文 \U00020087 \u3400"
    assert decode(text.encode("gb18030"), "text/html; charset=gb2312").text == text


def test_utf_16_without_a_mark_is_seen_by_its_zero_octets() -> None:
    """Case PAR-03: not thousands of one-letter words."""
    html = page("plain words")
    read = decode(html.encode("utf-16-le"), "text/html; charset=iso-8859-1")
    assert (read.text, read.encoding, read.source) == (html, "utf-16le", "pattern")
    assert decode(html.encode("utf-16-be")).text == html


def test_one_bad_octet_in_declared_utf_8_costs_one_character() -> None:
    body = b"<meta charset=utf-8>" + RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decode(body).text == f"<meta charset=utf-8>{RUSSIAN}\ufffd{RUSSIAN}"


def test_a_declaration_after_ten_thousand_octets_of_comment_is_found() -> None:
    html = page(RUSSIAN, f"<!--{'x' * 10_000}--><meta charset=koi8-r>")
    assert decode(html.encode("koi8-r")).text == html


def test_a_commented_declaration_is_none() -> None:
    html = page(RUSSIAN, "<!-- <meta charset=iso-8859-1> -->")
    assert decode(html.encode()).text == html


def test_a_meta_tag_with_an_unknown_label_leaves_the_word_to_the_next() -> None:
    html = page(RUSSIAN, "<meta charset=nonsense><meta name=x><meta charset=koi8-r>")
    assert decode(html.encode("koi8-r")).encoding == "koi8-r"


def test_octets_that_no_detector_knows_are_windows_1252() -> None:
    read = decode(b"\x81\x8d\x8f\x90\x9d\xff")
    assert read.text
    assert read.source in {"detector", "default"}


def test_the_xml_declaration_counts() -> None:
    text = '<?xml version="1.0" encoding="iso-8859-1"?><html><p>café</p></html>'
    assert decode(text.encode("latin-1")).text == text


def test_undeclared_cyrillic_is_guessed() -> None:
    text = "Это довольно длинный русский текст, который никто не объявил. " * 8
    read = decode(text.encode("cp1251"))
    assert (read.text, read.source) == (text, "detector")


def test_a_character_cut_off_at_the_end_is_still_utf_8() -> None:
    assert decode(("é" * 50).encode()[:-1]).encoding == "utf-8"


@pytest.mark.parametrize("label", ["hz-gb-2312", "iso-2022-kr", "csiso2022kr", "rot13", "zip", ""])
def test_labels_that_must_not_be_obeyed_are_ignored(label: str) -> None:
    assert decode(b"plain", f"text/html; charset={label}").source == "utf-8"


@given(st.binary(max_size=400), st.text(max_size=60))
def test_any_octets_give_text_that_can_be_sent(body: bytes, header: str) -> None:
    decode(body, header).text.encode()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_utf_8_with_its_header_comes_back_as_it_was(text: str) -> None:
    assert decode(("<" + text).encode(), "text/html;charset=utf-8").text == "<" + text
