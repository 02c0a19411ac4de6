"""Engines as children, with small shell scripts in their place."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from services.common.errors import Stop
from services.local.lock import only_run
from services.local.nodes import (
    Node,
    PortTaken,
    await_ready,
    says_port_taken,
    stop_all,
)

PATIENCE = 20.0
IGNORES_TERM = "trap '' TERM; echo up; while :; do sleep 0.1; done"


class Shell:
    """An engine that is a shell script; it answers once its log says `up`."""

    title = "Shell 1"
    name = "shell"
    address = "127.0.0.1:1"
    environment: Mapping[str, str] = {}

    def __init__(self, home: Path, script: str, grace: float = PATIENCE) -> None:
        self.cwd = home
        self.grace = grace
        self._script = script
        self.ends: list[bool] = []

    def prepare(self) -> None:
        self.cwd.mkdir(exist_ok=True)

    def command(self) -> list[str]:
        return ["sh", "-c", self._script]

    def answers(self) -> bool:
        return "up" in (self.cwd / "logs" / "shell.log").read_text()

    def before_kill(self) -> None:
        pass

    def stopped(self, *, clean: bool) -> None:
        self.ends.append(clean)


def node(engine: Shell, lock: int, patience: float = PATIENCE) -> Node:
    return Node(engine, logs=engine.cwd / "logs", lock=lock, patience=patience)


def test_an_engine_starts_stops_and_starts_again(tmp_path: Path) -> None:
    engine = Shell(tmp_path, "echo up; exec sleep 1000")
    with only_run(tmp_path) as lock:
        shell = node(engine, lock)
        shell.start()
        shell.stop()
        assert not shell.running
        shell.start()
        shell.kill()
    assert engine.ends == [True, False]
    assert (tmp_path / "logs" / "shell.log.1").read_text() == "up\n"


def test_an_engine_that_ignores_the_polite_signal_is_killed_after_the_grace(
    tmp_path: Path,
) -> None:
    engine = Shell(tmp_path, IGNORES_TERM, grace=0.1)
    with only_run(tmp_path) as lock:
        shell = node(engine, lock)
        shell.start()
        shell.stop()
    assert engine.ends == [False]


def test_an_engine_that_dies_is_an_error_with_the_end_of_its_log(tmp_path: Path) -> None:
    with only_run(tmp_path) as lock:
        shell = node(Shell(tmp_path, "echo no disk; exit 3"), lock)
        with pytest.raises(Stop, match=r"Shell 1 stopped by itself(.|\n)*no disk"):
            shell.start()


def test_an_engine_that_never_answers_is_an_error(tmp_path: Path) -> None:
    with only_run(tmp_path) as lock:
        shell = node(Shell(tmp_path, "exec sleep 1000"), lock, patience=0)
        with pytest.raises(Stop, match="Shell 1 does not answer"):
            shell.start()
        assert not shell.running


def test_a_port_that_was_taken_meanwhile_is_told_apart(tmp_path: Path) -> None:
    script = "echo 'java.net.BindException: Address already in use'; yes | head -50; exit 1"
    with only_run(tmp_path) as lock:
        shell = node(Shell(tmp_path, script), lock)
        with pytest.raises(PortTaken):
            shell.start()


@pytest.mark.parametrize(
    "line",
    [
        "java.net.BindException: Address already in use",
        "ConfigurationException: /127.0.0.1:7000 is in use by another process.  Change",
        "Bind for 127.0.0.1:9092 failed: port is already allocated",
    ],
)
def test_each_engines_words_for_a_taken_port_are_known(line: str) -> None:
    assert says_port_taken(f"starting\n{line}\n")


def test_several_engines_stop_at_the_same_time(tmp_path: Path) -> None:
    with only_run(tmp_path) as lock:
        nodes = [node(Shell(tmp_path / name, "echo up; exec sleep 1000"), lock) for name in "ab"]
        for shell in nodes:
            shell.launch()
        await_ready(nodes, patience=PATIENCE)
        stop_all(nodes)
        assert not any(shell.running for shell in nodes)
