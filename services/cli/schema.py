"""`recrawl topics` and `recrawl migrate`: what must be there before the services start."""

from typing import Annotated

import typer

from services.common import migrations
from services.common.kafka import check_topics, create_topics
from services.local import running


def topics(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Create nothing; exit with 1 if something is wrong.")
    ] = False,
) -> None:
    """Create the Kafka topics that are missing."""
    settings = running.current()
    if not check:
        created = create_topics(settings)
        for name in created:
            typer.echo(f"created {name}")
        if not created:
            typer.echo("all topics are there")
    problems = check_topics(settings)
    for problem in problems:
        typer.echo(problem, err=True)
    raise typer.Exit(1 if problems else 0)


def migrate() -> None:
    """Make the Cassandra keyspace and its tables, or bring them up to date."""
    applied = migrations.migrate(running.current().cassandra)
    for name in applied:
        typer.echo(f"applied {name}")
    if not applied:
        typer.echo("the tables are up to date")
