"""One run at a time per data directory. Never waits for a run that lives."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.common.errors import Stop

_PATIENCE = 30.0
"""Seconds for the engines of a run that was killed to stop; their keepers hold the lock."""


@contextmanager
def only_run(data_dir: Path) -> Iterator[int]:
    """Hold `data_dir` for this run; gives the lock's file descriptor.

    A child that inherits the descriptor keeps the lock as long as it lives, so that nobody
    starts a second engine on the data of one that is still stopping.

    Raises:
        Stop: another run uses the directory.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, data_dir)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait for the lock file `path` and hold it: for work that others do as well as we."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _take(descriptor: int, data_dir: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = int(os.pread(descriptor, 20, 0) or b"0")
            if _lives(owner):
                raise Stop(
                    f"{data_dir} is in use by another recrawl (process {owner}): stop that one, "
                    "or give this one its own directory with RECRAWL_LOCAL__DATA_DIR"
                ) from None
            if time.monotonic() > deadline:
                raise Stop(
                    f"{data_dir} is held by engines that do not stop; see {data_dir / 'logs'}"
                ) from None
            time.sleep(0.1)
        else:
            return


def _lives(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
