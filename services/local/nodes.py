"""Engines as child processes: started, waited for, stopped, killed, started again.

Knows nothing of Kafka, Cassandra or Docker: an `Engine` says how one is prepared, started and
asked whether it answers.
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from services.common.errors import Stop
from services.local.processes import Child, last_lines, read_log

_POLL = 0.05
_CLEAN = (0, 128 + signal.SIGTERM)
_TAKEN = (
    "Address already in use",  # Java
    "is in use by another process",  # Cassandra
    "port is already allocated",  # Docker
)


class PortTaken(Stop):
    """Somebody else took the port between our choice and the engine's bind."""


class Engine(Protocol):
    """One way to run one engine."""

    title: str
    """Name and version, for people."""
    name: str
    """`kafka` or `cassandra`: names the log file."""
    address: str
    """`host:port` for clients."""
    cwd: Path
    """Directory it is started in."""
    environment: Mapping[str, str]
    """Added to ours."""

    @property
    def grace(self) -> float:
        """Seconds from SIGTERM to SIGKILL."""

    def prepare(self) -> None:
        """Write what it needs on disk; called before every start."""

    def command(self) -> list[str]:
        """What to run."""

    def answers(self) -> bool:
        """Whether this very engine answers a request of its own protocol, asked once."""

    def before_kill(self) -> None:
        """Called before the command is killed: kill what is no child of it."""

    def stopped(self, *, clean: bool) -> None:
        """Called when the command has ended; `clean` if it had answered and was not killed."""


class Waited(Protocol):
    """Something whose answer can be waited for."""

    def ready(self) -> bool:
        """Whether it answers, asked once; raises Stop if it never will."""

    def too_late(self) -> Exception:
        """The error when it has not answered in time."""


class Restartable(Protocol):
    """An engine that tests and demos stop and start under a running crawl."""

    title: str
    """Name and version, for people."""
    address: str
    """`host:port` for clients; the same after a restart."""

    def start(self) -> None:
        """Start it and wait until it answers."""

    def stop(self) -> None:
        """Stop it in order and wait until it is gone."""

    def kill(self) -> None:
        """SIGKILL it, as a crash would, and wait until it is gone."""


class Node:
    """An engine as a child process: start, stop, kill, start again at the same address."""

    def __init__(self, engine: Engine, *, logs: Path, lock: int, patience: float) -> None:
        self._engine = engine
        self.title = engine.title
        self.address = engine.address
        self._log = logs / f"{engine.name}.log"
        self._lock = lock
        self._patience = patience
        self._child: Child | None = None
        self._answered = False

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._child is not None and self._child.poll() is None

    def launch(self) -> None:
        """Start the process; returns at once."""
        self._answered = False
        self._engine.prepare()
        self._child = Child(
            self._engine.command(),
            log=self._log,
            cwd=self._engine.cwd,
            grace=self._engine.grace,
            environment=self._engine.environment,
            lock=self._lock,
        )

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            Stop: it died or does not answer in time, and is gone; with the end of its log.
        """
        try:
            self.launch()
            await_ready([self], patience=self._patience)
        except BaseException:
            self.kill()
            raise

    def ready(self) -> bool:
        """Whether it answers, asked once.

        Raises:
            Stop: its process has ended.
        """
        if not self.running:
            kind = PortTaken if says_port_taken(read_log(self._log)) else Stop
            raise kind(self._failure("stopped by itself"))
        self._answered = self._engine.answers()
        return self._answered

    def too_late(self) -> Stop:
        """The error for an engine that lives and does not answer."""
        return Stop(self._failure("does not answer"))

    def stop(self) -> None:
        """Stop it in order and wait until it is gone."""
        self._end(Child.stop)

    def kill(self) -> None:
        """SIGKILL it, as a crash would, and wait until it is gone."""
        self._engine.before_kill()
        self._end(Child.kill)

    def ask_to_stop(self) -> None:
        """Begin to stop; returns at once."""
        if self._child is not None:
            self._child.ask_to_stop()

    def _end(self, how: Callable[[Child], int]) -> None:
        if self._child is not None:
            code = how(self._child)
            self._child = None
            self._engine.stopped(clean=self._answered and code in _CLEAN)

    def _failure(self, what: str) -> str:
        return f"{self._engine.title} {what}; the end of {self._log}:\n{last_lines(self._log)}"


def await_ready(nodes: Sequence[Waited], *, patience: float) -> None:
    """Wait until all answer; `patience` in seconds.

    Raises:
        Stop: one died or does not answer in time.
    """
    deadline = time.monotonic() + patience
    waiting = list(nodes)
    while waiting := [node for node in waiting if not node.ready()]:
        if time.monotonic() > deadline:
            raise waiting[0].too_late()
        time.sleep(_POLL)


def stop_all(nodes: Sequence[Node]) -> None:
    """Stop all at the same time; a second Ctrl-C kills what is left."""
    for node in nodes:
        node.ask_to_stop()
    try:
        for node in nodes:
            node.stop()
    except BaseException:
        for node in nodes:
            node.kill()
        raise


def says_port_taken(text: str) -> bool:
    """Whether an engine's log says that it could not have its port."""
    return any(words in text for words in _TAKEN)
