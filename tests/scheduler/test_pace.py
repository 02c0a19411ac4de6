"""How fast a host may be asked (D6)."""

from pathlib import Path

import pytest

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler import pace, quarantine
from services.scheduler.rows import HostRow

SETTINGS = Scheduler(min_gap=1.0, max_crawl_delay=300, host_window=8)


def reported(outcome: Outcome, status: int | None = None, **fields: float) -> CrawlReported:
    return CrawlReported(
        host="h.test",
        fingerprint=b"f" * 16,
        scheduled_at=fields.get("scheduled_at", 1.0),
        url="http://h.test/",
        job="j",
        outcome=outcome,
        reason="x",
        status=status,
        fetched_at=1.0,
        elapsed=0.1,
        retry_after=fields.get("retry_after"),
        crawl_delay=fields.get("crawl_delay"),
    )


@pytest.mark.parametrize(
    ("crawl_delay", "backoff", "expected"),
    [(0.0, 0.0, 1.0), (0.5, 0.0, 1.0), (10.0, 0.0, 10.0), (1e6, 0.0, 300.0), (10.0, 60.0, 60.0)],
)
def test_the_gap_is_the_largest_of_floor_robots_and_backoff(
    crawl_delay: float, backoff: float, expected: float
) -> None:
    host = HostRow(name="h", partition=0, crawl_delay=crawl_delay, backoff=backoff)
    assert pace.gap(host, SETTINGS) == expected


def test_a_slow_pace_needs_a_small_window() -> None:
    host = HostRow(name="h", partition=0, crawl_delay=30, answered=1.0, group="h")
    assert pace.window(host, SETTINGS) == 2
    fast = SETTINGS.model_copy(update={"min_gap": 0.01})
    assert pace.window(HostRow(name="h", partition=0, answered=1.0, group="h"), fast) == 8


def test_a_host_that_has_not_answered_gets_one_request_at_a_time() -> None:
    host = HostRow(name="h", partition=0, group="h")
    fast = SETTINGS.model_copy(update={"min_gap": 0.01})
    assert pace.window(host, fast) == 1
    pace.learn(host, reported(Outcome.GONE, 404), SETTINGS, now=1.0)
    assert pace.window(host, fast) == 8


def test_refusals_double_the_backoff_and_successes_halve_it() -> None:
    host = HostRow(name="h", partition=0)
    for now, expected in ((100.0, 2.0), (200.0, 4.0), (300.0, 8.0)):
        event = reported(Outcome.BLOCKED, 503, scheduled_at=now - 1)
        pace.learn(host, event, SETTINGS, now=now)
        assert (host.backoff, host.not_before) == (expected, now + expected)
    for expected in (4.0, 2.0, 1.0, 0.0):
        pace.learn(host, reported(Outcome.OK, 200), SETTINGS, now=100.0)
        assert host.backoff == expected


def test_retry_after_is_obeyed_beyond_the_backoff_within_a_day() -> None:
    host = HostRow(name="h", partition=0)
    pace.learn(host, reported(Outcome.BLOCKED, 429, retry_after=500.0), SETTINGS, now=0.0)
    assert host.not_before == 500.0
    pace.learn(host, reported(Outcome.BLOCKED, 429, retry_after=1e9), SETTINGS, now=0.0)
    assert host.not_before == 86_400.0


def test_a_forbidden_page_is_not_the_hosts_health() -> None:
    host = HostRow(name="h", partition=0)
    pace.learn(host, reported(Outcome.BLOCKED, 403), SETTINGS, now=0.0)
    assert (host.backoff, host.not_before) == (0.0, 0.0)


def test_the_lease_covers_the_requests_that_come_first() -> None:
    host = HostRow(name="h", partition=0, crawl_delay=100)
    assert pace.lease(host, SETTINGS) == SETTINGS.lease + 100


def test_a_host_that_asks_for_a_pause_gets_it_whatever_the_outcome() -> None:
    """An unreachable robots.txt closes its host for a while, and says how long."""
    host = HostRow(name="h", partition=0)
    pace.learn(host, reported(Outcome.TRANSIENT, retry_after=300.0), SETTINGS, now=0.0)
    assert host.not_before == 300.0


def test_the_reasons_that_slow_a_host_down_are_documented_outcomes() -> None:
    text = (Path(__file__).parents[2] / "docs" / "outcomes.md").read_text()
    assert {reason for reason in quarantine.SILENT if f"`{reason}`" not in text} == set()


def test_many_failures_of_one_incident_widen_the_backoff_once() -> None:
    """HTTP-11: what was handed out before the trouble was known says nothing new."""
    host = HostRow(name="h", partition=0)
    for _ in range(8):
        pace.learn(host, reported(Outcome.BLOCKED, 503), SETTINGS, now=10.0)
    assert host.backoff == 2.0
