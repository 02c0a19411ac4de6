"""How long an answer may be kept, as a hint for when to come back."""

import pytest

from services.parser.caching import fresh_for

AT = 1_700_000_000.0
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"
LATER = "Tue, 14 Nov 2023 23:13:20 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], None),
        ([("cache-control", "public, max-age=600")], 600),
        ([("cache-control", 'Max-Age="60"')], 60),
        ([("cache-control", "public"), ("cache-control", "max-age=5")], 5),
        ([("cache-control", "s-maxage=600")], None),
        ([("cache-control", "max-age=600"), ("age", "200")], 400),
        ([("cache-control", "max-age=600"), ("age", "9000")], 0),
        ([("cache-control", "no-cache, max-age=600")], None),
        ([("cache-control", "no-store"), ("expires", LATER)], None),
        ([("cache-control", "max-age=0"), ("expires", LATER)], 0),
        ([("expires", LATER)], 3600),
        ([("expires", LATER), ("date", "Tue, 14 Nov 2023 23:00:00 GMT")], 800),
        ([("expires", "0")], None),
        ([("expires", DATE), ("date", LATER)], 0),
    ],
)
def test_the_headers_say_how_long(headers: list[tuple[str, str]], seconds: float | None) -> None:
    assert fresh_for(headers, AT) == seconds
