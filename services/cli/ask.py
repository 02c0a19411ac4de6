"""`recrawl status` and `recrawl page`: questions to a running pipeline."""

import asyncio
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from services.common import quiet, rules_file
from services.common.cassandra import connect
from services.common.errors import Drop, Stop
from services.common.kafka.commands import Commander
from services.common.settings import Settings
from services.local import running
from services.parser.store import Page, latest_page

Json = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]


def status(*, as_json: Json = False) -> None:
    """Count the URLs by state, from the scheduler's counters."""
    settings = running.current()
    with Commander(settings.kafka) as commander:
        results = commander.status()
    counts = quiet.total(result.result for result in results)
    if as_json:
        typer.echo(msgspec.json.encode(counts))
        return
    table = Table("state", "URLs", title=f"{len(results)} partitions")
    for name, count in sorted(counts.items()):
        table.add_row(name, f"{count:,}")
    Console().print(table)


def page(
    url: Annotated[str, typer.Argument(help="The page's URL.")], *, as_json: Json = False
) -> None:
    """Show the newest stored version of a page: what is known of it, its text, its links."""
    try:
        found = asyncio.run(_latest(running.current(), url))
    except Drop as error:
        raise Stop(f"{url}: {error}") from error
    if found is None:
        typer.echo(f"no page is stored for {url}", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(msgspec.json.encode(found))
    else:
        _show(found)


async def _latest(settings: Settings, url: str) -> Page | None:
    identity = rules_file.load(settings.frontier.rules_file)
    async with await connect(settings.cassandra) as cassandra:
        return await latest_page(cassandra, url, identity)


def _show(page: Page) -> None:
    facts = msgspec.to_builtins(page)
    text, links = facts.pop("text"), facts.pop("links")
    headers = facts.pop("headers")
    for name, value in facts.items():
        if value not in ("", None):
            typer.echo(f"{name + ':':14} {value}")
    for name, value in headers.items():
        typer.echo(f"  {name}: {value}")
    typer.echo(f"\n{text}\n")
    for link in links:
        typer.echo(f"-> {link['url']}  {link.get('anchor', '')}".rstrip())
