"""G2: `recrawl audit` on a real crawl, whole and then broken on purpose."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from services.common.kafka import admin, options, whole
from services.common.kafka.commands import Commander
from services.common.quiet import total
from services.common.settings import Settings
from services.local.demo import DemoWeb, Running
from services.local.environment import environment

PENDING = ("waiting", "in_flight", "retrying", "paused")


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    return DemoWeb(hosts=6, pages=40, slow=0.05, trap=False)


def _audit(settings: Settings, *options: str) -> subprocess.CompletedProcess[str]:
    return _run(settings, "audit", *options)


def _run(settings: Settings, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "services", *words],
        env={**os.environ, **environment(settings)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_seed_and_every_url_is_accounted_for_until_one_is_lost(
    place: Settings, web: Running, crawl: Callable[..., Any], seed: Callable[..., None]
) -> None:
    seed("nonsense url", job="odd")
    # What the scheduler refuses has no row, and is not lost for that.
    _run(place, "schedule", "delete", "--host", "gone.test")
    seed("http://gone.test/", job="deleted")
    crawl(*web.seeds, job="audited", scope="any")

    done = _audit(place, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["faults"] == []
    assert report["seeds"]["known"] == len({*web.seeds, "http://gone.test/"})
    assert report["jobs"]["deleted"]["refused"] == 1
    assert report["seeds"]["lost"] == []
    assert report["seeds"]["refused"] == {"url-host": 1}
    with Commander(place.kafka) as commander:
        status = total(result.result for result in commander.status())
    counts = report["jobs"]["audited"]
    assert sum(counts.values()) == status["known"]
    assert counts["done"] == sum(status.get(state, 0) for state in ("ok", "unchanged", "moved"))
    assert counts["pending"] == sum(status.get(state, 0) for state in PENDING)

    told = _audit(place)
    assert "every seed and every URL is accounted for" in told.stdout

    # A part of the timeline is gone, as after a lost disk.
    _forget(place, "timeline")
    broken = _audit(place, "--json", "--patience", "0")
    kinds = {fault["kind"] for fault in json.loads(broken.stdout)["faults"]}
    assert broken.returncode == 1
    assert {"orphan", "bucket"} <= kinds
    assert "FAULT" in _audit(place, "--patience", "0").stderr


def _forget(settings: Settings, table: str) -> None:
    """Take a partition of a table away, behind the scheduler's back."""
    name = f"{options.group(settings.kafka, 'scheduler')}-{table}-changelog"
    counts = admin.partition_counts(settings.kafka)
    begins = {(name, number): 0 for number in range(counts[name])}
    alive: dict[int, set[bytes]] = defaultdict(set)
    for stored in whole.read(settings.kafka, begins):
        keys, key = alive[stored.partition], stored.key or b""
        (keys.discard if stored.value is None else keys.add)(key)
    partition, keys = max(alive.items(), key=lambda item: len(item[1]))
    producer = confluent_kafka.Producer(options.client(settings.kafka))
    for key in keys:
        producer.produce(name, key=key, value=None, partition=partition)
    assert producer.flush(30) == 0
