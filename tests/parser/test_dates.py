"""Dates as sites write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.dates import AHEAD, EARLIEST, moment

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # W3C, as the protocol asks for
        ("2024", "2024-01-01T00:00:00"),
        ("2024-03", "2024-03-01T00:00:00"),
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05T10:20Z", "2024-03-05T10:20:00"),
        ("2024-03-05T10:20:30+02:00", "2024-03-05T08:20:30"),
        ("2024-03-05T10:20:30.123456-05:30", "2024-03-05T15:50:30"),
        # as it is written
        (" \n2024-03-05T10:20:30Z\t", "2024-03-05T10:20:30"),
        ("2024-03-05 10:20:30", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30 +0200", "2024-03-05T08:20:30"),
        ("2024-03-05T10:20:30+0200", "2024-03-05T08:20:30"),
        ("2024-03-05T10:20:30+02", "2024-03-05T08:20:30"),
        ("2024-03-05 10:20:30 UTC", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30,5Z", "2024-03-05T10:20:30"),
        ("2024-03-05T23:59:60Z", "2024-03-05T23:59:59"),
        ("2024-3-5", "2024-03-05T00:00:00"),
        ("2024/03/05", "2024-03-05T00:00:00"),
        ("2024.03.05 1:02", "2024-03-05T01:02:00"),
        ("05.03.2024", "2024-03-05T00:00:00"),
        ("20240305", "2024-03-05T00:00:00"),
        ("20240305T102030Z", "2024-03-05T10:20:30"),
        ("1709634030", "2024-03-05T10:20:30"),
        ("1709634030123", "2024-03-05T10:20:30"),
        # RFC 822 and what comes near it
        ("Tue, 05 Mar 2024 10:20:30 GMT", "2024-03-05T10:20:30"),
        ("Tue, 5 Mar 2024 10:20:30 +0200", "2024-03-05T08:20:30"),
        ("05 Mar 24 10:20 EST", "2024-03-05T15:20:00"),
        ("Tue Mar  5 10:20:30 2024", "2024-03-05T10:20:30"),
        ("Xyz, 05 Mar 2024 10:20:30 GMT", "2024-03-05T10:20:30"),
    ],
)
def test_a_date_is_read(text: str, right: str) -> None:
    assert moment(text, NOW) == datetime.fromisoformat(f"{right}+00:00").timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "yesterday",
        "2024-13-01",
        "2024-02-30",
        "2024-00-00",
        "0000-00-00 00:00:00",
        "0000-00-00T00:00:00+00:00",
        "-0001-11-30T00:00:00+00:00",
        "0001-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "1899-12-30",
        "2026-12-03",
        "9999-12-31",
        "2024-03-05T25:00:00Z",
        "{{ page.updated }}",
        "2024-03-05" * 20,
        "\N{FULLWIDTH DIGIT TWO}024-03-05",
        "Tue, 99 Mar 2024 10:20:30 GMT",
    ],
)
def test_nonsense_and_what_cannot_be_true_is_dropped(text: str) -> None:
    assert moment(text, NOW) is None


def test_a_clock_a_little_ahead_is_believed() -> None:
    assert moment("2026-12-02", NOW) is not None


@given(st.text(max_size=80) | st.from_regex(r"[0-9TZ:+\-. /]{0,40}", fullmatch=True))
def test_any_text_is_a_plausible_time_or_none(text: str) -> None:
    found = moment(text, NOW)
    assert found is None or EARLIEST <= found <= NOW + AHEAD
