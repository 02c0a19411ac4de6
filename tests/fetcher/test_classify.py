"""C6: every status and failure has a class, and the documentation names them all."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.records import Outcome
from services.fetcher import classify

DOCS = Path(__file__).parents[2] / "docs" / "outcomes.md"


@pytest.mark.parametrize(
    ("status", "outcome", "reason"),
    [
        (200, Outcome.OK, "ok"),
        (204, Outcome.OK, "ok"),
        (302, Outcome.PERMANENT, "redirect-without-location"),
        (400, Outcome.PERMANENT, "client-error"),
        (401, Outcome.BLOCKED, "unauthorized"),
        (404, Outcome.GONE, "not-found"),
        (410, Outcome.GONE, "gone"),
        (418, Outcome.PERMANENT, "client-error"),
        (429, Outcome.BLOCKED, "too-many-requests"),
        (451, Outcome.BLOCKED, "legal"),
        (500, Outcome.TRANSIENT, "server-error"),
        (503, Outcome.BLOCKED, "unavailable"),
        (600, Outcome.PERMANENT, "unknown-status"),
        (999, Outcome.PERMANENT, "unknown-status"),
        (101, Outcome.PERMANENT, "unknown-status"),
    ],
)
def test_a_status_has_a_class(status: int, outcome: Outcome, reason: str) -> None:
    assert classify.by_status(status) == classify.Verdict(outcome, reason)


@given(st.integers(0, 2000))
def test_any_status_has_a_class(status: int) -> None:
    assert classify.by_status(status).reason


def test_a_damaged_body_is_tried_again_and_then_accepted() -> None:
    outcomes = [classify.by_damage("incomplete", attempt).outcome for attempt in range(4)]
    assert outcomes == [Outcome.TRANSIENT, Outcome.TRANSIENT, Outcome.OK, Outcome.OK]


def test_a_body_cut_by_our_limit_is_accepted_at_once() -> None:
    assert classify.by_damage("size-limit", 0) == classify.Verdict(Outcome.OK, "size-limit")


def test_a_body_that_timed_out_is_never_accepted() -> None:
    assert classify.by_damage("total-timeout", 9).outcome is Outcome.TRANSIENT


def test_the_documentation_names_every_reason() -> None:
    verdicts = {
        *classify.STATUSES.values(),
        *classify.CLASSES.values(),
        *classify.FAILURES.values(),
        classify.UNCHANGED,
        classify.HEAD_SAME,
        classify.MOVED,
        classify.REDIRECT_LOOP,
        classify.DISALLOWED,
        classify.BAD_STATUS,
        *(classify.by_damage(word, 0) for word in classify.DAMAGE | classify.FLAGS),
        *(classify.by_damage(word, 9) for word in classify.DAMAGE),
    }
    rows = {
        tuple(cell.strip(" `") for cell in line.split("|")[1:3])
        for line in DOCS.read_text().splitlines()
        if line.startswith("| `") and line.split("|")[2].startswith(" `")
    }
    assert rows == {(verdict.outcome.value, verdict.reason) for verdict in verdicts}
