"""What librdkafka tells about its connections every few seconds."""

from dataclasses import dataclass, field

import msgspec


class _Partition(msgspec.Struct):
    consumer_lag: int = -1


class _Topic(msgspec.Struct):
    partitions: dict[str, _Partition] = {}


class _Broker(msgspec.Struct):
    state: str = ""


class _Statistics(msgspec.Struct):
    brokers: dict[str, _Broker] = {}
    topics: dict[str, _Topic] = {}


@dataclass(frozen=True, slots=True)
class Connections:
    """The part of the statistics that we use."""

    connected: bool
    """Some broker is connected."""
    lag: dict[str, int] = field(default_factory=dict)
    """Physical topic name -> records of our partitions that are not committed yet."""


_decoder = msgspec.json.Decoder(_Statistics)


def read(text: str) -> Connections:
    """The statistics of one client; `text` as its callback gets it."""
    statistics = _decoder.decode(text)
    return Connections(
        connected=any(broker.state == "UP" for broker in statistics.brokers.values()),
        lag={
            name: sum(max(partition.consumer_lag, 0) for partition in topic.partitions.values())
            for name, topic in statistics.topics.items()
        },
    )
