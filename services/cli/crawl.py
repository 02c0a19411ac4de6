"""`recrawl crawl`: crawl from some URLs and wait until it is done."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from services.cli.scope import Scope
from services.common import quiet, records
from services.common.errors import DeadLetter, Stop
from services.common.settings import Settings, load
from services.frontier.patterns import compiled
from services.frontier.scope import prefix_of
from services.local import live, running
from services.local.crawl import crawl as follow
from services.local.supervisor import readiness
from services.local.whole import whole

_PRIVATE = "private-address"


@dataclass(frozen=True, slots=True)
class Target:
    """A pipeline that can be given seeds."""

    settings: Settings
    ports: dict[str, int]
    check: Callable[[], None]


def crawl(
    urls: Annotated[list[str], typer.Argument(help="Where to start.", metavar="URL...")],
    *,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Store no more pages.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Follow links this far.")] = None,
    scope: Annotated[
        Scope | None, typer.Option(help="Stay on the host, on its domain, or go anywhere.")
    ] = None,
    path_prefix: Annotated[str, typer.Option(help="Only links whose path begins so.")] = "",
    include: Annotated[str, typer.Option(help="Only links that match this (RE2).")] = "",
    exclude: Annotated[str, typer.Option(help="No links that match this (RE2).")] = "",
    priority: Annotated[
        float,
        typer.Option(
            min=0.001, max=100, help="Above 1 goes before other jobs' new URLs, below 1 after."
        ),
    ] = 1.0,
    job: Annotated[str | None, typer.Option(help="Name of the job; pages carry it.")] = None,
) -> None:
    """Crawl from these URLs to the end, with a live view.

    Uses the pipeline of `recrawl up` if it runs, else starts one for as long as it takes. The
    end is when the whole pipeline has nothing left to do, other jobs' work included.
    """
    settings = load()
    seeds = make_seeds(
        urls,
        scope=scope,
        depth=depth,
        max_pages=max_pages,
        job=job,
        path_prefix=path_prefix,
        include=include,
        exclude=exclude,
        priority=priority,
    )
    with target(settings) as found:
        progress = show(found, seeds)
        typer.echo(where_to_look(found, seeds[0]))
    if ("policy", _PRIVATE) in progress.tally.failures:
        typer.echo(
            "Private and loopback addresses are refused. To crawl your own network, name it:\n"
            "  RECRAWL_FETCHER__ALLOW_PRIVATE='[\"10.0.0.0/8\"]'"
        )
    raise typer.Exit(0 if progress.tally.stored + progress.tally.unchanged else 1)


def make_seeds(
    urls: list[str],
    *,
    scope: Scope | None,
    depth: int | None,
    max_pages: int | None,
    job: str | None,
    path_prefix: str = "",
    include: str = "",
    exclude: str = "",
    priority: float = 1.0,
) -> list[records.Seed]:
    """Seeds of one job that crawls what is known already anew.

    Raises:
        Stop: the prefix is no path, or RE2 does not take a pattern.
    """
    now = time.time()
    name = job or time.strftime("crawl-%Y%m%d-%H%M%S", time.gmtime(now))
    try:
        prefix_of(path_prefix)
        for pattern in filter(None, (include, exclude)):
            compiled(pattern)
    except DeadLetter as error:
        raise Stop(str(error)) from error
    return [
        records.Seed(
            url=url,
            job=name,
            scope=None if scope is None else scope.value,
            max_depth=depth,
            max_pages=max_pages,
            fresh_after=now,
            path_prefix=path_prefix,
            include=include,
            exclude=exclude,
            priority=priority,
        )
        for url in urls
    ]


@contextmanager
def target(settings: Settings) -> Iterator[Target]:
    """The running pipeline, or one of our own for this block."""
    other = running.find(settings)
    if other is not None and not any(map(readiness, other.ports.values())):
        typer.echo(f"using the pipeline that runs as process {other.pid}")
        yield Target(running.joined(settings, other), other.ports, lambda: None)
        return
    with whole(settings, typer.echo) as ours:
        yield Target(ours.settings, ours.pipeline.ports, ours.pipeline.check)


def show(
    found: Target, seeds: list[records.Seed], pending: Sequence[str] = quiet.PENDING
) -> live.Progress:
    """Crawl with the live view and the summary at the end."""
    console = Console()
    with live.view(console) as shown:
        progress = follow(
            found.settings.kafka,
            seeds,
            ports=found.ports.values(),
            show=shown,
            check=found.check,
            pending=pending,
        )
    console.print(live.summary(progress))
    return progress


def where_to_look(found: Target, seed: records.Seed) -> str:
    """Commands and paths for what was stored."""
    settings = found.settings
    return "\n".join(
        [
            f"job          {seed.job}",
            f"a page       recrawl page {seed.url}   (while `recrawl up` runs)",
            f"tables       keyspace {settings.cassandra.keyspace}, docs/tables.md",
            f"logs         {settings.local.data_dir.absolute() / 'logs'}",
        ]
    )
