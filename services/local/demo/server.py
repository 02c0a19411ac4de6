"""Runs the demo web in a child process, and stops it for certain."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec

import services
from services.common.errors import Stop
from services.local.demo.site import DemoWeb

_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Running:
    """A demo web that answers."""

    web: DemoWeb
    """As served: the port is the real one. Truth must be taken from this."""
    process: "subprocess.Popen[bytes]"
    log_path: Path | None

    @property
    def port(self) -> int:
        """The port that all hosts listen on."""
        return self.web.port

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where a crawl starts."""
        return self.web.seeds

    @property
    def base_urls(self) -> list[str]:
        """Each host's home page."""
        return [self.web.home(host) for host in range(self.web.hosts)]

    @property
    def networks(self) -> list[str]:
        """The networks (CIDR) to open the private-address guard for."""
        return sorted(
            {f"{self.web.address(host).rpartition('.')[0]}.0/24" for host in range(self.web.hosts)}
        )


@contextmanager
def serve(web: DemoWeb, log: Path | None = None) -> Iterator[Running]:
    """A running demo web, in a session of its own so that Ctrl-C does not stop it before us.

    The child ends when this context does, or when this process is gone, however it went.

    Raises:
        Stop: it could not be started; with what it said.
    """
    root = str(Path(services.__file__).parents[1])
    command = [sys.executable, "-m", "services.local.demo", "--child", _to_json(web)]
    if log is not None:
        command += ["--log", str(log)]
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    # A file, for a pipe that nobody reads would fill up and stop the child.
    with TemporaryFile() as complaints:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        try:
            yield Running(_wait_until_ready(child, complaints), child, log)
        finally:
            _stop(child)


def _to_json(web: DemoWeb) -> str:
    return msgspec.json.encode(web).decode()


def _wait_until_ready(child: "subprocess.Popen[bytes]", complaints: IO[bytes]) -> DemoWeb:
    assert child.stdout is not None  # noqa: S101 - we asked for a pipe
    line = child.stdout.readline()
    if not line:
        complaints.seek(0)
        said = complaints.read().decode(errors="replace")
        raise Stop(f"the demo web did not start:\n{said}")
    return msgspec.json.decode(line, type=DemoWeb)


def _stop(child: "subprocess.Popen[bytes]") -> None:
    assert child.stdin is not None  # noqa: S101 - we asked for a pipe
    child.stdin.close()
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    assert child.stdout is not None  # noqa: S101 - same
    child.stdout.close()
