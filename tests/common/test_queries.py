"""The query of a link, in the encoding of its page."""

import pytest

from services.common.queries import encode_query
from services.common.urls import parse


@pytest.mark.parametrize(
    ("charset", "path"),
    [
        ("utf-8", "/%C3%A9?q=%C3%A9%E2%82%AC"),
        ("windows-1252", "/%C3%A9?q=%E9%80"),
        ("ISO-8859-1", "/%C3%A9?q=%E9%80"),
        ("iso-8859-2", "/%C3%A9?q=%E9%26%238364%3B"),
        ("utf-16le", "/%C3%A9?q=%C3%A9%E2%82%AC"),
        ("no-such-thing", "/%C3%A9?q=%C3%A9%E2%82%AC"),
    ],
)
def test_a_query_is_sent_in_the_encoding_of_its_page_and_a_path_in_utf_8(
    charset: str, path: str
) -> None:
    """C5, D3: what a browser would ask the site for."""
    assert parse("/é?q=é€#é", "http://h.test/", charset=charset).path == path


def test_octets_that_are_ascii_in_the_encoding_stay_bare() -> None:
    """Shift_JIS: the second octet of many characters is a backslash."""
    assert encode_query("?q=ソ", "shift_jis") == "?q=%83\\"


def test_a_link_without_a_query_or_in_ascii_is_left_alone() -> None:
    assert encode_query("/é#é?é", "windows-1252") == "/é#é?é"
    assert encode_query("/a?b=%E9", "windows-1252") == "/a?b=%E9"


def test_a_lone_surrogate_survives_to_be_refused() -> None:
    assert encode_query("?q=\ud800", "windows-1252") == "?q=%26%2355296%3B"
