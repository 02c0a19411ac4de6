"""Child processes that cannot be left behind, and the logs they write.

Decides nothing about what runs in them.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_KEEPER = Path(__file__).parent / "keeper.py"
_TAIL = 15


class Child:
    """A command under a keeper (keeper.py), in a session of its own, its output in a file.

    Ctrl-C in the terminal does not reach it; it ends when told, or when this process ends,
    however that comes about.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        cwd: Path,
        grace: float,
        environment: Mapping[str, str] | None = None,
        lock: int | None = None,
    ) -> None:
        self._grace = grace
        keep_previous(log)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_KEEPER), str(grace), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                pass_fds=() if lock is None else (lock,),
            )

    @property
    def pid(self) -> int:
        """Process id of the keeper, which leads the process group."""
        return self._process.pid

    def poll(self) -> int | None:
        """The return code, or None while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait for its own end; the return code."""
        code = self._process.wait()
        self._say(b"")
        return code

    def ask_to_stop(self) -> None:
        """Begin a stop: SIGTERM, and SIGKILL after the grace; returns at once."""
        self._say(b"")

    def stop(self) -> int:
        """Stop it and wait until it is gone; the return code (137 if it had to be killed)."""
        self.ask_to_stop()
        return self._gone(self._grace + 5)

    def kill(self) -> int:
        """SIGKILL it and wait until it is gone; the return code."""
        if not self._say(b"k"):
            self._kill_group()
        return self._gone(5)

    def _say(self, word: bytes) -> bool:
        """Tell the keeper, once; whether it was still open for a word."""
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return False
        with contextlib.suppress(BrokenPipeError):  # it is gone already
            pipe.write(word)
            pipe.flush()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
        return True

    def _gone(self, patience: float) -> int:
        try:
            return self._process.wait(patience)
        except BaseException:
            # No time left, or a second Ctrl-C: the whole group goes now.
            self._kill_group()
            self._process.wait()
            raise

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def keep_previous(log: Path) -> None:
    """Make way for a new log; the one before it stays as `NAME.1`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))


def read_log(log: Path) -> str:
    """The text of a log; empty if there is none."""
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def last_lines(log: Path) -> str:
    """The end of a log, indented; long lines cut."""
    lines = [line[:300] for line in read_log(log).splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-_TAIL:]) or "  (nothing was logged)"
