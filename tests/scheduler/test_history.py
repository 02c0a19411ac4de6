"""A URL that comes with its history waits for its time; nothing is known twice (A9)."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.common.records import AdmittedUrl, FetchRequested, Outcome, Past, Rules, UrlAdmitted
from services.common.settings import Scheduler
from services.common.urls import fingerprint
from services.scheduler import audit, history, policies
from services.scheduler.rows import Rows, UrlRow

DAY = 86_400.0
START = 1_700_000_000.0
URL = "https://h.test/a"


def remember(
    desk: Any,  # noqa: ANN401 - the fixture's Desk
    past: Past,
    *urls: str,
    rules: Rules | None = None,
) -> list[FetchRequested]:
    event = UrlAdmitted(
        host="h.test",
        rules=rules or Rules(),
        urls=[AdmittedUrl(url=u, fingerprint=fingerprint(u), depth=1, past=past) for u in urls],
    )
    rows = Rows(desk.tables)
    requests = desk.partition.admit(event, rows, desk.now)
    rows.flush()
    return list(requests)


def fetched(days_ago: float, **fields: Any) -> Past:  # noqa: ANN401 - any field
    at = START - days_ago * DAY
    return Past(scheduled_at=at, fetched_at=at, changed_at=at, **fields)


def test_a_page_fetched_three_days_ago_is_due_by_its_interval(desk: Callable[..., Any]) -> None:
    here = desk(policy="adaptive")
    assert remember(here, fetched(3, interval=7 * DAY, etag='"e"'), URL) == []
    row = here.row(URL)
    assert row.due == START + 4 * DAY
    assert (row.depth, row.interval, row.etag, row.stored) == (1, 7 * DAY, '"e"', True)
    assert here.tick(1) == []
    assert len(here.tick(5 * DAY)) == 1
    assert audit.check(here.tables, 5).faults == []


def test_told_again_nothing_changes(desk: Callable[..., Any]) -> None:
    here = desk()
    remember(here, fetched(3), URL, "https://h.test/b")
    before = dict(here.tables.urls), here.status()
    remember(here, fetched(3), URL, "https://h.test/b")
    assert (dict(here.tables.urls), here.status()) == before
    assert here.status()["known"] == 2


def test_what_a_live_scheduler_knows_is_newer(desk: Callable[..., Any]) -> None:
    here = desk()
    (request,) = here.admit(URL, rules=Rules(max_depth=3))
    remember(here, fetched(3), URL, rules=Rules(max_depth=1))
    assert here.row(URL).scheduled == 0.0, "under way: its report will say"
    here.report(request)
    remember(here, fetched(3), URL)
    assert here.row(URL).scheduled == request.scheduled_at
    assert here.host().rules["default"].max_depth == 3
    assert here.status()["known"] == 1


def test_a_url_that_passed_for_new_gets_its_history(desk: Callable[..., Any]) -> None:
    here = desk(host_window=1)
    here.admit("https://h.test/first", URL)
    remember(here, fetched(3), URL)
    assert here.row(URL).fetched == START - 3 * DAY
    assert here.status()["known"] == 2
    assert audit.check(here.tables, 5).faults == []


def test_pages_count_towards_their_jobs_limit(desk: Callable[..., Any]) -> None:
    here = desk()
    rules = Rules(max_pages=2)
    remember(here, fetched(3), URL, "https://h.test/b", rules=rules)
    assert here.admit("https://h.test/c", rules=rules) == []


@given(
    st.floats(0, 1000),
    st.sampled_from(list(Outcome)),
    st.integers(0, 9),
    st.binary(min_size=16, max_size=16),
)
def test_nothing_is_due_before_now_nor_later_than_its_whole_wait(
    days_ago: float, outcome: Outcome, attempt: int, name: bytes
) -> None:
    settings = Scheduler()
    row = UrlRow(url=URL, job="j", depth=0)
    past = fetched(days_ago, outcome=outcome, attempt=attempt)
    policy = policies.load(settings)
    history.take(row, name, past, policy, settings=settings, now=START)
    longest = max(settings.first_interval, settings.give_up_interval)
    assert START <= row.due <= START + longest


def test_what_is_overdue_is_spread() -> None:
    settings = Scheduler(policy="adaptive")
    policy = policies.load(settings)
    dues = []
    for number in range(1000):
        row = UrlRow(url=URL, job="j", depth=0)
        name = fingerprint(str(number))
        history.take(row, name, fetched(400), policy, settings=settings, now=START)
        dues.append(row.due)
    half = settings.first_interval / 2
    assert max(dues) <= START + half
    assert 0.4 < sum(due < START + half / 2 for due in dues) / 1000 < 0.6


def test_an_orphan_gets_its_place_back(desk: Callable[..., Any]) -> None:
    here = desk(host_window=1)
    here.admit("https://h.test/first", "https://h.test/new")
    remember(here, fetched(3), URL)
    here.tables.timeline.clear()
    faults = audit.check(here.tables, 5).faults
    orphans = [fault for fault in faults if fault.fingerprint]
    assert {fault.where for fault in orphans} == {URL, "https://h.test/new"}
    for fault in orphans:
        rows = Rows(here.tables)
        healed, _ = here.partition.heal("h.test", fault.fingerprint, rows, here.now)
        rows.flush()
        assert healed
    assert audit.check(here.tables, 5).faults == []
    rows = Rows(here.tables)
    assert here.partition.heal("h.test", fingerprint(URL), rows, here.now) == (False, [])
