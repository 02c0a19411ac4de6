"""Records to octets and back; the only place that knows the wire formats."""

from typing import Any

import msgspec

from services.common.errors import DeadLetter
from services.common.records import Record
from services.common.topics import ALL, Topic

_ENCODERS: dict[str, msgspec.json.Encoder | msgspec.msgpack.Encoder] = {
    "json": msgspec.json.Encoder(),
    "msgpack": msgspec.msgpack.Encoder(),
}
_DECODERS: dict[str, Any] = {
    topic.name: (
        msgspec.json.Decoder(topic.record)
        if topic.codec == "json"
        else msgspec.msgpack.Decoder(topic.record)
    )
    for topic in ALL
}


def encode(topic: Topic, record: Record) -> bytes:
    """The record's value as it goes on the wire."""
    return _ENCODERS[topic.codec].encode(record)


def decode(topic: Topic, value: bytes) -> Any:  # noqa: ANN401 - the topic decides the type
    """The record of `topic` that `value` holds.

    Raises:
        DeadLetter: `malformed` if it is not JSON or MessagePack at all, `schema` if it is but
            does not fit the record (a wrong type, a missing field, an unknown version).
    """
    try:
        return _DECODERS[topic.name].decode(value)
    except msgspec.ValidationError as error:
        raise DeadLetter("schema", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeadLetter("malformed", str(error)) from error
