"""The `recrawl` command. Errors of ours become one message and an exit status."""

import sys

import typer

from services.common.errors import RecrawlError, Retry


def main() -> None:
    """Run the command line; exits with 2 if it cannot go on, with a message that says why."""
    # Not above: the parser's processes import this module again and need none of it.
    from services.cli.app import app  # noqa: PLC0415

    try:
        app()
    except RecrawlError as error:
        typer.echo(f"recrawl: {error}", err=True)
        if isinstance(error, Retry):
            typer.echo("Is it running? `recrawl up` starts everything.", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
