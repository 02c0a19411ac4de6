"""Runs one command and never outlives it, nor lets it outlive the process that asked for it.

A program of its own (`python -I -S keeper.py GRACE COMMAND...`, standard library only). Standard
input is a pipe from the parent: its end, which the kernel brings about even if the parent is
killed, means stop (SIGTERM, after GRACE seconds SIGKILL); an octet means kill. A death signal
tied to the parent alone would not do: on Linux it comes when the parent's *thread* ends.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1


def _die_with_keeper() -> None:
    """In the child: be killed if the keeper itself is (Linux only)."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(child: subprocess.Popen[bytes], grace: float) -> None:
    child.terminate()
    timer = threading.Timer(grace, child.kill)
    timer.daemon = True
    timer.start()


def _obey(child: subprocess.Popen[bytes], grace: float) -> None:
    if os.read(0, 1):
        child.kill()
    else:
        _stop(child, grace)


def main(grace: float, command: list[str]) -> int:
    """Run `command` to its end; its return code."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with_keeper,  # noqa: PLW1509 - this process has no other thread yet
    )
    signal.signal(signal.SIGTERM, lambda *_: _stop(child, grace))
    threading.Thread(target=_obey, args=(child, grace), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
