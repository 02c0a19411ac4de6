"""Which topics are made, and what is wrong with those that are there."""

from services.common import topics
from services.common.kafka.admin import faults, plan
from services.common.settings import Kafka

SETTINGS = Kafka(prefix="p-", partitions=6)


def test_an_empty_cluster_gets_every_topic() -> None:
    planned = plan({}, SETTINGS)
    assert set(planned) == set(topics.ALL)
    assert planned[topics.SEEDS] == 6
    assert planned[topics.COMMAND_RESULTS] == 1


def test_existing_topics_are_left_alone() -> None:
    assert topics.SEEDS not in plan({"p-seeds": 2}, SETTINGS)


def test_topics_of_the_schedulers_tables_follow_those_that_exist() -> None:
    """Frontera's fault: counts matched by hand. Ours are read from the broker."""
    planned = plan({"p-url-admitted": 12}, SETTINGS)
    assert planned[topics.CRAWL_REPORTED] == planned[topics.COMMANDS] == 12
    assert planned[topics.SEEDS] == 6


def test_missing_topics_are_named() -> None:
    assert faults({"p-seeds": 1}, SETTINGS, (topics.SEEDS, topics.COMMANDS)) == [
        "topic p-commands is missing: run `recrawl topics`"
    ]


def test_unequal_counts_of_the_schedulers_topics_are_named() -> None:
    existing = {f"p-{topic.name}": 6 for topic in topics.ALL} | {"p-commands": 4}
    (fault,) = faults(existing, SETTINGS)
    assert "p-commands 4" in fault


def test_equal_counts_are_fine_whatever_the_setting_says() -> None:
    assert faults({f"p-{topic.name}": 3 for topic in topics.ALL}, SETTINGS) == []


def test_a_topic_that_must_remember_and_would_forget_is_named() -> None:
    existing = {f"p-{topic.name}": 6 for topic in topics.ALL}
    assert topics.HOST_UPDATED.compact
    (fault,) = faults(existing, SETTINGS, topics.ALL, {"p-host-updated": "delete"})
    assert "p-host-updated has cleanup.policy=delete" in fault
    assert faults(existing, SETTINGS, topics.ALL, {"p-host-updated": "compact"}) == []
    assert faults(existing, SETTINGS, (topics.SEEDS,), {"p-host-updated": "delete"}) == []
