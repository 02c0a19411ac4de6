"""The command line without engines: messages, exit statuses, what is asked for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli.crawl import make_seeds
from services.cli.demo import compare
from services.cli.scope import Scope
from services.common.records import Outcome

ROOT = Path(__file__).parents[2]


def recrawl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "services", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "COLUMNS": "100", **environment},
    )


def test_help_names_every_command() -> None:
    done = recrawl("--help")
    assert done.returncode == 0
    for command in ("run", "topics", "migrate", "up", "crawl", "demo", "status", "page", "explain"):
        assert f" {command} " in done.stdout


def test_a_wrong_setting_is_one_message_and_status_2() -> None:
    done = recrawl("topics", RECRAWL_KAFKA__PARTITIONS="none")
    assert done.returncode == 2
    assert "RECRAWL_KAFKA__PARTITIONS" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_kafka_is_one_message_and_status_2(tmp_path: Path) -> None:
    done = recrawl(
        "status",
        RECRAWL_KAFKA__BOOTSTRAP="127.0.0.1:1",
        RECRAWL_LOCAL__DATA_DIR=str(tmp_path),
    )
    assert done.returncode == 2
    assert "127.0.0.1:1" in done.stderr
    assert "recrawl up" in done.stderr
    assert "Traceback" not in done.stderr


def test_seeds_of_one_crawl_share_a_job_and_make_known_pages_due() -> None:
    first, second = make_seeds(
        ["http://a/", "http://b/"], scope=Scope.DOMAIN, depth=2, max_pages=9, job="j"
    )
    assert (first.job, first.scope, first.max_depth, first.max_pages) == ("j", "domain", 2, 9)
    assert first.fresh_after == second.fresh_after > 0


def test_a_bad_pattern_is_told_before_anything_starts() -> None:
    done = recrawl("crawl", "http://h.test/", "--include", "(?=x)")
    assert done.returncode == 2
    assert "invalid perl operator" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_url_is_explained_without_any_engine(tmp_path: Path) -> None:
    """G3: the identity with each rule that made it, and what a job would say."""
    rules = tmp_path / "rules.toml"
    rules.write_text('["h.test"]\nignore_www = true\n')
    done = recrawl(
        "explain",
        "http://www.h.test/a?utm_source=x",
        *("--local", "--json", "--root", "http://h.test/start", "--exclude", "/b"),
        RECRAWL_FRONTIER__RULES_FILE=str(rules),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["frontier"]["link"] == "admitted"
    assert list(found["identity"]) == [
        "fetched",
        "tracking",
        "www",
        "identity",
        "host",
        "fingerprint",
    ]
    assert found["identity"]["identity"] == "http://h.test/a"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("http://k.test/", "--root", "http://h.test/"), "scope"),
        (("http://h.test/", "--depth", "3", "--max-depth", "2"), "depth"),
        (("mailto:a@h.test",), "scheme"),
    ],
)
def test_a_refused_url_is_explained_by_its_reason(arguments: tuple[str, ...], reason: str) -> None:
    done = recrawl("explain", *arguments, "--local")
    assert done.returncode == 0
    assert f"refused: {reason}" in done.stdout


def test_a_bad_rules_file_is_one_message_and_status_2(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('["h.test"]\ndorp = []\n')
    done = recrawl("explain", "http://h.test/", "--local", RECRAWL_FRONTIER__RULES_FILE=str(rules))
    assert done.returncode == 2
    assert "rules.toml:2: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("stored", "differences"),
    [
        ({"a": "ok", "b": "unchanged", "c": "gone"}, []),
        ({"a": "incomplete", "b": "ok"}, []),
        ({"a": "ok"}, ["missing: b (never fetched)"]),
        ({"a": "ok", "b": "transient"}, ["missing: b (transient)"]),
        ({"a": "ok", "b": "ok", "c": "ok"}, ["extra: c (gone)"]),
        ({"a": "ok", "b": "ok", "x": "ok"}, ["extra: x (not expected)"]),
    ],
)
def test_the_demo_compares_page_by_page(stored: dict[str, str], differences: list[str]) -> None:
    wanted = {"a": Outcome.OK, "b": Outcome.OK, "c": Outcome.GONE}
    assert compare(wanted, stored) == differences
