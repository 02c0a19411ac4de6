"""Brings the engines' jars onto this machine, once, with Maven. Never used when they are there."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from services.common.errors import Stop
from services.local.files import engine_files
from services.local.lock import alone
from services.local.processes import Child, last_lines

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"


def jars_of(engine: str, jars_dir: Path) -> Path:
    """Where the jars of `engine` are or will be; the name changes with its pom."""
    pom = (engine_files() / engine / "pom.xml").read_bytes()
    return jars_dir / f"{engine}-{hashlib.blake2b(pom, digest_size=6).hexdigest()}"


def missing(engines: Sequence[str], jars_dir: Path) -> list[str]:
    """Those of `engines` whose jars are not there yet."""
    return [engine for engine in engines if not jars_of(engine, jars_dir).is_dir()]


def fetch_jars(
    engines: Sequence[str], jars_dir: Path, *, logs: Path, report: Callable[[str], None]
) -> None:
    """Resolve the jars of `engines` side by side and keep them in `jars_dir`.

    Does nothing, and needs no Maven, when they are there. Runs at the same time wait for one
    another, and the later finds the work done.

    Raises:
        Stop: Maven failed; with the last lines of its log.
    """
    if not missing(engines, jars_dir):
        return
    with alone(jars_dir / "lock"):
        wanted = missing(engines, jars_dir)
        if wanted:
            for torso in jars_dir.glob("part-*"):  # of a run that was killed
                shutil.rmtree(torso)
            names = " and ".join(engine.capitalize() for engine in wanted)
            report(f"fetching {names} with Maven (about 60 MB each, only this once)")
            _fetch(wanted, jars_dir, logs / "maven.log")


def _fetch(engines: Sequence[str], jars_dir: Path, log: Path) -> None:
    with TemporaryDirectory(dir=jars_dir, prefix="part-") as part:
        # A copy, because the installed files may be read-only and Maven may write beside a pom.
        project = Path(part, "project")
        shutil.copytree(engine_files(), project)
        child = Child(
            [
                *("mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--threads", "2"),
                *("--projects", ",".join(engines), f"-Drecrawl.jars={part}", _COPY),
            ],
            log=log,
            cwd=project,
            grace=2,
        )
        try:
            code = child.wait()
        finally:
            child.stop()
        if code != 0:
            raise Stop(
                f"Maven could not fetch the engines (is there a network?); the end of {log}:\n"
                f"{last_lines(log)}"
            )
        for engine in engines:
            Path(part, engine).rename(jars_of(engine, jars_dir))
