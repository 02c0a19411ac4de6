"""The `recrawl` command as a user types it, on the tests' engines (F7)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from services.common.settings import Settings
from services.common.topics import ALL
from services.common.urls import parse
from services.local.demo import DemoWeb, Running, expected

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
STOPS_WITHIN = 20.0
Finished = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """A web small enough to be crawled in a moment."""
    return DemoWeb(hosts=2, pages=12, odd=False, trap=False)


@pytest.fixture(scope="module")
def variables(
    place: Settings, web: Running, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The environment of a user who has engines of his own, and may crawl the demo web."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")
    }
    return {
        **inherited,
        "RECRAWL_KAFKA__BOOTSTRAP": place.kafka.bootstrap,
        "RECRAWL_KAFKA__PREFIX": place.kafka.prefix,
        "RECRAWL_KAFKA__PARTITIONS": "2",
        "RECRAWL_CASSANDRA__CONTACT_POINTS": place.cassandra.contact_points,
        "RECRAWL_CASSANDRA__KEYSPACE": place.cassandra.keyspace,
        "RECRAWL_FETCHER__ALLOW_PRIVATE": json.dumps(web.networks),
        "RECRAWL_SCHEDULER__MIN_GAP": "0.05",
        "RECRAWL_LOCAL__DATA_DIR": str(tmp_path_factory.mktemp("user") / "recrawl"),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "200",
    }


def start(variables: dict[str, str], *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "services", *words],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def recrawl(variables: dict[str, str]) -> Finished:
    """Runs a command to its end; keyword arguments are more variables."""

    def run(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "services", *words],
            env=variables | more,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def up(variables: dict[str, str], recrawl: Finished, web: Running) -> Iterator[Finished]:
    """`recrawl up` in another terminal, with the demo web crawled; stopped by Ctrl-C."""
    process = start(variables, "up")
    try:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        while not said[-1].startswith("Ctrl-C"):
            assert process.poll() is None, "".join(said)
            said.append(process.stdout.readline())
        crawled = recrawl("crawl", *web.seeds, "--scope", "any", "--job", "mine")
        assert "using the pipeline that runs" in crawled.stdout
        assert crawled.returncode == 0, crawled.stdout + crawled.stderr
        yield recrawl
    finally:
        left = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=STOPS_WITHIN + 20)
    assert "stopped" in rest
    assert process.returncode == 0
    _, alive = psutil.wait_procs(left, timeout=PATIENCE)
    assert alive == []


def test_help_names_every_command(recrawl: Finished) -> None:
    said = recrawl("--help")
    assert said.returncode == 0
    for command in ("demo", "crawl", "up", "status", "page", "topics", "migrate", "run"):
        assert f" {command} " in said.stdout


def test_topics_are_checked_and_made_once(recrawl: Finished) -> None:
    """F1: and a check creates nothing."""
    for _ in range(2):
        missing = recrawl("topics", "--check")
        assert (missing.returncode, missing.stderr.count(" is missing")) == (1, len(ALL))
    made = recrawl("topics")
    assert (made.returncode, made.stdout.count("created ")) == (0, len(ALL))
    assert recrawl("topics").stdout == "all topics are there\n"
    assert recrawl("topics", "--check").returncode == 0


def test_tables_are_made_once(recrawl: Finished) -> None:
    """F3."""
    first = recrawl("migrate")
    assert (first.returncode, "applied " in first.stdout) == (0, True)
    assert recrawl("migrate").stdout == "the tables are up to date\n"


def test_status_counts_what_was_crawled(up: Finished, web: Running) -> None:
    """G4."""
    said = up("status", "--json")
    assert said.returncode == 0, said.stderr
    counts = json.loads(said.stdout)
    truth = expected(web.web)
    assert counts["known"] == len(truth)
    assert counts["ok"] == sum(right.outcome == "ok" for right in truth.values())
    shown = up("status").stdout
    assert "known" in shown
    assert str(len(truth)) in shown


def test_page_shows_what_is_stored_of_a_url(up: Finished, web: Running) -> None:
    """F3: for a person and for a program."""
    url = web.web.page_url(0, 1)
    shown = up("page", url)
    assert shown.returncode == 0
    assert url in shown.stdout
    assert f"-> {web.web.home(0)}" in shown.stdout
    found = json.loads(up("page", url, "--json").stdout)
    assert (found["url"], found["job"], found["status"]) == (url, "mine", 200)
    assert found["text"]


def test_page_says_when_nothing_is_stored_or_it_is_no_url(up: Finished) -> None:
    unknown = up("page", "http://unknown.invalid/")
    assert (unknown.returncode, "no page is stored" in unknown.stderr) == (1, True)
    wrong = up("page", "mailto:x")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_a_private_address_is_refused_and_the_answer_says_what_to_do(
    recrawl: Finished, web: Running, place: Settings, tmp_path: Path
) -> None:
    """The guard is on unless it is opened."""
    said = recrawl(
        "crawl",
        web.web.home(1),
        RECRAWL_FETCHER__ALLOW_PRIVATE="[]",
        RECRAWL_LOCAL__DATA_DIR=str(tmp_path),
        RECRAWL_KAFKA__PREFIX=f"{place.kafka.prefix}guard-",
    )
    assert said.returncode == 1, said.stdout + said.stderr
    assert "RECRAWL_FETCHER__ALLOW_PRIVATE" in said.stdout


def test_an_engine_that_does_not_answer_is_named(recrawl: Finished) -> None:
    said = recrawl("migrate", RECRAWL_CASSANDRA__CONTACT_POINTS="127.0.0.1:1")
    assert said.returncode == 2
    assert "127.0.0.1:1" in said.stderr
    assert "Traceback" not in said.stderr


def test_ctrl_c_ends_a_crawl_within_seconds_and_leaves_nothing(
    variables: dict[str, str], web: Running, place: Settings, tmp_path: Path
) -> None:
    """F7: in the middle, with the services at work."""
    slow = {
        "RECRAWL_SCHEDULER__MIN_GAP": "30",
        "RECRAWL_LOCAL__DATA_DIR": str(tmp_path),
        "RECRAWL_KAFKA__PREFIX": f"{place.kafka.prefix}slow-",
    }
    process = start(variables | slow, "crawl", *web.seeds)
    try:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        while " pages/s" not in said[-1]:
            assert process.poll() is None, "".join(said)
            said.append(process.stdout.readline())
        started = psutil.Process(process.pid).children(recursive=True)
        assert len(started) >= 8  # four services, each with its keeper
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=STOPS_WITHIN)
        assert time.monotonic() - began < STOPS_WITHIN
    finally:
        process.kill()
        process.wait()
    assert process.returncode not in (0, None)
    assert "Traceback" not in rest
    _, alive = psutil.wait_procs(started, timeout=PATIENCE)
    assert alive == []


def test_an_operators_commands_reach_the_scheduler(up: Finished, web: Running) -> None:
    """A6, A7: each is answered with what it did, and `explain` and `status` show it."""
    url, host = web.seeds[0], parse(web.seeds[0]).host

    def schedule(*words: str) -> dict[str, int]:
        done = up("schedule", *words, "--json")
        assert done.returncode == 0, done.stderr
        counts: dict[str, int] = json.loads(done.stdout)
        return counts

    def waits_for() -> str:
        told: str = json.loads(up("explain", url, "--json").stdout)["scheduler"]["waits for"]
        return told

    assert schedule("pause", "--host", host) == {"hosts_paused": 1}
    assert json.loads(up("status", "--json").stdout)["hosts_paused"] == 1
    assert schedule("move", "--host", host, "--at", "2001-01-01")["urls_moved"] > 0
    assert waits_for().startswith("its host to be resumed")
    assert schedule("delete", url) == {"deleted": 1}
    assert schedule("delete", "--prefix", f"http://{host}/never/")["prefixes_deleted"] == 1
    assert "deleted" in waits_for()
    assert schedule("undelete", url) == {"undeleted": 1}
    assert schedule("boost", url, "2") == {"boosted": 1}
    assert schedule("recrawl", url) == {"asked": 1}
    assert schedule("resume", "--host", host) == {"hosts_resumed": 1}
    nothing = up("schedule", "delete")
    assert (nothing.returncode, "name one URL" in nothing.stderr) == (2, True)
