"""Kafka and Cassandra as containers, from deploy/compose/engines.yaml. Never pulls an image."""

import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from shutil import which

from services.local.cql_probe import cluster_name
from services.local.files import compose_file
from services.local.kafka_node import kafka_answers

IMAGES = {"kafka": "apache/kafka:4.1.1", "cassandra": "cassandra:5.0.6"}
_ASK = 10.0
"""Seconds for Docker to answer a question."""


def docker_problem(engines: list[str]) -> str:
    """Why Docker cannot run `engines` now; empty if it can."""
    if which("docker") is None:
        return "there is no `docker` command"
    if not _docker("version", "--format", "{{.Server.Version}}"):
        return "no Docker engine answers"
    if not _docker("compose", "version"):
        return "Docker's compose plugin is missing"
    absent = [
        IMAGES[engine] for engine in engines if not _docker("image", "inspect", IMAGES[engine])
    ]
    return f"not pulled: {', '.join(absent)}" if absent else ""


def _docker(*arguments: str) -> bool:
    try:
        command = ["docker", *arguments]
        return (
            subprocess.run(command, check=False, capture_output=True, timeout=_ASK).returncode == 0
        )
    except subprocess.TimeoutExpired:
        return False


@dataclass(frozen=True, slots=True)
class Project:
    """The Compose project of one data directory: its names, ports and identities."""

    name: str
    kafka_port: int
    cassandra_port: int

    @classmethod
    def of(cls, data_dir: Path, *, kafka_port: int, cassandra_port: int) -> "Project":
        """The project whose volumes belong to `data_dir`."""
        tag = blake2b(str(data_dir).encode(), digest_size=4).hexdigest()
        return cls(f"recrawl-{tag}", kafka_port, cassandra_port)

    @property
    def kafka_cluster(self) -> str:
        """Kafka's cluster id: derived, so that kept volumes fit."""
        octets = blake2b(self.name.encode(), digest_size=16).digest()
        return urlsafe_b64encode(octets).decode().rstrip("=")

    @property
    def environment(self) -> dict[str, str]:
        """What engines.yaml asks for."""
        return {
            "ENGINES_KAFKA_PORT": str(self.kafka_port),
            "ENGINES_KAFKA_CLUSTER": self.kafka_cluster,
            "ENGINES_CASSANDRA_PORT": str(self.cassandra_port),
            "ENGINES_CASSANDRA_CLUSTER": self.name,
        }

    def compose(self, *arguments: str) -> list[str]:
        """A `docker compose` command for this project."""
        file = str(compose_file())
        return ["docker", "compose", "--project-name", self.name, "--file", file, *arguments]

    def kafka(self, cwd: Path) -> "Container":
        """Its Kafka."""
        address = f"127.0.0.1:{self.kafka_port}"
        cluster = self.kafka_cluster
        return Container(self, "kafka", address, cwd, lambda: kafka_answers(address, cluster))

    def cassandra(self, cwd: Path) -> "Container":
        """Its Cassandra."""
        address = f"127.0.0.1:{self.cassandra_port}"
        return Container(
            self, "cassandra", address, cwd, lambda: cluster_name(address) == self.name
        )


class Container:
    """One service of the project, attached: its `docker compose up` lives as long as it does."""

    grace = 25.0

    def __init__(
        self, project: Project, name: str, address: str, cwd: Path, probe: Callable[[], bool]
    ) -> None:
        self._project = project
        self._probe = probe
        self.name = name
        self.title = f"{IMAGES[name]} in Docker"
        self.address = address
        self.cwd = cwd
        self.environment: Mapping[str, str] = project.environment

    def prepare(self) -> None:
        """Nothing: Compose makes what is missing."""

    def command(self) -> list[str]:
        """Run the service in the foreground."""
        return self._project.compose("up", "--pull", "never", "--no-deps", self.name)

    def answers(self) -> bool:
        """Whether it answers as the cluster it is meant to be."""
        return self._probe()

    def before_kill(self) -> None:
        """Kill the container, which is no child of the command."""
        self._run("kill", self.name)

    def stopped(self, *, clean: bool) -> None:
        """Remove the stopped container; its volume stays."""
        del clean  # the container is gone either way
        self._run("rm", "--force", "--stop", self.name)

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            self._project.compose(*arguments),
            check=False,
            capture_output=True,
            timeout=self.grace,
        )
