"""F4: a dead letter holds what came, within Kafka's limit."""

from hypothesis import given
from hypothesis import strategies as st

from services.common import codec, topics
from services.common.dead_letters import KEY_LIMIT, letter
from services.common.errors import DeadLetter
from services.common.kafka import Incoming

LIMIT = 100_000


def incoming(key: bytes | None, value: bytes | None) -> Incoming:
    return Incoming(topic=topics.SEEDS, partition=3, offset=7, key=key, value=value, timestamp=0.0)


@given(
    key=st.none() | st.binary(max_size=50) | st.just(b"\xff" * 1_000_000),
    value=st.none() | st.binary(max_size=50) | st.just(b"\x00" * 1_000_000),
    detail=st.text(max_size=50) | st.just("\x00" * 100_000),
)
def test_it_fits_whatever_came_and_says_how_large_it_was(
    key: bytes | None, value: bytes | None, detail: str
) -> None:
    dead = letter(
        incoming(key, value), DeadLetter("schema", detail), service="s", now=1.0, limit=LIMIT
    )
    assert len(codec.encode(topics.DEAD_LETTERS, dead)) <= LIMIT
    assert dead.value_size == len(value or b"")
    assert (dead.topic, dead.partition, dead.offset) == ("seeds", 3, 7)
    assert dead.key == (None if key is None else key[:KEY_LIMIT])
    if value is None or len(value) <= 50:
        assert dead.value == value
