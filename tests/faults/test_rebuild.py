"""The scheduler's state is lost for good, and made anew from Cassandra (A9, F2)."""

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import confluent_kafka
import pytest

from services.cli.audit import look
from services.common import quiet, records
from services.common.kafka import admin, options, whole
from services.common.kafka.commands import Commander
from services.common.settings import Settings
from services.local import stored
from services.local.crawl import crawl
from services.local.demo import Running
from services.local.engines import Endpoints
from services.local.environment import environment
from services.local.supervisor import Pipeline, pipeline

JOB = "kept"
PATIENCE = 120.0


@pytest.fixture
def own(
    engines: Endpoints,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    web: Running,
    tmp_path: Path,
) -> Iterator[Settings]:
    """A crawl of the demo web in which what fails is soon given up."""
    with fresh(engines, tmp_path) as settings:
        scheduler = {"min_gap": 0.02, "retry_base": 0.5, "bucket_width": 0.5, "max_attempts": 2}
        fetcher = {"allow_private": web.networks, "contact": web.seeds[0]}
        yield settings.model_copy(
            update={
                "scheduler": settings.scheduler.model_copy(update=scheduler),
                "fetcher": settings.fetcher.model_copy(update=fetcher),
            }
        )


def test_a_lost_schedule_is_rebuilt_from_cassandra(own: Settings, web: Running) -> None:
    homes = [web.web.home(0), web.web.home(1)]
    with pipeline(own, print) as services:
        _crawl(own, services, homes)
        known = _status(own)["known"]
        before = stored.outcomes(own.cassandra, JOB)
        services.stop("scheduler")
        _lose_all(own)
        services.start("scheduler")
        services.await_ready(PATIENCE)
        assert _status(own)["known"] == 0
        assert web.log_path is not None
        fetched = web.log_path.read_bytes()

        told = _run(own, "rebuild-schedule")
        assert f"told the scheduler of {len(before)} fetched URLs" in told
        _until(lambda: _status(own)["known"] == known, "all URLs are known again")
        _sound(own)
        again = _run(own, "rebuild-schedule")
        assert told.splitlines()[-1] == again.splitlines()[-1]
        _sound(own)
        status = _status(own)
        assert status["known"] == known
        assert status.get("waiting", 0) == status.get("in_flight", 0) == 0
        assert web.log_path.read_bytes() == fetched, "nothing is fetched for it"

        later = time.time()
        _crawl(own, services, homes, fresh_after=later)
        newest = stored.outcomes(own.cassandra, JOB)
        assert newest.keys() == before.keys()
        _sound(own)


def test_known_urls_are_imported(own: Settings, web: Running, tmp_path: Path) -> None:
    """They wait for their time; what cannot be used is kept with its reason."""
    file, bad = tmp_path / "known.jsonl.gz", tmp_path / "bad"
    home = web.web.home(0)
    lines = [f'{{"url": "{home}known/{n}", "fetched_at": {time.time():.0f}}}' for n in range(150)]
    with gzip.open(file, "wt") as out:
        out.write("\n".join([*lines, "mailto:a@example.org", "", lines[0]]))
    assert web.log_path is not None
    asked = web.log_path.read_bytes()
    with pipeline(own, print):
        told = _run(own, "import", str(file), "--job", JOB, "--rejects", str(bad))
        assert "153 lines: 151 URLs sent" in told
        assert "1 refused (scheme 1)" in told
        assert bad.read_text() == "scheme\tmailto:a@example.org\n"
        _until(lambda: _status(own)["known"] == len(lines), "all URLs are known")
        _sound(own)
        assert _status(own)["ok"] == len(lines)
        assert web.log_path.read_bytes() == asked, "none is due"


def test_orphans_get_their_place_back(own: Settings, web: Running) -> None:
    with pipeline(own, print) as services:
        _crawl(own, services, [web.web.home(0)])
        services.stop("scheduler")
        shutil.rmtree(own.scheduler.data_dir)
        _forget_a_chunk(own)
        services.start("scheduler")
        services.await_ready(PATIENCE)
        assert {fault.kind for fault in look(own)[0].faults} >= {"orphan"}

        told = _run(own, "audit", "--heal")
        assert "every seed and every URL is accounted for" in told
        _sound(own)


def _crawl(
    settings: Settings, services: Pipeline, homes: list[str], *, fresh_after: float = 0.0
) -> None:
    crawl(
        settings.kafka,
        [records.Seed(url=home, job=JOB, scope="host", fresh_after=fresh_after) for home in homes],
        ports=services.ports.values(),
        show=lambda _: None,
        check=services.check,
        pending=quiet.RETRYING,
    )


def _status(settings: Settings) -> dict[str, int]:
    with Commander(settings.kafka) as commander:
        return dict(quiet.total(result.result for result in commander.status()))


def _changelogs(settings: Settings) -> list[str]:
    names = admin.partition_counts(settings.kafka)
    begin = f"{options.group(settings.kafka, 'scheduler')}-"
    return [name for name in names if name.startswith(begin) and name.endswith("-changelog")]


def _lose_all(settings: Settings) -> None:
    """The local store and the changelogs are gone; the group's offsets stay."""
    shutil.rmtree(settings.scheduler.data_dir)
    names = _changelogs(settings)
    assert len(names) == 3
    client = admin.connect(settings.kafka)  # it must outlive what it is asked for
    for deleted in client.delete_topics(names).values():
        deleted.result()
    _until(lambda: not _changelogs(settings), "the changelogs are deleted")


def _forget_a_chunk(settings: Settings) -> None:
    name = next(name for name in _changelogs(settings) if "-timeline-" in name)
    count = admin.partition_counts(settings.kafka)[name]
    alive: dict[bytes, int] = {}
    for record in whole.read(settings.kafka, {(name, n): 0 for n in range(count)}):
        key = record.key or b""
        if record.value is None:
            alive.pop(key, None)
        else:
            alive[key] = record.partition
    producer = confluent_kafka.Producer(options.client(settings.kafka))
    for key, partition in alive.items():
        producer.produce(name, key=key, value=None, partition=partition)
    assert producer.flush(30) == 0


def _run(settings: Settings, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "services", *command],
        env={**os.environ, **environment(settings)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _sound(settings: Settings) -> None:
    """`recrawl audit` finds nothing wrong."""

    def sound() -> bool:
        found, _, lost = look(settings)
        return not found.faults and not lost

    _until(sound, "the audit is clean")


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.5)
