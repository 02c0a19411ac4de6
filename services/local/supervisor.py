"""The four services as child processes of this one: started, watched, restarted, stopped.

Decides nothing about the crawl. Every child ends when this process ends, however it ends.
"""

import os
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

from services.common import migrations
from services.common.errors import Retry, Stop
from services.common.kafka import check_topics, create_topics
from services.common.settings import Settings
from services.local import restarts
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.processes import Child, last_lines

ORDER = ("frontier", "fetcher", "parser", "scheduler")
"""In which the services are stopped: what brings work in first."""
READY_WITHIN = 120.0
_DRAIN = 5.0
_ROOT = str(Path(__file__).parents[2])

Report = Callable[[str], None]


@dataclass(slots=True)
class _Service:
    name: str
    port: int
    log: Path
    child: Child | None = None
    deaths: list[float] = field(default_factory=list)
    start_at: float | None = None
    """When a dead one is started again; None while it lives or is meant to be dead."""


class Pipeline:
    """The running services. Made by `pipeline`."""

    def __init__(self, settings: Settings, report: Report) -> None:
        drain = min(settings.runtime.drain, _DRAIN)
        runtime = settings.runtime.model_copy(update={"drain": drain})
        self.settings = settings.model_copy(update={"runtime": runtime})
        self._report = report
        self._grace = drain + 12
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._failed: Stop | None = None
        logs = settings.local.data_dir.absolute() / "logs"
        self._services = {
            name: _Service(name, port, logs / f"{name}.log")
            for name, port in zip(ORDER, choose_ports([0] * len(ORDER)), strict=True)
        }
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    @property
    def ports(self) -> dict[str, int]:
        """Service -> port of its health server on loopback."""
        return {service.name: service.port for service in self._services.values()}

    @property
    def logs(self) -> dict[str, Path]:
        """Service -> its log file."""
        return {service.name: service.log for service in self._services.values()}

    @property
    def pids(self) -> dict[str, int]:
        """Service -> process id of its keeper, whose descendants are the service."""
        with self._lock:
            return {
                service.name: service.child.pid
                for service in self._services.values()
                if service.child is not None
            }

    @property
    def deaths(self) -> Mapping[str, int]:
        """Service -> how often it ended without being asked to, `kill` included."""
        return {service.name: len(service.deaths) for service in self._services.values()}

    def start(self, name: str) -> None:
        """Start a service that is not running; returns at once."""
        with self._lock:
            service = self._services[name]
            service.start_at = None
            service.child = Child(
                [sys.executable, "-m", "services", "run", name],
                log=service.log,
                cwd=Path.cwd(),
                grace=self._grace,
                environment={
                    **environment(self.settings),
                    "RECRAWL_HEALTH__HOST": "127.0.0.1",
                    "RECRAWL_HEALTH__PORT": str(service.port),
                    "PYTHONPATH": _import_path(),
                },
            )

    def stop(self, name: str) -> int:
        """Stop a service in order and leave it stopped; its exit status."""
        child = self._let_go(name)
        return 0 if child is None else child.stop()

    def kill(self, name: str, *, restart: bool = True) -> None:
        """SIGKILL a service, as a crash would; it is started again unless told otherwise."""
        with self._lock:
            service = self._services[name]
            if service.child is not None:
                service.child.kill()
            if not restart:
                service.child = None
                service.start_at = None

    def restart(self, name: str) -> None:
        """Stop a service in order and start it again; returns when it was started."""
        self.stop(name)
        self.start(name)

    def check(self) -> None:
        """Raises Stop if a service was given up; with the end of its log."""
        if self._failed is not None:
            raise self._failed

    def problems(self) -> list[str]:
        """Why the pipeline is not ready, one line each; empty when it is."""
        return [
            f"{service.name}: {line}"
            for service in self._services.values()
            for line in readiness(service.port)
        ]

    def await_ready(self, patience: float = READY_WITHIN) -> None:
        """Wait until every service is ready.

        Raises:
            Stop: one was given up, or is not ready in time.
        """
        deadline = time.monotonic() + patience
        while problems := self.problems():
            self.check()
            if time.monotonic() > deadline:
                name = problems[0].partition(":")[0]
                log = self._services[name].log
                raise Stop(
                    f"not ready within {patience:.0f} s:\n  "
                    + "\n  ".join(problems)
                    + f"\nthe end of {log}:\n{last_lines(log)}"
                )
            time.sleep(0.1)

    def begin(self) -> None:
        """Start all services and watch them."""
        for name in self._services:
            self.start(name)
        self._watcher.start()

    def end(self) -> None:
        """Stop all services, in order, all at work on it at the same time."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        children = [child for name in self._services if (child := self._let_go(name))]
        try:
            for child in children:
                child.ask_to_stop()
            for child in children:
                child.stop()
        except BaseException:  # a second Ctrl-C: no more waiting
            for child in children:
                child.kill()
            raise

    def _let_go(self, name: str) -> Child | None:
        with self._lock:
            service = self._services[name]
            child, service.child, service.start_at = service.child, None, None
            return child

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            now = time.monotonic()
            with self._lock:
                for service in self._services.values():
                    self._look_after(service, now)

    def _look_after(self, service: _Service, now: float) -> None:
        if service.start_at is not None:
            if now >= service.start_at:
                self.start(service.name)
        elif service.child is not None and service.child.poll() is not None:
            code = service.child.stop()  # closes its pipe
            service.child = None
            service.deaths.append(now)
            pause = restarts.wait(service.deaths, now)
            if pause is None:
                self._failed = Stop(
                    f"{service.name} keeps dying (exit status {code}); the end of"
                    f" {service.log}:\n{last_lines(service.log)}"
                )
            else:
                service.start_at = now + pause
                self._report(f"{service.name} died (exit status {code}), starting it again")


@contextmanager
def pipeline(settings: Settings, report: Report) -> Iterator[Pipeline]:
    """Topics, tables and the four services on engines that answer, ready, for this block.

    Raises:
        Stop: something cannot be started; the message says what.
    """
    prepare(settings, report)
    running = Pipeline(settings, report)
    try:
        running.begin()
        begun = time.monotonic()
        running.await_ready()
        report(f"services ready after {time.monotonic() - begun:.1f} s")
        yield running
    finally:
        running.end()


def prepare(settings: Settings, report: Report) -> None:
    """Make the topics and tables that are missing.

    Raises:
        Stop: an engine refuses or does not answer.
    """
    try:
        created = create_topics(settings)
        problems = check_topics(settings)
        applied = migrations.migrate(settings.cassandra)
    except Retry as error:
        raise Stop(str(error)) from error
    if problems:
        raise Stop("\n".join(problems))
    if created:
        report(f"created {len(created)} topics")
    if applied:
        report(f"made the tables of keyspace {settings.cassandra.keyspace}")


def readiness(port: int) -> list[str]:
    """What `/readyz` on this loopback port says is wrong; empty if all is well."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            return []
    except HTTPError as error:
        with error:
            return error.read().decode(errors="replace").splitlines() or ["not ready"]
    except (OSError, HTTPException):
        return ["does not answer yet"]


def _import_path() -> str:
    """Ours first, then what the user has: a protocol's package may be there."""
    return os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
