"""The local engines, really started: they work, keep their data, and leave nothing behind (F8)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from cassandra.cluster import Cluster  # type: ignore[import-untyped]  # it ships no types
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from services.common.errors import Stop
from services.common.settings import Cassandra, Kafka, Settings
from services.local.engines import Endpoints, engines

RUN = Path(__file__).with_name("run_engines.py")
TOPIC = "kept"
PATIENCE = 60.0


@pytest.fixture
def own(engine_settings: Settings, tmp_path: Path) -> Settings:
    """Settings of engines that the test starts and stops itself, whatever addresses are given."""
    local = engine_settings.local.model_copy(update={"data_dir": tmp_path, "engine": "java"})
    return engine_settings.model_copy(
        update={"kafka": Kafka(), "cassandra": Cassandra(), "local": local}
    )


def produce(address: str, value: bytes) -> None:
    topic = NewTopic(TOPIC, num_partitions=1, replication_factor=1)
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([topic])[TOPIC].result()
    producer = Producer({"bootstrap.servers": address})
    producer.produce(TOPIC, value)
    assert producer.flush(PATIENCE) == 0


def consume(address: str) -> bytes | None:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"readers-{os.urandom(4).hex()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    try:
        message = consumer.poll(PATIENCE)
    finally:
        consumer.close()
    assert message is not None
    assert message.error() is None
    return message.value()


@contextmanager
def session(address: str) -> Iterator[Any]:  # the driver is untyped
    host, port = address.split(":")
    with Cluster([host], port=int(port)) as cluster, cluster.connect() as open_session:
        yield open_session


def write_row(address: str, word: str) -> None:
    with session(address) as cql:
        cql.execute(
            "CREATE KEYSPACE kept WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}",
            timeout=PATIENCE,
        )
        cql.execute("CREATE TABLE kept.words (word text PRIMARY KEY)", timeout=PATIENCE)
        cql.execute("INSERT INTO kept.words (word) VALUES (%s)", [word])


def rows(address: str) -> list[str]:
    with session(address) as cql:
        return [row.word for row in cql.execute("SELECT word FROM kept.words")]


def contents(endpoints: Endpoints) -> tuple[bytes | None, list[str]]:
    return consume(endpoints.kafka), rows(endpoints.cassandra)


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


@contextmanager
def run(own: Settings) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A run in a process of its own, and its progress lines up to the first engine's start."""
    command = [sys.executable, str(RUN), str(own.local.data_dir), str(own.local.jars_dir)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")
    }
    environment["PYTHONPATH"] = str(RUN.parents[2])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            yield process, lines_until(process, "starting")
        finally:
            process.kill()


def lines_until(process: subprocess.Popen[str], start: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(start):
            return lines
    raise AssertionError("".join(lines))


def test_data_survives_a_stop_a_crash_and_new_ports(own: Settings) -> None:
    with engines(own, print) as first:
        assert first.how == "java"
        assert first.kafka_node is not None
        assert first.cassandra_node is not None
        produce(first.kafka, b"hello")
        write_row(first.cassandra, "hello")
        assert contents(first) == (b"hello", ["hello"])
        first.kafka_node.kill()
        first.cassandra_node.kill()
        first.kafka_node.start()
        first.cassandra_node.start()
        assert contents(first) == (b"hello", ["hello"])
        started = descendants(os.getpid())
        assert len([process for process in started if process.name() == "java"]) >= 2
    assert [process for process in started if str(own.local.data_dir) in commands(process)] == []
    with engines(own, print) as second:
        assert contents(second) == (b"hello", ["hello"])


def commands(process: psutil.Process) -> str:
    """The command line of a process; empty when it is gone."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def test_a_second_run_is_refused_and_a_killed_run_leaves_nothing(own: Settings) -> None:
    with run(own) as (process, _):
        lines_until(process, "UP")
        refusal = f"in use by another recrawl .process {process.pid}."
        with pytest.raises(Stop, match=refusal), engines(own, print):
            pass
        started = descendants(process.pid)
        process.kill()
        process.wait()
        assert len(started) == 4  # two engines, each with its keeper
        _, alive = psutil.wait_procs(started, timeout=PATIENCE)
        assert alive == []


def test_ctrl_c_while_the_engines_start_stops_them(own: Settings) -> None:
    with run(own) as (process, _):
        while len(started := descendants(process.pid)) < 2:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        _, alive = psutil.wait_procs(started, timeout=PATIENCE)
        assert alive == []
