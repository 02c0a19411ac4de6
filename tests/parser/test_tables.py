"""Rows: which partition, which key, how headers are kept."""

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from services.parser.tables import LINK_SHARDS, SHARDS, header_map, links_key, moment, page_key


@given(st.binary(min_size=16, max_size=16))
def test_a_shard_is_one_of_those_of_its_table(fingerprint: bytes) -> None:
    """E6: a host of any size has partitions of a bounded share of its URLs."""
    assert 0 <= page_key("h", fingerprint)[1] < SHARDS
    assert 0 <= links_key("h", fingerprint)[1] < LINK_SHARDS


def test_shards_are_equally_likely() -> None:
    pages, links = Counter[int](), Counter[int]()
    for first in range(1 << 16):
        fingerprint = first.to_bytes(2, "big") + bytes(14)
        pages[page_key("h", fingerprint)[1]] += 1
        links[links_key("h", fingerprint)[1]] += 1
    assert set(pages.values()) == {64}
    assert (len(pages), len(links), set(links.values())) == (SHARDS, LINK_SHARDS, {8})


@given(st.floats(0, 4_000_000_000))
def test_a_time_is_kept_to_the_millisecond_and_always_alike(seconds: float) -> None:
    """Delivery: a repeat of a request overwrites its row."""
    assert moment(seconds).microsecond % 1000 == 0
    assert abs(moment(seconds).timestamp() - seconds) <= 0.0006


def test_a_time_is_utc() -> None:
    assert moment(0.25) == datetime(1970, 1, 1, 0, 0, 0, 250_000, UTC)


def test_headers_of_one_name_are_joined() -> None:
    """RFC 9110 5.3; cookies must not be joined by a comma."""
    headers = [("vary", "a"), ("set-cookie", "x=1"), ("vary", "b"), ("set-cookie", "y=2")]
    assert header_map(headers) == {"vary": "a, b", "set-cookie": "x=1\ny=2"}
