"""Case HTTP-01: redirect targets in raw octets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.location import resolve


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        (b"/\xc3\xa9-page", "http://h.test/%C3%A9-page"),
        (b"/caf\xe9", "http://h.test/caf%E9"),
        (b"//\xc3\xa9x.test/p", "http://xn--x-9fa.test/p"),
        (b"//\xc3\xa9x.test/caf\xe9", "http://xn--x-9fa.test/caf%E9"),
        (b"https://H2.test/a?b=\xff#frag", "https://h2.test/a?b=%FF"),
        (b"\\\\other.test\\p", "http://other.test/p"),
        (b" next ", "http://h.test/a/next"),
        (b"?q=1", "http://h.test/a/b?q=1"),
        (b"//\xe9.test/", None),
        (b"mailto:x@y.test", None),
        (b"javascript:alert(1)", None),
        (b"http://", None),
        (b"", None),
        (b"  ", None),
    ],
)
def test_octets_resolve_without_a_guess_at_their_charset(
    octets: bytes, expected: str | None
) -> None:
    assert resolve(octets, "http://h.test/a/b") == expected


@given(st.binary(max_size=80))
def test_any_octets_give_an_absolute_url_or_none(octets: bytes) -> None:
    target = resolve(octets, "http://h.test/a/b")
    assert target is None or (target.isascii() and target.startswith(("http://", "https://")))
