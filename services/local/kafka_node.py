"""Kafka as a local Java process: one KRaft node that is broker and controller."""

import logging
import shutil
import socket
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from services.common.errors import Stop
from services.local.files import engine_files, render
from services.local.java import Virtual

_HEAP = "-Xmx512m"
_NOBODY = "recrawl-local-start"
"""A consumer group that nobody joins."""


class LocalKafka:
    """Kafka under `home`: configuration, data and identity; fits `nodes.Engine`."""

    title = "Kafka 4.1.1"
    name = "kafka"
    environment: Mapping[str, str] = {}

    def __init__(self, virtual: Virtual, home: Path, *, port: int, controller_port: int) -> None:
        self._virtual = virtual
        self.cwd = home
        self._port = port
        self._controller_port = controller_port
        self.address = f"127.0.0.1:{port}"

    @property
    def grace(self) -> float:
        """It stops within a second; only writing class data takes longer."""
        return 30 if self._virtual.records else 8

    def prepare(self) -> None:
        """Write the configuration with this run's ports; format the storage the first time."""
        self.cwd.mkdir(parents=True, exist_ok=True)
        shutil.copy(engine_files() / "kafka" / "log4j2.properties", self.cwd)
        self._configure("server.properties", "data")
        if not (self.cwd / "data").exists():
            self._format()

    def command(self) -> list[str]:
        """The broker's command line."""
        return self._java([_HEAP], "kafka.Kafka", "server.properties")

    def answers(self) -> bool:
        """Whether our own cluster answers at this address, ready for consumer groups."""
        return kafka_answers(self.address, self._cluster())

    def before_kill(self) -> None:
        """Nothing: all of it is the child."""

    def stopped(self, *, clean: bool) -> None:
        """Keep the class data."""
        self._virtual.stopped(clean=clean)

    def _java(self, flags: list[str], *main: str) -> list[str]:
        logging_file = self.cwd / "log4j2.properties"
        return self._virtual.command(
            [*flags, f"-Dlog4j2.configurationFile={logging_file.as_uri()}"], list(main)
        )

    def _configure(self, name: str, data: str) -> None:
        render(
            engine_files() / "kafka" / "server.properties",
            self.cwd / name,
            port=self._port,
            controller_port=self._controller_port,
            data=data,
        )

    def _format(self) -> None:
        """Format beside the final place, then rename: a torso is never taken for storage."""
        part = self.cwd / "data.part"
        shutil.rmtree(part, ignore_errors=True)
        self._configure("format.properties", part.name)
        cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        done = subprocess.run(
            self._formatter(cluster), cwd=self.cwd, check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Stop(f"Kafka's storage could not be formatted:\n{done.stdout}{done.stderr}")
        part.rename(self.cwd / "data")

    def _formatter(self, cluster: str) -> list[str]:
        # An option that starts with a dash would be read as a flag: the id is joined by "=".
        return self._java(
            ["-Xmx128m"],
            *("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}"),
            *("--config", "format.properties"),
        )

    def _cluster(self) -> str:
        lines = (self.cwd / "data" / "meta.properties").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)["cluster.id"]


def kafka_answers(address: str, cluster: str) -> bool:
    """Whether Kafka at `address` is `cluster`, with a broker, and ready for consumer groups.

    The first question about a group makes Kafka create the topic of the offsets. Asked here,
    it is there before the first consumer, which would otherwise wait 3 s for its next try.
    """
    host, port = address.rsplit(":", 1)
    try:
        # librdkafka waits before it tries again; a plain connection says at once.
        socket.create_connection((host, int(port)), timeout=1).close()
        admin = _admin(address)
        metadata = admin.list_topics(timeout=2)
        admin.describe_consumer_groups([_NOBODY], request_timeout=2)[_NOBODY].result()
    except (OSError, KafkaException):
        return False
    return bool(metadata.brokers) and metadata.cluster_id == cluster


def _admin(address: str) -> AdminClient:
    silent = logging.getLogger("recrawl.local.kafka")
    silent.propagate = False
    if not silent.handlers:
        silent.addHandler(logging.NullHandler())
    return AdminClient({"bootstrap.servers": address, "log_level": 0}, logger=silent)
