"""`recrawl import`: millions of known URLs from a file, past the seeds' one by one."""

import asyncio
import gzip
import io
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Annotated, Protocol

import typer
import zstandard

from services.cli.recovery.batches import Batches
from services.cli.recovery.known_line import Defaults, Refused, known
from services.cli.recovery.sink import Sink
from services.cli.scope import Scope
from services.common import topics
from services.common.errors import Stop
from services.common.kafka import Producer
from services.common.settings import Settings
from services.frontier.core import Limits
from services.frontier.service import limits_of
from services.frontier.traps import year_of
from services.local import running

_LONGEST = 100_000
"""Octets of a line; the rest of a longer one is refused like it."""
_EVERY = 100_000
"""Lines between two words of progress."""


class _Lines(Protocol):
    def readline(self, size: int, /) -> bytes: ...


def import_urls(
    file: Annotated[str, typer.Argument(help="A file, .gz or .zst too; - for standard input.")],
    *,
    job: Annotated[str, typer.Option(help="Of lines that name none.")] = "default",
    scope: Annotated[
        Scope, typer.Option(help="How far links may lead from each URL.")
    ] = Scope.HOST,
    depth: Annotated[int | None, typer.Option(min=0, help="Follow links this far.")] = None,
    rejects: Annotated[Path | None, typer.Option(help="Refused lines, with the reason.")] = None,
) -> None:
    """Make known URLs known: one a line, bare or as JSON with its history (docs/recovery.md)."""
    settings = running.current()
    defaults = Defaults(job=job, scope=scope.value, max_depth=depth, year=year_of(time.time()))
    with ExitStack() as open_files:
        lines = open_files.enter_context(_opened(file))
        bad = open_files.enter_context(rejects.open("wb")) if rejects is not None else None
        work = _Import(limits_of(settings), defaults, bad)
        asyncio.run(work.run(lines, settings))
    typer.echo(work.told())


class _Import:
    def __init__(self, limits: Limits, defaults: Defaults, rejects: IO[bytes] | None) -> None:
        self._limits = limits
        self._defaults = defaults
        self._rejects = rejects
        self._began = time.monotonic()
        self._lines = self._urls = 0
        self._refused: Counter[str] = Counter()

    async def run(self, lines: _Lines, settings: Settings) -> None:
        """Send all that can be used."""
        batches = Batches(settings.kafka.max_record)
        async with Producer(settings.kafka) as producer, Sink(producer) as sink:
            while line := lines.readline(_LONGEST):
                self._lines += 1
                if self._lines % _EVERY == 0:
                    typer.echo(self.told(), err=True)
                try:
                    found = known(line, self._limits, self._defaults)
                except Refused as refusal:
                    self._refuse(refusal.reason, line)
                    continue
                if found is not None:
                    self._urls += 1
                    for record in batches.add(*found):
                        await sink.send(topics.URL_ADMITTED, record, record.host)
            for record in batches.rest():
                await sink.send(topics.URL_ADMITTED, record, record.host)

    def _refuse(self, reason: str, line: bytes) -> None:
        self._refused[reason] += 1
        if self._rejects is not None:
            self._rejects.write(reason.encode() + b"\t" + line.rstrip(b"\r\n") + b"\n")

    def told(self) -> str:
        """One line of what was done so far."""
        rate = self._urls / max(time.monotonic() - self._began, 0.001)
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(self._refused.items()))
        refused = f"{self._refused.total():,} refused" + (f" ({reasons})" if reasons else "")
        return f"{self._lines:,} lines: {self._urls:,} URLs sent, {rate:,.0f} a second; {refused}"


@contextmanager
def _opened(file: str) -> Iterator[_Lines]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        if file.endswith(".zst"):
            with Path(file).open("rb") as packed:
                reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
                yield io.BufferedReader(reader)
        elif file.endswith(".gz"):
            with gzip.open(file, "rb") as lines:
                yield lines
        else:
            with Path(file).open("rb") as lines:
                yield lines
    except (OSError, EOFError, zstandard.ZstdError) as error:
        raise Stop(f"cannot read {file}: {error}") from error
