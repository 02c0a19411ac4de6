"""All commands in one place."""

import logging
import signal

import typer

from services.cli import (
    ask,
    audit,
    crawl,
    demo,
    explain,
    import_urls,
    rebuild,
    run,
    schedule,
    schema,
    up,
)

app = typer.Typer(
    name="recrawl",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def quieten() -> None:
    """A continuous web crawler as a Kafka pipeline."""
    # What libraries log is for a service's log; a command's own words are enough for a person.
    logging.basicConfig(level=logging.CRITICAL)
    # SIGTERM is Ctrl-C too; and Ctrl-C works even where a shell started us with it ignored.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)


for command in (
    demo.demo,
    crawl.crawl,
    up.up,
    ask.status,
    ask.page,
    explain.explain,
    audit.audit,
    rebuild.rebuild_schedule,
    schema.topics,
    schema.migrate,
    run.run,
):
    app.command()(command)
app.command("import")(import_urls.import_urls)
app.add_typer(schedule.app)
