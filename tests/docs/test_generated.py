"""What is generated is up to date, and what it says is true."""

import json
from pathlib import Path

import msgspec
import pytest

from services.common import codec
from services.common.topics import ALL, Topic
from services.docs import examples, pages, topics


@pytest.mark.parametrize("path", list(pages.render()), ids=lambda path: str(path.name))
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text() == pages.render()[path], "run `make docs` and commit the result"


@pytest.mark.parametrize("topic", ALL, ids=lambda topic: topic.name)
def test_each_example_survives_the_wire(topic: Topic) -> None:
    record = next(made for made in examples.ALL if type(made) is topic.record)
    assert codec.decode(topic, codec.encode(topic, record)) == record
    if topic.codec == "json":
        assert codec.decode(topic, topics.example(topic).encode()) == record


@pytest.mark.parametrize("topic", ALL, ids=lambda topic: topic.name)
def test_a_field_from_the_future_is_tolerated(topic: Topic) -> None:
    fields = {**json.loads(topics.example(topic)), "added_later": 1}
    record = next(made for made in examples.ALL if type(made) is topic.record)
    if topic.codec == "json":
        assert codec.decode(topic, json.dumps(fields).encode()) == record
    else:
        packed = msgspec.msgpack.encode({**msgspec.structs.asdict(record), "added_later": 1})
        assert codec.decode(topic, packed) == record
