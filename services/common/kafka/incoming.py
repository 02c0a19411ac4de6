"""A record on its way into a service."""

from dataclasses import dataclass

from services.common.topics import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One record as taken from a topic; a value that came in parts is whole again."""

    topic: Topic
    partition: int
    offset: int
    """Of the first part, if it came in parts."""
    key: bytes | None
    value: bytes | None
    timestamp: float
    since: float = float("-inf")
    """When its partition became ours, by the monotonic clock; another had it before, perhaps."""
    inherited: bool = False
    """Whether another consumer, which gave its partition up in order, may have had it in hand."""
