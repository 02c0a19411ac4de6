"""A demo web and a pipeline that may crawl it, both for one module of tests.

A module says what it crawls and how by its own `world` and `tuning`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from cassandra.cluster import Cluster  # type: ignore[import-untyped]  # it ships no types

from services.common import codec, quiet, records, topics
from services.common.kafka import options
from services.common.settings import Settings
from services.common.topics import Topic
from services.common.urls import parse
from services.local.crawl import crawl as follow
from services.local.demo import DemoWeb, Running, serve
from services.local.engines import Endpoints
from services.local.live import Progress
from services.local.supervisor import Pipeline, pipeline

PATIENCE = 60.0
GROUPS = ("scheduler", "fetcher", "parser")


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """The web that the module's tests crawl."""
    return DemoWeb(hosts=8, pages=100, slow=0.1, trap=False)


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    """Settings by group, over those that suit the demo web."""
    return {}


@pytest.fixture(scope="module")
def web(world: DemoWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The demo web, served, with its access log."""
    with serve(world, tmp_path_factory.mktemp("web") / "access.log") as running:
        yield running


@pytest.fixture(scope="module")
def place(
    engines: Endpoints,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    web: Running,
    tuning: dict[str, dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Settings]:
    """Settings of the module's own crawl: it may reach the demo web, and waits little."""
    usual: dict[str, dict[str, Any]] = {
        "scheduler": {
            "min_gap": 0.05,
            "retry_base": 0.5,
            "max_attempts": 3,
            "bucket_width": 0.5,
            # Each URL is to come to its own outcome, also on hosts that never answer.
            "quarantine_after": 0,
        },
        "fetcher": {"allow_private": web.networks, "contact": web.seeds[0], "robots_retry": 0.2},
        "parser": {},
    }
    with fresh(engines, tmp_path_factory.mktemp("crawl")) as own:
        update = {
            name: getattr(own, name).model_copy(update=usual[name] | tuning.get(name, {}))
            for name in GROUPS
        }
        yield own.model_copy(update=update)


@pytest.fixture(scope="module")
def services(place: Settings) -> Iterator[Pipeline]:
    """The four services at work."""
    with pipeline(place, print) as running:
        yield running


@pytest.fixture(scope="module")
def crawl(place: Settings, services: Pipeline) -> Callable[..., Progress]:
    """Crawls from some URLs until nothing is left to do; fields of `Seed` by name."""

    def run(*urls: str, **fields: Any) -> Progress:  # noqa: ANN401 - any field of the record
        return follow(
            place.kafka,
            [records.Seed(url=url, **fields) for url in urls],
            ports=services.ports.values(),
            show=lambda _: None,
            check=services.check,
            pending=quiet.RETRYING,
        )

    return run


@pytest.fixture(scope="module")
def seed(place: Settings, services: Pipeline) -> Callable[..., None]:
    """Gives the pipeline some URLs and does not wait; fields of `Seed` by name."""
    assert services.problems() == []

    def send(*urls: str, **fields: Any) -> None:  # noqa: ANN401 - any field of the record
        producer = confluent_kafka.Producer(options.client(place.kafka))
        for url in urls:
            value = codec.encode(topics.SEEDS, records.Seed(url=url, **fields))
            producer.produce(options.physical(place.kafka, topics.SEEDS), value)
        assert producer.flush(PATIENCE) == 0

    return send


@pytest.fixture(scope="module")
def select(place: Settings) -> Iterator[Callable[..., list[Any]]]:
    """Runs a CQL query on the crawl's keyspace."""
    host, port = place.cassandra.contact_points.split(":")
    with Cluster([host], port=int(port)) as cluster, cluster.connect() as session:

        def run(query: str) -> list[Any]:
            session.set_keyspace(place.cassandra.keyspace)
            return list(session.execute(query, timeout=PATIENCE))

        yield run


@pytest.fixture(scope="module")
def fetches(select: Callable[..., list[Any]]) -> Callable[[str], dict[str, list[Any]]]:
    """The rows of a job's fetches by the URL's identity, oldest first."""

    def read(job: str) -> dict[str, list[Any]]:
        found = defaultdict(list)
        for row in select(
            "SELECT url, job, outcome, reason, changed, fetched_at, started_at, elapsed FROM pages"
        ):
            if row.job == job:
                found[parse(row.url).identity].append(row)
        return {url: sorted(rows, key=lambda row: row.fetched_at) for url, rows in found.items()}

    return read


@pytest.fixture(scope="session")
def read_topic() -> Callable[[Settings, Topic], list[Any]]:
    """Reads every record that a topic holds now."""
    return _read_topic


def _read_topic(settings: Settings, topic: Topic) -> list[Any]:
    consumer = confluent_kafka.Consumer(
        options.client(settings.kafka, {"group.id": "reader", "enable.auto.commit": False})
    )
    name = options.physical(settings.kafka, topic)
    found = []
    for number in range(len(consumer.list_topics(name).topics[name].partitions)):
        start = confluent_kafka.TopicPartition(name, number, 0)
        _, end = consumer.get_watermark_offsets(start)
        consumer.assign([start])
        position = 0
        while position < end:
            message = consumer.poll(PATIENCE)
            assert message is not None
            value, offset = message.value(), message.offset()
            assert offset is not None
            if value is not None:
                found.append(codec.decode(topic, value))
            position = offset + 1
    consumer.close()
    return found


@pytest.fixture(scope="session")
def eventually() -> Callable[..., None]:
    """Waits until a condition holds, with a deadline."""

    def wait(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, f"not within {patience} s: {what}"
            time.sleep(0.1)

    return wait
