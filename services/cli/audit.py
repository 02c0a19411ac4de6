"""`recrawl audit`: whether every seed and every URL is accounted for (G2).

Reads Kafka alone: the scheduler's changelogs, the seeds, and what is on its way between. Asks no
service, so it also tells what a stopped or broken one has kept.
"""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from services.cli.moved_hosts import moved_hosts
from services.common import codec, topics
from services.common.errors import DeadLetter, Stop
from services.common.kafka import admin, options, whole
from services.common.kafka.commands import Commander
from services.common.kafka.offsets import Offsets
from services.common.settings import Kafka, Settings
from services.common.urls import KNOWN, parse
from services.frontier.core import admit_seed
from services.frontier.service import limits_of
from services.local import running
from services.scheduler.audit import Audit, check

if TYPE_CHECKING:
    from services.common.records import UrlAdmitted

_CLASSES = ("done", "failed", "refused", "pending")
_TABLES = ("urls", "hosts", "timeline")
_SHOWN = 20


@dataclass(slots=True)
class Tables:
    """A partition's tables, read from their changelogs."""

    urls: dict[bytes, bytes] = field(default_factory=dict)
    hosts: dict[bytes, bytes] = field(default_factory=dict)
    timeline: dict[bytes, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Sown:
    """One URL that was seeded."""

    places: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    """Fingerprint -> host and URL: its own, and where its host has moved since."""
    jobs: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Seeds:
    """The seeds that the frontier has taken, as far as the topic still holds them."""

    of: dict[bytes, Sown] = field(default_factory=lambda: defaultdict(Sown))
    """By the fingerprint of the URL as it was given."""
    refused: Counter[str] = field(default_factory=Counter)
    """Seeds that no job can be told of, by the reason on `dead-letters`."""
    unread: int = 0
    """Seeds that the frontier has not taken yet."""


def audit(
    *,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to look again before a fault is told.")
    ] = 30.0,
    heal: Annotated[
        bool, typer.Option("--heal", help="Give orphans their place back, by the scheduler.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """Check that seeds in = done + failed + refused + pending, and every URL is in one place.

    In a running pipeline a URL may be seen between two places; what looks like a fault is looked
    at again until `patience` is over. Exits with 1 if a fault stays. `--heal` needs a running
    scheduler; what was only on its way is left as it is.
    """
    settings = running.current()
    deadline, healed = time.monotonic() + patience, 0
    while True:
        found, seeds, lost = look(settings)
        if not (found.faults or lost) or time.monotonic() > deadline:
            break
        if heal:
            healed += _heal(settings, found)
        time.sleep(1)
    if heal:
        typer.echo(f"{healed} orphans have their place again", err=True)
    report = _report(found, seeds, lost)
    if as_json:
        typer.echo(msgspec.json.encode(report))
    else:
        _show(found, seeds, lost)
    if found.faults or lost:
        raise typer.Exit(1)


def look(settings: Settings) -> tuple[Audit, Seeds, list[str]]:
    """The state of everything, the seeds, and the seeds that are nowhere."""
    kafka = settings.kafka
    # Seeds first and tables last: what moves on meanwhile is seen further on, not missed.
    seeds = _seeds(settings)
    coming = _coming(kafka)
    found = Audit()
    watch = frozenset(chain.from_iterable(sown.places for sown in seeds.of.values()))
    limits = settings.scheduler
    for tables in _tables(kafka).values():
        found.add(check(tables, limits.max_attempts, watch, max_urls=limits.max_urls_per_host))
    lost = []
    for fingerprint, sown in seeds.of.items():
        if not found.watched.keys().isdisjoint(sown.places):
            continue
        if not coming.isdisjoint(sown.places):
            became = "pending"
        elif any(found.refuses(*place) for place in sown.places.values()):
            became = "refused"
        else:
            lost.append(fingerprint.hex())
            continue
        for job in sown.jobs:
            found.jobs.setdefault(job, Counter())[became] += 1
    return found, seeds, lost


def _heal(settings: Settings, found: Audit) -> int:
    """Let the scheduler look after the orphans; how many really were some."""
    orphans = [fault for fault in found.faults if fault.fingerprint]
    if not orphans:
        return 0
    identity = limits_of(settings).identity
    with Commander(settings.kafka) as commander:
        hosts = (identity.name(parse(orphan.where, schemes=KNOWN)).host for orphan in orphans)
        named = zip(hosts, orphans, strict=True)
        return sum(commander.heal(host, orphan.fingerprint) for host, orphan in named)


def _seeds(settings: Settings) -> Seeds:
    limits, hosts, taken = limits_of(settings), moved_hosts(settings), Seeds()
    with Offsets(settings.kafka) as offsets:
        places = offsets.read({"frontier": (topics.SEEDS,)})
    name = options.physical(settings.kafka, topics.SEEDS)
    committed = {place.partition: place.committed or 0 for place in places}
    for seed in whole.read(settings.kafka, {(name, number): 0 for number in committed}):
        if seed.value is None:
            continue
        if seed.offset >= committed[seed.partition]:
            taken.unread += 1
            continue
        try:
            admission = admit_seed(seed.value, limits)
        except DeadLetter as error:
            taken.refused[error.reason] += 1
            continue
        (given,) = admission.admitted
        sown = taken.of[given.urls[0].fingerprint]
        sown.jobs.add(given.rules.job)
        for record in (given, *admit_seed(seed.value, limits, hosts, time.time()).admitted):
            for url in record.urls:
                sown.places[url.fingerprint] = record.host, url.url
    return taken


def _coming(kafka: Kafka) -> set[bytes]:
    """URLs that the frontier has admitted and the scheduler has not taken yet."""
    with Offsets(kafka) as offsets:
        places = offsets.read({"scheduler": (topics.URL_ADMITTED,)})
    name = options.physical(kafka, topics.URL_ADMITTED)
    begins = {(name, place.partition): place.committed or 0 for place in places}
    coming: set[bytes] = set()
    for stored in whole.read(kafka, begins):
        try:
            record: UrlAdmitted = codec.decode(topics.URL_ADMITTED, stored.value or b"")
        except DeadLetter:
            continue  # the scheduler will bury it
        coming.update(url.fingerprint for url in record.urls)
    return coming


def _tables(kafka: Kafka) -> dict[int, Tables]:
    """Partition -> its tables."""
    group = options.group(kafka, "scheduler")
    names = {f"{group}-{table}-changelog": table for table in _TABLES}
    counts = admin.partition_counts(kafka)
    missing = [name for name in names if name not in counts]
    if missing:
        raise Stop(f"no scheduler has run here: {', '.join(missing)} is missing")
    begins = {(name, number): 0 for name in names for number in range(counts[name])}
    found: dict[int, Tables] = defaultdict(Tables)
    for stored in whole.read(kafka, begins):
        table: dict[bytes, bytes] = getattr(found[stored.partition], names[stored.topic])
        if stored.value is None:
            table.pop(stored.key or b"", None)
        else:
            table[stored.key or b""] = stored.value
    return found


def _report(found: Audit, seeds: Seeds, lost: list[str]) -> dict[str, object]:
    return {
        "jobs": {
            job: {name: counts[name] for name in _CLASSES} for job, counts in found.jobs.items()
        },
        "seeds": {
            "known": len(seeds.of) - len(lost),
            "lost": lost,
            "refused": dict(seeds.refused),
            "unread": seeds.unread,
        },
        "faults": [
            {"kind": fault.kind, "where": fault.where, "detail": fault.detail}
            for fault in found.faults
        ],
    }


def _show(found: Audit, seeds: Seeds, lost: list[str]) -> None:
    table = Table("job", *_CLASSES, "all")
    for job, counts in sorted(found.jobs.items()):
        cells = [f"{counts[name]:,}" for name in _CLASSES]
        table.add_row(job, *cells, f"{counts.total():,}")
    Console().print(table)
    refused = sum(seeds.refused.values())
    typer.echo(
        f"seeds on the topic: {len(seeds.of) - len(lost)} different URLs known, {refused} refused"
        f" (see dead-letters), {seeds.unread} not read yet, {len(lost)} lost"
    )
    for fault in found.faults[:_SHOWN]:
        typer.echo(f"FAULT {fault.kind}: {fault.where}: {fault.detail}", err=True)
    for fingerprint in lost[:_SHOWN]:
        typer.echo(f"FAULT lost: the seed with fingerprint {fingerprint}", err=True)
    beyond = len(found.faults) + len(lost) - 2 * _SHOWN
    if beyond > 0:
        typer.echo(f"and more; `--json` has all {len(found.faults) + len(lost)}", err=True)
    if not found.faults and not lost:
        typer.echo("every seed and every URL is accounted for")
