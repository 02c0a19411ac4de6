"""`recrawl demo`: crawl a web of our own to the end and compare with what is known of it."""

from dataclasses import replace
from typing import Annotated

import typer

from services.cli import crawl
from services.cli.scope import Scope
from services.common import quiet
from services.common.errors import Stop
from services.common.records import Outcome
from services.common.settings import Settings, load
from services.local import running
from services.local.demo import DemoWeb, Running, deepest, expected, serve
from services.local.stored import PAGE, outcomes
from services.local.whole import whole

_BELOW = 3
"""Links followed below the deepest page: the way into the trap, which has no end."""
_LISTED = 20


def demo(
    *,
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of the demo web.")] = 10,
    pages: Annotated[int, typer.Option(min=1, help="Its articles, over all hosts.")] = 300,
) -> None:
    """Start everything, crawl a bundled demo web, and check that each page was stored."""
    settings = load()
    if (other := running.find(settings)) is not None:
        raise Stop(f"a pipeline runs already (process {other.pid}); stop it first")
    log = settings.local.data_dir.absolute() / "logs" / "demo-web.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with (
        serve(DemoWeb(hosts=hosts, pages=max(hosts, pages)), log) as web,
        whole(opened_for(web, settings), typer.echo) as ours,
    ):
        typer.echo(f"demo web: {hosts} hosts, {web.seeds[0]}; its requests: {log}")
        found = crawl.Target(ours.settings, ours.pipeline.ports, ours.pipeline.check)
        depth = deepest(expected(replace(web.web, trap=False))) + _BELOW
        seeds = crawl.make_seeds(
            list(web.seeds), scope=Scope.ANY, depth=depth, max_pages=None, job=None
        )
        crawl.show(found, seeds, quiet.RETRYING)
        stored = outcomes(ours.settings.cassandra, seeds[0].job)
        typer.echo(crawl.where_to_look(found, seeds[0]))
    wanted = expected(web.web, max_depth=depth)
    faults = compare({url: right.outcome for url, right in wanted.items()}, stored)
    pages_wanted = sum(right.outcome is Outcome.OK for right in wanted.values())
    typer.echo(
        "\n".join(faults[:_LISTED])
        or f"all {pages_wanted} expected pages stored, none missing, none extra"
    )
    if faults:
        typer.echo(f"{len(faults)} differences between the demo web and what was stored", err=True)
    raise typer.Exit(1 if faults else 0)


def opened_for(web: Running, settings: Settings) -> Settings:
    """Settings that let the demo's own addresses in and wait little between requests."""
    fetcher = {"allow_private": web.networks, "contact": web.seeds[0], "robots_retry": 1.0}
    # Failures that pass are waited for; with the usual waits that would take minutes.
    scheduler = {"min_gap": 0.05, "retry_base": 0.5, "max_attempts": 3}
    return settings.model_copy(
        update={
            "fetcher": settings.fetcher.model_copy(update=fetcher),
            "scheduler": settings.scheduler.model_copy(update=scheduler),
        }
    )


def compare(wanted: dict[str, Outcome], stored: dict[str, str]) -> list[str]:
    """Where the stored pages are not those of the demo web, one line each."""
    right = {url for url, outcome in wanted.items() if outcome is Outcome.OK}
    got = {url for url, outcome in stored.items() if outcome in PAGE}
    missing = [f"missing: {url} ({stored.get(url, 'never fetched')})" for url in right - got]
    extra = [f"extra: {url} ({wanted.get(url, 'not expected')})" for url in got - right]
    return sorted(missing) + sorted(extra)
