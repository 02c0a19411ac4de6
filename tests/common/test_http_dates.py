"""Dates of headers: three forms, a missing zone, and whatever else a server may write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.http_dates import seconds


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 09:49:37 +0100",
    ],
)
def test_every_form_of_the_rfc_is_read(text: str) -> None:
    assert seconds(text) == 784_111_777


@pytest.mark.parametrize("text", [None, "", "0", "-1", "tomorrow", "Sun, 99 Nov 1994 08:49:37 GMT"])
def test_what_is_no_date_says_nothing(text: str | None) -> None:
    assert seconds(text) is None


@given(st.text())
def test_nothing_that_a_server_writes_raises(text: str) -> None:
    found = seconds(text)
    assert found is None or isinstance(found, float)
