"""Cassandra as a local Java process: one node."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from services.local.cql_probe import cluster_name
from services.local.files import engine_files, render
from services.local.java import Virtual

_HEAP = ["-Xms128m", "-Xmx1g"]
_JAVA_BASE = (
    *("java.io", "java.lang", "java.lang.module", "java.lang.ref", "java.lang.reflect"),
    *("java.math", "java.net", "java.nio", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "java.util.regex", "jdk.internal.loader"),
    *("jdk.internal.math", "jdk.internal.misc", "jdk.internal.module", "jdk.internal.perf"),
    *("jdk.internal.ref", "jdk.internal.reflect", "jdk.internal.util.jar", "sun.nio.ch"),
)
_OPENED = (
    *(f"java.base/{package}" for package in _JAVA_BASE),
    "java.logging/java.util.logging",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/com.sun.jmx.remote.security",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.management/com.sun.management.internal",
    "jdk.management.jfr/jdk.management.jfr",
    "jdk.naming.dns/com.sun.jndi.dns",
)
_ALONE = (
    # A node without neighbours has nobody to wait for when it comes or goes.
    "-Dcassandra.ring_delay_ms=1",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.shutdown_announce_in_ms=0",
    # Estimates the memory of a row from 100 rows, not 100,000: a second less at each start.
    "-Dcassandra.memtable_row_overhead_computation_step=100",
)


class LocalCassandra:
    """Cassandra under `home`: configuration, data and identity; fits `nodes.Engine`."""

    title = "Cassandra 5.0.6"
    name = "cassandra"
    environment: Mapping[str, str] = {}

    def __init__(
        self, virtual: Virtual, home: Path, *, port: int, storage_port: int, exact_sizes: bool
    ) -> None:
        self._virtual = virtual
        self.cwd = home
        self._port = port
        self._storage_port = storage_port
        self._exact_sizes = exact_sizes
        self.address = f"127.0.0.1:{port}"

    @property
    def grace(self) -> float:
        """Draining takes some seconds; writing class data takes longer."""
        return 40 if self._virtual.records else 15

    def prepare(self) -> None:
        """Write the configuration with this run's ports."""
        self.cwd.mkdir(parents=True, exist_ok=True)
        render(
            engine_files() / "cassandra" / "cassandra.yaml",
            self.cwd / "cassandra.yaml",
            cluster=self._cluster(),
            port=self._port,
            storage_port=self._storage_port,
            # Inside double quotes YAML reads a backslash and a quote specially.
            data=str(self.cwd).replace("\\", "\\\\").replace('"', '\\"'),
        )
        shutil.copy(engine_files() / "cassandra" / "logback.xml", self.cwd)

    def command(self) -> list[str]:
        """The daemon's command line."""
        opened = [
            f"--add-{how}={package}=ALL-UNNAMED"
            for package in _OPENED
            for how in ("opens", "exports")
        ]
        flags = [
            *_HEAP,
            *opened,
            *self._agent(),
            *_ALONE,
            "-Djava.security.manager=allow",
            "-Djdk.attach.allowAttachSelf=true",
            "-Dcassandra-foreground=yes",
            f"-Dcassandra.config={(self.cwd / 'cassandra.yaml').as_uri()}",
            f"-Dcassandra.storagedir={self.cwd}",
            f"-Dlogback.configurationFile={(self.cwd / 'logback.xml').as_uri()}",
        ]
        return self._virtual.command(flags, ["org.apache.cassandra.service.CassandraDaemon"])

    def answers(self) -> bool:
        """Whether a CQL query at this address is answered by our own cluster."""
        return cluster_name(self.address) == self._cluster()

    def before_kill(self) -> None:
        """Nothing: all of it is the child."""

    def stopped(self, *, clean: bool) -> None:
        """Keep the class data."""
        self._virtual.stopped(clean=clean)

    def _agent(self) -> list[str]:
        """The agent that measures objects exactly; without it Cassandra estimates.

        It comes with an official installation, and stands in the way of class data.
        """
        if not self._exact_sizes:
            return []
        return [f"-javaagent:{jar}" for jar in self._virtual.jars.glob("jamm-*.jar")]

    def _cluster(self) -> str:
        """This node's cluster name: random, written once, since Cassandra refuses another."""
        file = self.cwd / "cluster-name"
        if not file.exists():
            file.write_text(f"recrawl-{token_hex(4)}", encoding="utf-8")
        return file.read_text(encoding="utf-8")
