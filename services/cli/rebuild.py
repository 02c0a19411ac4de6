"""`recrawl rebuild-schedule`: a scheduler that lost its tables learns them from Cassandra (A9)."""

import asyncio
from typing import Annotated

import typer

from services.cli.recovery.rebuild import SLICES, Rebuild
from services.cli.recovery.sink import Sink
from services.common.cassandra import connect
from services.common.kafka import Producer
from services.common.settings import Settings
from services.local import running

_START = typer.Option(min=0, max=SLICES, help="Go on after so many parts, as the last run said.")


def rebuild_schedule(
    *,
    pages_from: Annotated[int, _START] = 0,
    links_from: Annotated[int, _START] = 0,
    links: Annotated[bool, typer.Option(help="Also URLs found and never fetched.")] = True,
) -> None:
    """Make the scheduler know every stored URL again, with its history, from Cassandra.

    For a scheduler whose tables and changelogs are lost; harmless beside one that works, and when
    it is run again. What a job allows is read from the `seeds` topic; see docs/recovery.md.
    """
    settings = running.current()
    done = asyncio.run(_rebuild(settings, pages_from, links_from if links else SLICES))
    for job, pages in sorted(done.rules.missing.items()):
        typer.echo(
            f"job {job}: no seed of it is left on the topic; {pages:,} look-ups of its pages found"
            " no rules, so they are kept fresh and their links are not followed. Seed it again to"
            " say what it may crawl.",
            err=True,
        )
    typer.echo(
        f"told the scheduler of {done.told['pages']:,} fetched URLs and {done.told['seeds']:,}"
        f" seeds never fetched, and the frontier of {done.told['links']:,} links"
    )


async def _rebuild(settings: Settings, pages_from: int, links_from: int) -> Rebuild:
    def tell(line: str) -> None:
        typer.echo(line, err=True)

    async with (
        await connect(settings.cassandra) as cassandra,
        Producer(settings.kafka) as producer,
        Sink(producer) as sink,
    ):
        work = Rebuild(settings, cassandra, sink, tell)
        await asyncio.to_thread(work.read_seeds)
        await work.pages(pages_from)
        await work.links(links_from)
        return work
