"""Bodies: unpacked within their size, cut into chunks that may mix."""

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from services.common.errors import DeadLetter
from services.parser.bodies import CHUNK, chunks, digest, joined, unpack


def packed(data: bytes, level: int = 3) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(data)


@given(st.binary(max_size=2000))
def test_a_body_comes_back_as_it_was(data: bytes) -> None:
    assert unpack(packed(data), len(data)) == data
    assert joined(chunks(data, packed(data))) == data


def test_a_fetch_without_a_body_has_none() -> None:
    assert unpack(b"", 0) == b""


def test_a_small_body_is_stored_as_it_came() -> None:
    """C7."""
    assert chunks(b"x" * 100, b"frame") == [b"frame"]
    assert chunks(b"", b"") == []


def test_chunks_of_two_writers_can_be_mixed() -> None:
    """E6: the same digest may be written at the same time by two who compress differently."""
    data = b"".join(b"%d," % n for n in range(400_000))
    one = chunks(data, packed(data, 1))
    two = [packed(data[start : start + CHUNK], 19) for start in range(0, len(data), CHUNK)]
    assert len(one) == len(two) == 3
    assert joined([one[0], two[1], one[2]]) == data


@pytest.mark.parametrize("size", [9, 11, 1 << 40])
def test_a_body_of_another_size_than_said_is_refused(size: int) -> None:
    with pytest.raises(DeadLetter, match="malformed"):
        unpack(packed(b"0123456789"), size)


@given(st.binary(min_size=1, max_size=100))
def test_what_is_no_zstd_is_refused(data: bytes) -> None:
    with pytest.raises(DeadLetter):
        unpack(data, 10)


def test_a_bomb_is_not_unpacked_beyond_its_said_size() -> None:
    with pytest.raises(DeadLetter):
        unpack(packed(b"\0" * 300_000_000), 1000)


def test_frames_one_after_another_are_one_body() -> None:
    assert unpack(packed(b"one") + packed(b"two"), 6) == b"onetwo"


def test_a_digest_has_sixteen_octets() -> None:
    assert len(digest(b"")) == 16
