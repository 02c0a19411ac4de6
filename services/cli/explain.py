"""`recrawl explain`: why a URL is or is not crawled, and what it waits for."""

import time
from typing import Annotated, Any

import msgspec
import typer

from services.cli.scope import Scope
from services.common.errors import DeadLetter, Drop, Retry, Stop
from services.common.kafka.commands import Commander
from services.common.records import Rules
from services.common.settings import Settings, load
from services.common.urls import parse
from services.frontier.core import Limits
from services.frontier.scope import prefix_of, root_of
from services.frontier.service import limits_of
from services.frontier.verdict import Verdict, judge
from services.local import running


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
    local: Annotated[bool, typer.Option("--local", help="Do not ask the scheduler.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """Tell a URL's identity, whether a job admits it, and what the scheduler knows of it."""
    settings = load()
    limits = limits_of(settings)
    try:
        rules = Rules(
            scope=scope.value if scope else limits.default_scope,
            max_depth=max_depth,
            path_prefix=prefix_of(path_prefix),
            include=include,
            exclude=exclude,
        )
        rules = msgspec.structs.replace(rules, root=_root(root or url, rules, limits))
        verdict = judge(url, rules, depth, limits, time.time())
    except (DeadLetter, Drop) as error:
        raise Stop(str(error)) from error
    found: dict[str, Any] = _told(verdict, rules)
    if not as_json:
        _show(found)
    if verdict.named is not None and not local:
        found["scheduler"] = _ask(settings, verdict.named.host, verdict.fingerprint)
        if not as_json:
            _show({"scheduler": found["scheduler"]})
    if as_json:
        typer.echo(msgspec.json.encode(found))


def _root(seed: str, rules: Rules, limits: Limits) -> str:
    try:
        url = parse(seed, schemes=limits.schemes)
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
        "scope": f"{rules.scope} {rules.root}".rstrip(),
        "see": "docs/identity.md" if verdict.refused is None else "docs/refusals.md",
    }
    return {"identity": steps, "frontier": frontier}


def _ask(settings: Settings, host: str, fingerprint: bytes) -> dict[str, str]:
    joined = running.joined(settings, running.find(settings))
    try:
        with Commander(joined.kafka) as commander:
            result = commander.explain(host, fingerprint)
    except Retry as error:
        raise Retry(f"the scheduler was not asked: {error}") from error
    return {**result.detail, "answered by": f"{result.worker}, partition {result.partition}"}


def _show(found: dict[str, dict[str, str]]) -> None:
    for part, facts in found.items():
        typer.echo(part)
        for name, value in facts.items():
            typer.echo(f"  {name + ':':22} {value}")
