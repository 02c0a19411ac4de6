"""What a report says about changes, beside whether there was one (D8)."""

from email.utils import formatdate

import pytest

from services.common.records import CrawlReported, Outcome
from services.scheduler.hints import observation
from services.scheduler.policies import Seen
from services.scheduler.rows import UrlRow

DAY = 86_400.0
START = 1_700_000_000.0
URL = "http://h.test/"


def row(*, modified: float | None = None, fetched: float = START) -> UrlRow:
    date = None if modified is None else formatdate(modified, usegmt=True)
    return UrlRow(url=URL, job="default", depth=0, fetched=fetched, last_modified=date)


def reported(
    *,
    modified: float | None = None,
    changed: bool | None = True,
    outcome: Outcome = Outcome.OK,
    fresh_for: float | None = None,
) -> CrawlReported:
    return CrawlReported(
        host="h.test",
        fingerprint=b"0" * 16,
        scheduled_at=START,
        url=URL,
        job="default",
        outcome=outcome,
        reason="ok",
        changed=changed,
        fetched_at=START + 10 * DAY,
        elapsed=0.1,
        last_modified=None if modified is None else formatdate(modified, usegmt=True),
        fresh_for=fresh_for,
    )


@pytest.mark.parametrize(
    ("changed", "seen"),
    [(True, Seen.CHANGED), (False, Seen.UNCHANGED), (None, Seen.FIRST)],
)
def test_a_fetch_is_compared_with_the_last_one(changed: bool | None, seen: Seen) -> None:
    found = observation(row(), reported(changed=changed))
    assert (found.seen, found.since_last) == (seen, 10 * DAY)


def test_the_first_fetch_is_compared_with_nothing() -> None:
    found = observation(row(fetched=0.0), reported(changed=True))
    assert (found.seen, found.since_last) == (Seen.FIRST, 0.0)


def test_a_redirect_is_no_change_and_what_is_gone_is() -> None:
    assert observation(row(), reported(outcome=Outcome.MOVED)).seen is Seen.UNCHANGED
    assert observation(row(), reported(outcome=Outcome.GONE)).seen is Seen.GONE


def test_a_change_is_dated_by_a_server_that_keeps_dates() -> None:
    kept = observation(row(modified=START - 5 * DAY), reported(modified=START + 4 * DAY))
    assert kept.modified_age == 6 * DAY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (START, START + 10 * DAY),  # stamped, both times
        (START, START + 4 * DAY),  # stamped last time
        (START - 5 * DAY, START + 10 * DAY - 60),  # stamped this time
        (START - 5 * DAY, START - 5 * DAY),  # the text changed, the date did not
        (None, START + 4 * DAY),
        (START - 5 * DAY, None),
    ],
)
def test_other_dates_are_not_believed(before: float | None, after: float | None) -> None:
    assert observation(row(modified=before), reported(modified=after)).modified_age is None


def test_a_date_that_cannot_be_read_is_none() -> None:
    odd = row()
    odd.last_modified = "yesterday"
    assert observation(odd, reported(modified=START)).modified_age is None


def test_how_long_an_answer_may_be_kept_is_passed_on() -> None:
    assert observation(row(), reported(fresh_for=600.0)).hints.max_age == 600
    assert observation(row(), reported()).hints.max_age == 0
