"""Kafka and Cassandra for one run: taken as given, or started here and stopped at its end.

Decides nothing about the crawl, and never leaves a process behind.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from shutil import which

from services.common.settings import Local, Settings
from services.local.cassandra_node import LocalCassandra
from services.local.choice import choose, given
from services.local.docker import Project, docker_problem
from services.local.java import NEWEST, OLDEST, Java, Virtual, find_java
from services.local.kafka_node import LocalKafka
from services.local.lock import only_run
from services.local.maven import fetch_jars, jars_of, missing
from services.local.nodes import Engine, Node, PortTaken, Restartable, await_ready, stop_all
from services.local.ports import choose_ports

_TRIES = 3
"""Starts with new ports before a port that is always taken is an error."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class Endpoints:
    """Where the engines are."""

    kafka: str
    """Bootstrap servers, `host:port`."""
    cassandra: str
    """Contact points, `host:port`."""
    how: str
    """`given`, `java` or `docker`: where those not given run."""
    kafka_node: Restartable | None = None
    """To stop, kill and start Kafka again; None if its address was given."""
    cassandra_node: Restartable | None = None
    """To stop, kill and start Cassandra again; None if its address was given."""


@contextmanager
def engines(settings: Settings, report: Report) -> Iterator[Endpoints]:
    """Kafka and Cassandra, ready to be used, for the length of the block.

    Addresses that the user set are taken as they are; the rest is started in
    `settings.local.data_dir`, where data stays for the next run, and stopped at the end,
    whatever ends the block, a Ctrl-C during the start included. `report` gets progress lines.

    Raises:
        Stop: an engine cannot be started; the message says what to do about it.
    """
    addresses = given(settings)
    wanted = [engine for engine in ("kafka", "cassandra") if engine not in addresses]
    if not wanted:
        yield Endpoints(addresses["kafka"], addresses["cassandra"], "given")
        return
    run = _Run(settings.local, wanted, report)
    with only_run(run.data_dir) as lock, run.started(lock) as nodes:
        addresses.update({name: node.address for name, node in nodes.items()})
        yield Endpoints(
            addresses["kafka"],
            addresses["cassandra"],
            run.way,
            kafka_node=nodes.get("kafka"),
            cassandra_node=nodes.get("cassandra"),
        )


class _Run:
    """What one call of `engines` starts, and how."""

    def __init__(self, local: Local, wanted: Sequence[str], report: Report) -> None:
        self._local = local
        self._wanted = list(wanted)
        self._report = report
        self.data_dir = local.data_dir.absolute()
        self._logs = self.data_dir / "logs"
        self._jars = (local.jars_dir or self.data_dir / "jars").absolute()
        self._java: Java | None = None  # found only if Java is the way
        self.way = choose(
            local.engine,
            {"docker": lambda: docker_problem(self._wanted), "java": self._java_problem},
        )

    @contextmanager
    def started(self, lock: int) -> Iterator[dict[str, Node]]:
        """The nodes by engine, running; stopped at the end."""
        if self.way == "java":
            fetch_jars(self._wanted, self._jars, logs=self._logs, report=self._report)
        nodes: dict[str, Node] = {}
        try:
            self._start(nodes, lock)
            yield nodes
        finally:
            stop_all(list(nodes.values()))

    def _start(self, nodes: dict[str, Node], lock: int) -> None:
        """Start all at once; those in `nodes` are the caller's to stop, whatever happens."""
        begun = time.monotonic()
        self._report("starting " + " and ".join(name.capitalize() for name in self._wanted))
        for attempt in range(_TRIES):
            patience = self._local.start_timeout
            for engine in self._engines(usual_ports=attempt == 0):
                node = Node(engine, logs=self._logs, lock=lock, patience=patience)
                nodes[engine.name] = node
                node.launch()
            try:
                await_ready(list(nodes.values()), patience=patience)
                break
            except PortTaken:
                if attempt == _TRIES - 1:
                    raise
                stop_all(list(nodes.values()))
        where = ", ".join(f"{node.title} at {node.address}" for node in nodes.values())
        self._report(f"ready after {time.monotonic() - begun:.1f} s: {where}")

    def _engines(self, *, usual_ports: bool) -> list[Engine]:
        """Cassandra first: it takes longer, and Kafka's storage is formatted meanwhile."""
        usual = [self._local.cassandra_port, self._local.kafka_port] if usual_ports else [0, 0]
        cql, kafka, storage, controller = choose_ports([*usual, 0, 0])
        found: list[Engine]
        if self._java is None:
            project = Project.of(self.data_dir, kafka_port=kafka, cassandra_port=cql)
            found = [project.cassandra(self.data_dir), project.kafka(self.data_dir)]
        else:
            found = [
                LocalCassandra(
                    self._virtual(self._java, "cassandra"),
                    self.data_dir / "cassandra",
                    port=cql,
                    storage_port=storage,
                    exact_sizes=not self._local.fast_start,
                ),
                LocalKafka(
                    self._virtual(self._java, "kafka"),
                    self.data_dir / "kafka",
                    port=kafka,
                    controller_port=controller,
                ),
            ]
        return [engine for engine in found if engine.name in self._wanted]

    def _virtual(self, java: Java, engine: str) -> Virtual:
        return Virtual(java, jars_of(engine, self._jars), fast=self._local.fast_start)

    def _java_problem(self) -> str:
        """Why Java cannot run the engines; empty if it can."""
        self._java = find_java()
        if self._java is None:
            return f"no Java {OLDEST} to {NEWEST} at JAVA_HOME or on PATH"
        if missing(self._wanted, self._jars) and which("mvn") is None:
            return "there is no `mvn` command, and the engines' jars are not here yet"
        return ""
