"""Case HTTP-11: Retry-After as servers write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.retry_after import CAP, seconds

NOW = 1_704_153_600.0  # Tue, 02 Jan 2024 00:00:00 GMT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", None),
        ("-5", None),
        ("Tue, 02 Jan 2024 00:05:00 GMT", 300),
        ("Tue, 02-Jan-24 00:05:00 GMT", 300),
        ("Tuesday, 02-Jan-24 00:05:00 GMT", 300),
        ("Tue Jan  2 00:05:00 2024", 300),
        ("Mon, 01 Jan 2024 00:00:00 GMT", None),
        ("99999999", CAP),
        ("9" * 5000, CAP),
        ("abc", None),
        ("1.5", None),
        ("120, 60", 120),
        ("", None),
        ("Tue, 99 Foo 2024", None),
        ("Tue, 02 Jan 99999999999 00:05:00 GMT", None),
    ],
)
def test_a_value_is_read_as_seconds(value: str, expected: float | None) -> None:
    assert seconds([value], NOW) == expected


def test_the_largest_of_several_headers_counts() -> None:
    assert seconds(["30", "Tue, 02 Jan 2024 00:05:00 GMT"], NOW) == 300


def test_no_header_asks_for_nothing() -> None:
    assert seconds([], NOW) is None


@given(st.lists(st.text(alphabet=st.characters(max_codepoint=255)), max_size=3))
def test_any_value_gives_a_sane_wait_or_none(values: list[str]) -> None:
    wait = seconds(values, NOW)
    assert wait is None or 0 < wait <= CAP
