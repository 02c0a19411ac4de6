"""Kafka and Cassandra for the tests, real ones, started once per test session.

Addresses in the environment are used if they are set; else Testcontainers if Docker answers and
has the images; else local Java processes. With none of these the tests fail and say what to
install.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from cassandra.cluster import Cluster  # type: ignore[import-untyped]  # it ships no types
from confluent_kafka.admin import AdminClient
from testcontainers.compose import DockerCompose

from services.common.settings import Cassandra, Kafka, Local, Scheduler, Settings
from services.local.choice import given
from services.local.docker import Container, Project, docker_problem
from services.local.engines import Endpoints
from services.local.engines import engines as local_engines
from services.local.files import compose_file
from services.local.nodes import await_ready
from services.local.ports import choose_ports

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def engine_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings under which engines of the tests' own start: fresh data, free ports, kept jars."""
    return Settings(
        local=Settings().local.model_copy(
            update={
                "data_dir": tmp_path_factory.mktemp("engines"),
                "jars_dir": CHECKOUT / ".recrawl" / "jars",
                "kafka_port": 0,
                "cassandra_port": 0,
            }
        )
    )


@pytest.fixture(scope="session")
def engines(engine_settings: Settings) -> Iterator[Endpoints]:
    """Kafka and Cassandra, for all tests of the session."""
    local = engine_settings.local
    containers = (
        not given(engine_settings)
        and local.engine != "java"
        and not docker_problem(["kafka", "cassandra"])
    )
    with in_containers(local) if containers else local_engines(engine_settings, print) as endpoints:
        yield endpoints


@contextmanager
def own_settings(engines: Endpoints, data_dir: Path) -> Iterator[Settings]:
    """Settings of a crawl of its own on these engines; its topics and tables go at the end."""
    name = f"t{uuid4().hex[:12]}"
    own = Settings(
        kafka=Kafka(bootstrap=engines.kafka, prefix=f"{name}-", partitions=2),
        cassandra=Cassandra(contact_points=engines.cassandra, keyspace=name),
        scheduler=Scheduler(data_dir=data_dir / "scheduler", min_gap=0, tick=0.1),
        local=Local(data_dir=data_dir / "local"),
    )
    yield own
    forget(own)


@pytest.fixture(scope="session")
def outsider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with docs/examples/recrawl-file installed in it, as an outsider's package."""
    base = tmp_path_factory.mktemp("outsider")
    shutil.copytree(CHECKOUT / "docs" / "examples" / "recrawl-file", base / "source")
    uv = Path(sys.executable).with_name("uv")
    options = ["--quiet", "--offline", "--no-config", "--no-deps", "--python", sys.executable]
    where = ["--target", str(base / "installed"), str(base / "source")]
    subprocess.run([str(uv), "pip", "install", *options, *where], check=True)
    return base / "installed"


@pytest.fixture(scope="session")
def fresh() -> Callable[[Endpoints, Path], AbstractContextManager[Settings]]:
    """Makes `own_settings`, for fixtures that live longer than a test."""
    return own_settings


@pytest.fixture
def settings(engines: Endpoints, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a crawl of its own on the shared engines, for one test."""
    with own_settings(engines, tmp_path) as own:
        yield own


def forget(own: Settings) -> None:
    """Drop the topics and the keyspace of a test, so that the engines do not fill up."""
    admin = AdminClient({"bootstrap.servers": own.kafka.bootstrap})
    topics = [name for name in admin.list_topics().topics if name.startswith(own.kafka.prefix)]
    if topics:
        for deleted in admin.delete_topics(topics).values():
            deleted.result()
    host, port = own.cassandra.contact_points.split(",")[0].rsplit(":", 1)
    with Cluster([host], port=int(port)) as cluster, cluster.connect() as session:
        if own.cassandra.keyspace in cluster.metadata.keyspaces:
            session.execute(f"DROP KEYSPACE {own.cassandra.keyspace}", timeout=60)


class _ContainerNode:
    """One container that can be stopped, killed and started again; fits `nodes.Restartable`."""

    def __init__(self, compose: DockerCompose, container: Container, patience: float) -> None:
        self._compose = compose
        self._container = container
        self._patience = patience
        self.title = container.title
        self.address = container.address

    def ready(self) -> bool:
        return self._container.answers()

    def too_late(self) -> Exception:
        return AssertionError(f"{self.title} does not answer")

    def start(self) -> None:
        self._run("start")
        await_ready([self], patience=self._patience)

    def stop(self) -> None:
        self._run("stop")

    def kill(self) -> None:
        self._run("kill")

    def _run(self, verb: str) -> None:
        command = [*self._compose.compose_command_property, verb, self._container.name]
        subprocess.run(command, cwd=self._compose.context, check=True, capture_output=True)


@contextmanager
def in_containers(local: Local) -> Iterator[Endpoints]:
    """Both engines by Testcontainers, from the Compose file that `recrawl up` uses too."""
    kafka_port, cassandra_port = choose_ports([0, 0])
    project = Project.of(local.data_dir, kafka_port=kafka_port, cassandra_port=cassandra_port)
    variables = {**project.environment, "ENGINES_PROJECT": project.name}
    environment = local.data_dir / "engines.env"
    environment.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    file = compose_file()
    with DockerCompose(file.parent, file.name, wait=False, env_file=str(environment)) as compose:
        kafka, cassandra = (
            _ContainerNode(compose, container, local.start_timeout)
            for container in (project.kafka(local.data_dir), project.cassandra(local.data_dir))
        )
        await_ready([kafka, cassandra], patience=local.start_timeout)
        yield Endpoints(kafka.address, cassandra.address, "testcontainers", kafka, cassandra)
