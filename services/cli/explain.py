"""`recrawl explain`: why a URL is or is not crawled, and what it waits for."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer

from services.cli.moved_hosts import moved_hosts
from services.cli.scope import Scope
from services.common.errors import DeadLetter, Drop, Retry, Stop
from services.common.kafka.commands import Commander
from services.common.records import Rules
from services.common.settings import Settings
from services.common.urls import fingerprint, parse
from services.frontier.core import Limits
from services.frontier.host_mapping import NOWHERE, Fate, Hosts, Trail, mapped
from services.frontier.scope import prefix_of, root_of
from services.frontier.service import limits_of
from services.frontier.verdict import Verdict, judge
from services.local import running

_FATES: dict[Fate, str] = {
    "circle": "a circle",
    "too-long": "one of too many moves",
    "insecure": "from https to http",
    "malformed": "no URL",
}


def explain(
    url: Annotated[str, typer.Argument(help="The URL, as a page has it.")],
    *,
    root: Annotated[str, typer.Option(help="The job's seed; without it the URL is its own.")] = "",
    scope: Annotated[Scope | None, typer.Option(help="The job's scope.")] = None,
    depth: Annotated[int, typer.Option(min=0, help="Links from the seed to the URL.")] = 1,
    max_depth: Annotated[int | None, typer.Option(min=0, help="The job's depth limit.")] = None,
    path_prefix: Annotated[str, typer.Option(help="The job's path prefix.")] = "",
    include: Annotated[str, typer.Option(help="The job's pattern for links it wants.")] = "",
    exclude: Annotated[str, typer.Option(help="The job's pattern for links it does not.")] = "",
    local: Annotated[bool, typer.Option("--local", help="Ask nobody.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """Tell a URL's identity, whether a job admits it, and what the scheduler knows of it."""
    settings = running.current()
    limits = limits_of(settings)
    now, hosts, trouble = time.time(), NOWHERE, None
    if not local:
        try:
            hosts = moved_hosts(settings)
        except Retry as error:
            trouble = error
    try:
        rules = Rules(
            scope=scope.value if scope else limits.default_scope,
            max_depth=max_depth,
            path_prefix=prefix_of(path_prefix),
            include=include,
            exclude=exclude,
        )
        rules = msgspec.structs.replace(rules, root=_root(root or url, rules, limits, hosts, now))
        verdict = judge(url, rules, depth, limits, now, hosts=hosts)
    except (DeadLetter, Drop) as error:
        raise Stop(str(error)) from error
    found: dict[str, Any] = _told(verdict, rules)
    if not as_json:
        _show(found)
    if trouble is not None:
        raise Retry(f"neither moved hosts nor the scheduler could be asked: {trouble}")
    if verdict.named is not None and not local:
        told = _ask_all(settings, verdict, limits)
        found |= told
        if not as_json:
            _show(told)
    if as_json:
        typer.echo(msgspec.json.encode(found))


def _root(seed: str, rules: Rules, limits: Limits, hosts: Hosts, now: float) -> str:
    try:
        url = mapped(parse(seed, schemes=limits.schemes), hosts, now)
    except Drop:
        return ""  # it is refused for what it is, whatever the scope
    return root_of(url, limits.identity.name(url).host, rules.scope)


def _told(verdict: Verdict, rules: Rules) -> dict[str, Any]:
    steps = {step.rule: step.identity for step in verdict.steps}
    if verdict.named is not None:
        steps |= {
            "identity": verdict.named.identity,
            "host": verdict.named.host,
            "fingerprint": verdict.fingerprint.hex(),
        }
    answer = "admitted" if verdict.refused is None else f"refused: {verdict.refused}"
    frontier = {
        "link": answer,
        **_moved(verdict.trail),
        "scope": f"{rules.scope} {rules.root}".rstrip(),
        "see": "docs/identity.md" if verdict.refused is None else "docs/refusals.md",
    }
    return {"identity": steps, "frontier": frontier}


def _moved(trail: Trail | None) -> dict[str, str]:
    """Where the link's host moved, in words."""
    if trail is None:
        return {}
    way = ", ".join(host for host, _ in trail.hops)
    until = datetime.fromtimestamp(trail.until, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    if not trail.fate:
        return {"mapped from": f"{way}, until {until}"}
    last = trail.hops[-1][1]
    place = f"{last.scheme}://{last.host}" if last.scheme else last.host
    return {
        "not mapped": f"{way} moved to {place}, until {until}, but that is {_FATES[trail.fate]}"
    }


def _ask_all(settings: Settings, verdict: Verdict, limits: Limits) -> dict[str, dict[str, str]]:
    """The scheduler about the URL, and about that of the host which moved if it knows it."""
    assert verdict.named is not None  # noqa: S101 - the caller has seen it
    written = verdict.written
    try:
        with Commander(settings.kafka) as commander:
            found = {"scheduler": _ask(commander, verdict.named.host, verdict.fingerprint)}
            if written is not None and written is not verdict.url:
                named = limits.identity.name(written)
                before = _ask(commander, named.host, fingerprint(named.identity))
                if before["state"] != "unknown":
                    found[f"scheduler, of {written.href}"] = before
    except Retry as error:
        raise Retry(f"the scheduler was not asked: {error}") from error
    return found


def _ask(commander: Commander, host: str, mark: bytes) -> dict[str, str]:
    result = commander.explain(host, mark)
    return {**result.detail, "answered by": f"{result.worker}, partition {result.partition}"}


def _show(found: dict[str, dict[str, str]]) -> None:
    for part, facts in found.items():
        typer.echo(part)
        for name, value in facts.items():
            typer.echo(f"  {name + ':':22} {value}")
