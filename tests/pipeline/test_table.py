"""A compacted topic as a table, on a real Kafka."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from services.common import codec, metrics
from services.common.errors import Retry
from services.common.kafka import Table, check_topics, create_topics, options
from services.common.records import HostUpdated
from services.common.settings import Settings
from services.common.topics import HOST_UPDATED

PATIENCE = 60.0


@pytest.fixture
def kafka(settings: Settings) -> Settings:
    """The test's settings, with the topic made."""
    create_topics(settings, (HOST_UPDATED,))
    return settings


def told(settings: Settings, *facts: tuple[str | bytes, str | bytes | None]) -> None:
    """Where hosts moved; None is a record without a value, octets are one that is no record."""
    producer = confluent_kafka.Producer(options.client(settings.kafka, options.PRODUCER))
    name = options.physical(settings.kafka, HOST_UPDATED)
    for host, place in facts:
        value = place
        if isinstance(place, str):
            record = HostUpdated(host=str(host), at=0.0, mapped_to=place)
            value = codec.encode(HOST_UPDATED, record)
        producer.produce(name, value, key=host)
    assert producer.flush(PATIENCE) == 0


def mapped_to(record: HostUpdated) -> str | None:
    return record.mapped_to or None


@contextmanager
def table(settings: Settings, most: int = 100) -> Iterator[Table[str]]:
    made = Table(settings.kafka, HOST_UPDATED, mapped_to, most)
    made.open()
    try:
        made.await_complete(PATIENCE)
        yield made
    finally:
        made.close()


def left_out(reason: str) -> float:
    counter = metrics.table_left_out.labels(HOST_UPDATED.name, reason)
    samples = (sample for metric in counter.collect() for sample in metric.samples)
    return sum(float(sample.value) for sample in samples if sample.name.endswith("_total"))


def test_a_table_holds_the_newest_of_each_key_from_all_partitions(kafka: Settings) -> None:
    hosts = [f"h{number}.test" for number in range(50)]
    told(kafka, *((host, "old.test") for host in hosts))
    told(kafka, *((host, f"new-{host}") for host in hosts), ("h7.test", None), ("h8.test", ""))
    with table(kafka) as found:
        assert found.problems() == []
        assert len(found) == 48
        kept = {host: found.get(host) for host in hosts}
    gone = {"h7.test", "h8.test"}
    assert kept == {host: None if host in gone else f"new-{host}" for host in hosts}


def test_an_empty_topic_makes_an_empty_table_that_is_followed(
    kafka: Settings, eventually: Callable[..., None]
) -> None:
    with table(kafka) as found:
        assert len(found) == 0
        told(kafka, ("a.test", "b.test"))
        eventually(lambda: found.get("a.test") == "b.test", "the record arrives")
        told(kafka, ("a.test", None))
        eventually(lambda: found.get("a.test") is None, "its end arrives")


def test_each_reader_has_all_of_it(kafka: Settings) -> None:
    """No group: two readers do not share the partitions."""
    told(kafka, *((f"h{number}.test", "b.test") for number in range(20)))
    with table(kafka) as first, table(kafka) as second:
        assert len(first) == len(second) == 20


def test_what_is_too_much_or_no_record_is_left_out_and_counted(kafka: Settings) -> None:
    before = {reason: left_out(reason) for reason in ("full", "malformed", "schema", "encoding")}
    hosts = [f"h{number}.test" for number in range(10)]
    told(kafka, *((host, "b.test") for host in hosts))
    told(kafka, ("bad.test", b"{broken"), ("bad.test", b"[]"), (b"\xff", "b.test"))
    with table(kafka, most=4) as found:
        assert len(found) == 4
    counted = {reason: left_out(reason) - count for reason, count in before.items()}
    assert counted == {"full": 6, "malformed": 1, "schema": 1, "encoding": 1}


def test_a_full_table_still_learns_of_the_keys_it_has(
    kafka: Settings, eventually: Callable[..., None]
) -> None:
    told(kafka, ("a.test", "b.test"))
    with table(kafka, most=1) as found:
        told(kafka, ("a.test", "c.test"))
        eventually(lambda: found.get("a.test") == "c.test", "the change arrives")


def test_a_table_without_its_topic_says_what_to_do(settings: Settings) -> None:
    made = Table(settings.kafka, HOST_UPDATED, mapped_to, 1)
    with pytest.raises(Retry, match="run `recrawl topics`"):
        made.open()
    assert made.problems() == ["reading host-updated"]
    made.close()


def test_the_topic_is_made_to_remember_and_one_that_forgets_is_named(settings: Settings) -> None:
    """`recrawl topics` creates it compacted, and checks one that somebody else made."""
    name = options.physical(settings.kafka, HOST_UPDATED)
    admin = AdminClient(options.client(settings.kafka))
    admin.create_topics([NewTopic(name, 1, 1)])[name].result()
    (fault,) = check_topics(settings, (HOST_UPDATED,))
    assert f"{name} has cleanup.policy=delete" in fault
    admin.delete_topics([name])[name].result()
    assert create_topics(settings, (HOST_UPDATED,)) == [name]
    assert check_topics(settings, (HOST_UPDATED,)) == []
