"""A URL's stored rows as its history (A9)."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cli.recovery.stored_url import stored_url
from services.common.records import Outcome
from services.common.settings import Scheduler
from services.scheduler import policies

POLICY = policies.load(Scheduler(policy="adaptive"))
NOON = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - as the driver gives it
DAY = 86_400.0


@dataclass(frozen=True)
class Fetch:
    outcome: str = "ok"
    fetched_at: datetime = NOON
    changed: bool | None = None
    body_digest: bytes | None = b"b" * 16
    text_digest: bytes | None = b"t" * 16
    etag: str | None = None
    last_modified: str | None = None
    size: int | None = 10
    truncated: bool | None = False
    headers: dict[str, str] | None = field(default_factory=dict)
    host: str = "h.test"
    fingerprint: bytes = b"f" * 16
    url: str = "https://h.test/a"
    job: str = "j"
    depth: int = 2

    @property
    def started_at(self) -> datetime:
        return self.fetched_at + timedelta(seconds=1)


def days_ago(days: float) -> datetime:
    return NOON - timedelta(days=days)


def at(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


def test_the_interval_is_what_the_fetches_taught() -> None:
    rows = [
        Fetch("unchanged", NOON, changed=False, etag='"2"'),
        Fetch("ok", days_ago(14), changed=True, etag='"1"'),
        Fetch("ok", days_ago(28)),
    ]
    past = stored_url(rows, POLICY).past
    assert past.interval == pytest.approx(14 * DAY)  # halved, then doubled
    assert past.changed_at == at(days_ago(14)) + 1
    assert past.fetched_at == at(NOON) + 1
    assert past.scheduled_at == at(NOON)
    assert past.etag == '"2"'


def test_failures_since_the_last_success_count() -> None:
    rows = [
        Fetch("transient", NOON, body_digest=None),
        Fetch("blocked", days_ago(1), body_digest=None),
        Fetch("ok", days_ago(2), etag='"1"'),
        Fetch("transient", days_ago(3), body_digest=None),
    ]
    past = stored_url(rows, POLICY).past
    assert (past.outcome, past.attempt) == (Outcome.TRANSIENT, 2)
    assert past.fetched_at == at(days_ago(2)) + 1
    assert past.etag == '"1"'
    assert past.body_digest == b"b" * 16


def test_a_cut_body_leaves_no_validator() -> None:
    assert stored_url([Fetch(etag='"1"', truncated=True)], POLICY).past.etag is None


def test_a_redirect_keeps_its_target() -> None:
    moved = Fetch("moved", headers={"location": "/b?x=1"}, body_digest=None)
    assert stored_url([moved], POLICY).target == "https://h.test/b?x=1"
    assert stored_url([Fetch()], POLICY).target == ""


@given(st.lists(st.sampled_from([o.value for o in Outcome]), min_size=1, max_size=8))
def test_every_history_says_what_is_newest(outcomes: list[str]) -> None:
    rows = [Fetch(o, days_ago(age), changed=None) for age, o in enumerate(outcomes)]
    past = stored_url(rows, POLICY).past
    assert past.outcome == outcomes[0]
    assert past.fetched_at <= past.scheduled_at + 1
    assert past.changed_at <= past.fetched_at
    assert (past.interval > 0) == (past.fetched_at > 0)
    assert past.attempt <= len(outcomes)
