"""Children are told, waited for, and never left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from services.local.processes import Child, last_lines

PATIENCE = 20.0
IGNORES_TERM = "trap '' TERM; echo up; while :; do sleep 0.1; done"


def child(tmp_path: Path, script: str, grace: float = PATIENCE) -> Child:
    return Child(["sh", "-c", script], log=tmp_path / "log", cwd=tmp_path, grace=grace)


def test_a_child_ends_with_its_own_return_code(tmp_path: Path) -> None:
    assert child(tmp_path, "exit 7").wait() == 7


def test_a_stopped_child_reports_the_signal_it_ended_by(tmp_path: Path) -> None:
    assert child(tmp_path, "exec sleep 1000").stop() == 128 + signal.SIGTERM
    assert child(tmp_path, "exec sleep 1000").kill() == 128 + signal.SIGKILL


def test_a_child_can_be_killed_while_it_is_stopping(tmp_path: Path) -> None:
    stubborn = child(tmp_path, IGNORES_TERM)
    stubborn.ask_to_stop()
    assert stubborn.kill() == -signal.SIGKILL


def test_a_child_is_in_a_session_of_its_own(tmp_path: Path) -> None:
    sleeping = child(tmp_path, "exec sleep 1000")
    try:
        assert os.getsid(sleeping.pid) == sleeping.pid != os.getsid(0)
    finally:
        sleeping.kill()


PARENT = """
import os, signal, sys
from pathlib import Path
from services.local.processes import Child
home = Path(sys.argv[1])
script = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
child = Child(["sh", "-c", script], log=home / "log", cwd=home, grace=0.2)
while not (home / "log").read_text().strip():
    pass
print(child.pid, (home / "log").read_text().strip(), flush=True)
signal.pause()
"""


@pytest.mark.parametrize("victim", ["parent", "keeper"])
def test_nothing_is_left_when_parent_or_keeper_is_killed(tmp_path: Path, victim: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as parent:
        try:
            assert parent.stdout is not None
            keeper, command = map(psutil.Process, map(int, parent.stdout.readline().split()))
            (psutil.Process(parent.pid) if victim == "parent" else keeper).kill()
            _, alive = psutil.wait_procs([command], timeout=PATIENCE)
            assert alive == []
        finally:
            parent.kill()


def test_the_end_of_a_log_is_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_lines(log) == "  (nothing was logged)"
    log.write_text("".join(f"line {number} {'x' * 1000}\n\n" for number in range(100)))
    lines = last_lines(log).splitlines()
    assert len(lines) == 15
    assert lines[-1].startswith("  line 99 xxx")
    assert max(map(len, lines)) == 302
