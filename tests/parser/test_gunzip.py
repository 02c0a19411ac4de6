"""gzip files as servers send them."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from services.parser.gunzip import gunzip

DATA = b"<urlset>" * 1000


def test_a_file_packed_once_or_twice_or_not_is_unpacked() -> None:
    """SF-05."""
    for body in (DATA, gzip.compress(DATA), gzip.compress(gzip.compress(DATA))):
        assert gunzip(body, 1 << 20) == (DATA, False)


def test_three_layers_are_one_too_many() -> None:
    once = gzip.compress(DATA)
    assert gunzip(gzip.compress(gzip.compress(once)), 1 << 20) == (once, False)


def test_members_one_after_another_are_one_file() -> None:
    assert gunzip(gzip.compress(DATA) + gzip.compress(DATA), 1 << 20) == (DATA * 2, False)


def test_what_was_appended_does_not_count() -> None:
    """SF-05: a cache's comment behind a packed file."""
    for dirt in (b"<!-- cached -->", bytes(64)):
        assert gunzip(gzip.compress(DATA) + dirt, 1 << 20) == (DATA, False)


def test_a_file_cut_or_broken_counts_as_far_as_it_goes() -> None:
    packed = gzip.compress(bytes(range(256)) * 400)
    cut, more = gunzip(packed[:-100], 1 << 20)
    assert not more
    assert (bytes(range(256)) * 400).startswith(cut)
    broken, _ = gunzip(gzip.compress(DATA)[:-8] + b"\xff" * 8, 1 << 20)
    assert broken == DATA


def test_a_bomb_stops_at_the_limit() -> None:
    """SF-05."""
    bomb = gzip.compress(gzip.compress(bytes(50 << 20)))
    data, more = gunzip(bomb, 1 << 20)
    assert (len(data), more) == (1 << 20, True)
    assert gunzip(DATA, 10) == (DATA[:10], True)


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 100))
def test_any_octets_give_bounded_octets(data: bytes, head: bool, limit: int) -> None:
    body = b"\x1f\x8b\x08" + data if head else data
    assert len(gunzip(body, limit)[0]) <= limit
