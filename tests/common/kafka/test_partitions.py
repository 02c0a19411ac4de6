"""The partition of a key is the one that producers choose."""

from aiokafka.partitioner import murmur2  # type: ignore[import-untyped]  # it ships no types
from hypothesis import given
from hypothesis import strategies as st

from services.common.kafka.partitions import partition_of


def test_it_is_the_same_for_ever() -> None:
    """A host whose partition changed would be at two fetchers; values of Java's client."""
    count = 1 << 31
    found = [partition_of(key, count) for key in ("21", "foobar", "a-little-bit-long-string")]
    known = [-973932308, -790332482, -985981536]
    assert found == [value & 0x7FFF_FFFF for value in known]


@given(key=st.text(), count=st.integers(1, 200))
def test_it_is_the_one_that_faust_chooses(key: str, count: int) -> None:
    assert partition_of(key, count) == (murmur2(key.encode()) & 0x7FFF_FFFF) % count
