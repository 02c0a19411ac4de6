"""Which Java runs the engines, with which flags, and the class data that makes starts short."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from shutil import which

OLDEST, NEWEST = 17, 23
"""Both engines need 17; Cassandra 5.0 needs the security manager, which 24 removed."""

# The light compiler only and the simplest collector: a third less CPU until an engine answers.
_FAST = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Xlog:cds*=off",  # a line for each class that it leaves out, and a start that does not care
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that the engines accept."""

    path: str
    """The `java` command."""
    description: str
    """What `java -version` printed."""


def major_version(description: str) -> int:
    """The feature release in the output of `java -version`; 0 if there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', description)
    return int(found[1]) if found else 0


def find_java(environment: Mapping[str, str] = os.environ) -> Java | None:
    """The first of `$JAVA_HOME/bin/java` and `java` on PATH with a version that fits."""
    home = environment.get("JAVA_HOME")
    candidates = [f"{home}/bin/java"] if home else []
    for candidate in [*candidates, "java"]:
        path = which(candidate, path=environment.get("PATH"))
        if path is not None:
            answer = subprocess.run(
                [path, "-version"], check=False, capture_output=True, text=True, errors="replace"
            )
            description = answer.stderr + answer.stdout
            if OLDEST <= major_version(description) <= NEWEST:
                return Java(path, description)
    return None


def class_path(jars: Path) -> str:
    """All jars of a directory, in an order that does not depend on the file system.

    Class data is only used with the class path it was made with.
    """
    return os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")))


class Virtual:
    """How one engine's virtual machine starts: plainly, or fast with class data kept on disk.

    The first fast run writes the loaded classes (class data sharing) to a file beside the jars
    when it stops, which takes about 3 s; later runs map that file and use half the CPU to start.
    """

    def __init__(self, java: Java, jars: Path, *, fast: bool) -> None:
        self._java = java
        self._jars = jars
        self._fast = fast
        made_by = blake2b(f"{java.description}{_FAST}".encode(), digest_size=4).hexdigest()
        self._data = jars.with_name(f"{jars.name}-{made_by}.jsa")
        self._part = self._data.with_name(f"{self._data.name}.{os.getpid()}")

    @property
    def jars(self) -> Path:
        """The directory of the jars."""
        return self._jars

    @property
    def records(self) -> bool:
        """Whether this run writes class data when it stops."""
        return self._fast and not self._data.exists()

    def command(self, flags: list[str], main: list[str]) -> list[str]:
        """The command line: our flags, those given, the class path, then the main class."""
        return [self._java.path, *self._flags(), *flags, "-cp", class_path(self._jars), *main]

    def _flags(self) -> list[str]:
        if not self._fast:
            return []
        if self._data.exists():
            return [*_FAST, f"-XX:SharedArchiveFile={self._data}"]
        return [*_FAST, f"-XX:ArchiveClassesAtExit={self._part}"]

    def stopped(self, *, clean: bool) -> None:
        """Keep the class data of a run that ended in order; drop a torso."""
        if clean and self._part.exists():
            self._part.replace(self._data)
        self._part.unlink(missing_ok=True)
