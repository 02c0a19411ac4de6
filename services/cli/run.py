"""`recrawl run`: one service, as in production."""

from enum import StrEnum
from typing import Annotated

import typer

from services.common import logs, runtime
from services.common.settings import Settings, load


class Name(StrEnum):
    """The four services."""

    FRONTIER = "frontier"
    SCHEDULER = "scheduler"
    FETCHER = "fetcher"
    PARSER = "parser"


def run(name: Annotated[Name, typer.Argument(help="The service.")]) -> None:
    """Run one service until SIGTERM or SIGINT."""
    settings = load()
    logs.set_up(settings.runtime, name.value)
    raise typer.Exit(_run(name, settings))


def _run(name: Name, settings: Settings) -> int:
    """Each service is imported only when it is run: they have no need of one another."""
    if name is Name.SCHEDULER:
        from services.scheduler import service as scheduler  # noqa: PLC0415

        return scheduler.run(settings)
    if name is Name.FRONTIER:
        from services.frontier.service import Frontier  # noqa: PLC0415

        return runtime.run(Frontier, settings)
    if name is Name.FETCHER:
        from services.fetcher.service import Fetcher  # noqa: PLC0415

        return runtime.run(Fetcher, settings)
    from services.parser.service import Parser  # noqa: PLC0415

    return runtime.run(Parser, settings)
