"""`recrawl schedule …`: an operator's commands to the running scheduler; see docs/operations.md."""

import math
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from uuid import uuid4

import msgspec
import typer

from services.common.errors import Drop, Stop
from services.common.kafka.commands import Commander
from services.common.records import Command
from services.common.settings import load
from services.common.urls import fingerprint, parse
from services.frontier.core import Limits
from services.frontier.service import limits_of
from services.local import running

app = typer.Typer(
    name="schedule",
    help="Change what the running scheduler does: delete, move, pause, ask for URLs.",
    no_args_is_help=True,
)

_Url = Annotated[str, typer.Argument(help="One URL.")]
_Host = Annotated[str, typer.Option(help="A host, as in `recrawl explain`.")]
_Prefix = Annotated[str, typer.Option(help="All URLs of a host that begin with this URL.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]


class Target(NamedTuple):
    """What a command is about."""

    host: str
    fingerprint: bytes = b""
    prefix: str = ""


@app.command()
def delete(
    url: _Url = "", *, prefix: _Prefix = "", host: _Host = "", as_json: _Json = False
) -> None:
    """Never fetch a URL, a prefix or a host again, and forget it when its time comes."""
    _send("delete", _target(url, prefix=prefix, host=host), as_json=as_json)


@app.command()
def undelete(
    url: _Url = "", *, prefix: _Prefix = "", host: _Host = "", as_json: _Json = False
) -> None:
    """Take back the deletion of the same URL, prefix or host; what was forgotten stays so."""
    _send("undelete", _target(url, prefix=prefix, host=host), as_json=as_json)


@app.command()
def move(
    *,
    host: _Host = "",
    all_hosts: Annotated[bool, typer.Option("--all-hosts", help="All hosts.")] = False,
    at: Annotated[
        str, typer.Option("--at", help="When they are due instead, as 2030-01-31T12:00.")
    ],
    due_from: Annotated[str, typer.Option("--from", help="Only what is due from then on.")] = "",
    due_to: Annotated[str, typer.Option("--to", help="Only what is due until then.")] = "",
    as_json: _Json = False,
) -> None:
    """Let recrawls and retries of a host, or of all, be due at another time (UTC)."""
    if all_hosts == bool(host):
        raise Stop("name a --host, or --all-hosts")
    _send(
        "move",
        _target("", host=host) if host else Target(""),
        as_json=as_json,
        at=moment(at),
        due_from=moment(due_from) if due_from else 0.0,
        due_to=moment(due_to) if due_to else None,
    )


@app.command()
def pause(*, host: _Host, as_json: _Json = False) -> None:
    """Hand out nothing of a host until it is resumed."""
    _send("pause", _target("", host=host), as_json=as_json)


@app.command()
def resume(*, host: _Host, as_json: _Json = False) -> None:
    """Go on with a host that was paused."""
    _send("resume", _target("", host=host), as_json=as_json)


@app.command()
def boost(
    url: _Url,
    weight: Annotated[float, typer.Argument(min=0, help="Its priority; seeds have 1.")],
    *,
    as_json: _Json = False,
) -> None:
    """Set a known URL's priority."""
    if not math.isfinite(weight):
        raise Stop("WEIGHT must be a finite number")
    _send("boost", _target(url), as_json=as_json, weight=weight)


@app.command()
def recrawl(url: _Url = "", *, host: _Host = "", as_json: _Json = False) -> None:
    """Let a URL, or all recrawls and retries of a host, be due now."""
    _send("recrawl", _target(url, host=host), as_json=as_json)


def moment(text: str) -> float:
    """Epoch seconds of an ISO 8601 time, UTC if it names no zone.

    Raises:
        Stop: it is none.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise Stop(f"{text}: write times as 2030-01-31 or 2030-01-31T12:00 (UTC)") from error
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def target(limits: Limits, url: str, *, prefix: str = "", host: str = "") -> Target:
    """What is meant, under the names that the scheduler knows it by.

    Raises:
        Stop: none of the three is given or more than one, or it is no URL.
    """
    if sum(map(bool, (url, prefix, host))) != 1:
        raise Stop("name one URL, or one --prefix or --host where the command takes it")
    text = url or prefix or f"http://{host}/"
    try:
        parsed = parse(text, schemes=limits.schemes)
    except Drop as error:
        raise Stop(f"{text}: {error}") from error
    named = limits.identity.name(parsed)
    if url:
        return Target(named.host, fingerprint(named.identity))
    if host:
        return Target(named.host)
    rest = parsed.href.partition("://")[2]
    return Target(named.host, prefix=rest[rest.find("/") :])


def _target(url: str, *, prefix: str = "", host: str = "") -> Target:
    return target(limits_of(load()), url, prefix=prefix, host=host)


def _send(name: str, to: Target, *, as_json: bool, **more: Any) -> None:  # noqa: ANN401 - fields of Command
    fields = {**to._asdict(), **more, "id": uuid4().hex, "name": name, "asked_at": time.time()}
    command = msgspec.convert(fields, Command)
    with Commander(running.current().kafka) as commander:
        results = commander.send(command)
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.result)
    if as_json:
        typer.echo(msgspec.json.encode(counts))
    else:
        typer.echo(", ".join(f"{what} {count:,}" for what, count in counts.items()) or "nothing")
