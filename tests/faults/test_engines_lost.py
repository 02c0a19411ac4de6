"""Kafka and Cassandra go away in the middle of a crawl and come back: nothing is lost (G2)."""

from collections.abc import Callable, Sequence
from typing import Any

from services.local.engines import Endpoints
from services.local.supervisor import Pipeline


def test_a_crawl_survives_a_restart_of_cassandra(
    breakable: Endpoints, crawl_with: Callable[[Endpoints, Sequence[tuple[int, Any]]], None]
) -> None:
    """F3: pages wait until they can be stored."""

    def restart(_: Pipeline) -> None:
        assert breakable.cassandra_node is not None
        breakable.cassandra_node.stop()
        breakable.cassandra_node.start()

    crawl_with(breakable, [(10, restart)])


def test_a_crawl_survives_a_crash_of_kafka(
    breakable: Endpoints, crawl_with: Callable[[Endpoints, Sequence[tuple[int, Any]]], None]
) -> None:
    """F1: all four services find it again."""

    def crash(_: Pipeline) -> None:
        assert breakable.kafka_node is not None
        breakable.kafka_node.kill()
        breakable.kafka_node.start()

    crawl_with(breakable, [(10, crash)])
