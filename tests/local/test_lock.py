import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.common.errors import Stop
from services.local.lock import alone, only_run


def test_a_second_run_on_the_same_directory_is_refused_with_the_first_ones_process(
    tmp_path: Path,
) -> None:
    refusal = f"in use by another recrawl .process {os.getpid()}."
    with only_run(tmp_path), pytest.raises(Stop, match=refusal), only_run(tmp_path):
        pass


def test_the_directory_is_free_again_after_a_run(tmp_path: Path) -> None:
    for _ in range(2):
        with only_run(tmp_path / "new"):
            pass


def test_a_run_waits_for_the_engines_of_a_run_that_was_killed(tmp_path: Path) -> None:
    with only_run(tmp_path) as lock:
        keeper = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(0.5)"], pass_fds=(lock,)
        )
    (tmp_path / "lock").write_text(str(gone()))
    with only_run(tmp_path):
        assert keeper.wait(0) == 0


def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_stale_lock_file_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(str(gone()))
    with only_run(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_work_under_a_lock_happens_one_after_the_other(tmp_path: Path) -> None:
    with alone(tmp_path / "new" / "lock"):
        pass
    with alone(tmp_path / "new" / "lock"):
        pass
