"""Creates topics and checks them. Partition counts are the broker's to tell, never assumed."""

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs miss some names
    AdminClient,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from services.common.errors import Retry, Stop
from services.common.kafka import options
from services.common.settings import Kafka, Settings
from services.common.topics import ALL, Topic

TIMEOUT = 15.0

_PASSING = frozenset(
    {
        *("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_WAIT_COORD", "_RESOLVE"),
        *("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"),
        *("UNKNOWN_LEADER_EPOCH", "FENCED_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE"),
        *("LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "UNKNOWN_TOPIC_OR_PART"),
        *("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "BROKER_NOT_AVAILABLE", "NOT_CONTROLLER"),
    }
)
"""Errors that go by themselves, most of them within seconds of a broker's start."""

_FORBIDDEN = frozenset(
    {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
)
"""Not to be told how a topic is configured is no fault of the topic."""
POLICY = "cleanup.policy"
COMPACT = {POLICY: "compact"}
"""Of topics that keep the newest record of each key."""
OVERHEAD = 100_000
"""Octets a batch may have above its one largest record: key, headers, framing."""


def partition_counts(settings: Kafka, client: AdminClient | None = None) -> dict[str, int]:
    """Physical name -> partitions of every topic that the cluster has.

    Raises:
        Retry: no broker answers.
        Stop: the cluster refuses us, or the options are wrong.
    """
    try:
        metadata = (client or connect(settings)).list_topics(timeout=TIMEOUT)
    except KafkaException as error:
        raise mapped(settings, error.args[0]) from error
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def create_topics(settings: Settings, topics: tuple[Topic, ...] = ALL) -> list[str]:
    """Create the topics that are missing; existing ones stay as they are.

    Returns:
        The physical names of those created.

    Raises:
        Retry: no broker answers.
        Stop: the cluster refuses.
    """
    kafka = settings.kafka
    client = connect(kafka)
    counts = plan(partition_counts(kafka, client), kafka, topics)
    if not counts:
        return []
    wanted = [
        NewTopic(
            options.physical(kafka, topic),
            num_partitions=count,
            replication_factor=kafka.replication,
            config={
                **(COMPACT if topic.compact else {"retention.ms": str(topic.retention * 1000)}),
                "max.message.bytes": str((topic.max_record or kafka.max_record) + OVERHEAD),
            },
        )
        for topic, count in counts.items()
    ]
    return _create(client, kafka, wanted)


def create_changelogs(settings: Kafka, names: list[str], partitions: int) -> None:
    """Create the topics that keep the newest record of each key, and wait until they are there.

    Raises:
        Retry: no broker answers, or the topics are not there in time.
        Stop: the cluster refuses.
    """
    client = connect(settings)
    existing = partition_counts(settings, client)
    wanted = [
        NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=settings.replication,
            config=COMPACT,
        )
        for name in names
        if name not in existing
    ]
    _create(client, settings, wanted)
    deadline = time.monotonic() + TIMEOUT
    while any(existing.get(name, 0) == 0 for name in names):
        if time.monotonic() > deadline:
            raise Retry(f"topics {', '.join(names)} were not made within {TIMEOUT:.0f} s")
        existing = partition_counts(settings, client)


def _create(client: AdminClient, settings: Kafka, wanted: list[NewTopic]) -> list[str]:
    """Those of `wanted` that nobody else had made meanwhile."""
    created = []
    answers = client.create_topics(wanted, operation_timeout=TIMEOUT) if wanted else {}
    for name, answer in answers.items():
        try:
            answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise mapped(settings, error.args[0]) from error
        else:
            created.append(name)
    return created


def check_topics(settings: Settings, topics: tuple[Topic, ...] = ALL) -> list[str]:
    """What is wrong with the topics, one line each; empty when all is well.

    Raises:
        Retry: no broker answers.
        Stop: the cluster refuses.
    """
    kafka = settings.kafka
    client = connect(kafka)
    counts = partition_counts(kafka, client)
    names = [options.physical(kafka, topic) for topic in topics if topic.compact]
    policies = _policies(client, kafka, [name for name in names if name in counts])
    return faults(counts, kafka, topics, policies)


def _policies(client: AdminClient, settings: Kafka, names: list[str]) -> dict[str, str]:
    """Physical name -> clean-up policy, where we may know it."""
    found = {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    answers = client.describe_configs(resources, request_timeout=TIMEOUT) if resources else {}
    for resource, answer in answers.items():
        try:
            entry = answer.result().get(POLICY)
        except KafkaException as error:
            if error.args[0].code() not in _FORBIDDEN:
                raise mapped(settings, error.args[0]) from error
        else:
            if entry is not None and entry.value is not None:
                found[str(resource.name)] = str(entry.value)
    return found


def plan(
    existing: dict[str, int], settings: Kafka, topics: tuple[Topic, ...] = ALL
) -> dict[Topic, int]:
    """Partitions of each topic to create.

    Those that meet in the scheduler's tables get the count of the ones that are there already,
    since a keyed topic cannot be resized.
    """
    met = [
        existing[name]
        for topic in ALL
        if topic.shared_table and (name := options.physical(settings, topic)) in existing
    ]
    shared = met[0] if met else settings.partitions
    return {
        topic: shared if topic.shared_table else (topic.partitions or settings.partitions)
        for topic in topics
        if options.physical(settings, topic) not in existing
    }


def faults(
    existing: dict[str, int],
    settings: Kafka,
    topics: tuple[Topic, ...] = ALL,
    policies: Mapping[str, str] | None = None,
) -> list[str]:
    """What is wrong with the topics that the cluster has; `policies` where they are known."""
    names = {topic: options.physical(settings, topic) for topic in topics}
    missing = [
        f"topic {name} is missing: run `recrawl topics`"
        for name in names.values()
        if name not in existing
    ]
    shared = {
        name: existing[name]
        for topic, name in names.items()
        if topic.shared_table and name in existing
    }
    if len(set(shared.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in shared.items())
        missing.append(f"these topics must have equal partition counts: {counts}")
    compacted = {name for topic, name in names.items() if topic.compact}
    return missing + [
        f"topic {name} has {POLICY}={policy} and would forget: set it to `compact`"
        for name, policy in (policies or {}).items()
        if name in compacted and policy != "compact"
    ]


def connect(settings: Kafka) -> AdminClient:
    """A client for reading and making topics; it connects when it is used.

    Raises:
        Stop: the options are wrong.
    """
    with options.checked():
        return AdminClient(options.client(settings))


def mapped(settings: Kafka, error: KafkaError) -> Retry | Stop:
    """A broker's error as what the caller does about it."""
    message = f"Kafka at {settings.bootstrap}: {error.str()}"
    return Retry(message) if error.retriable() or error.name() in _PASSING else Stop(message)
