"""What the scheduler makes of redirects that lead nowhere (HTTP-09)."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common.records import (
    AdmittedUrl,
    FetchRequested,
    Hop,
    Outcome,
    Rules,
    UrlAdmitted,
)
from services.common.urls import fingerprint
from services.scheduler.rows import Rows

DAY = 86_400.0
A, B = "http://h.test/a", "http://h.test/b"
Make = Callable[..., Any]


def hop(request: FetchRequested) -> Hop:
    return Hop(
        url=request.url,
        fingerprint=request.fingerprint,
        host=request.host,
        job=request.rules.job,
        scheduled_at=request.scheduled_at,
    )


def admit(d: Any, url: str, *trail: FetchRequested) -> list[FetchRequested]:  # noqa: ANN401 - the fixture's Desk
    """The URL is found as the target of redirects."""
    target = AdmittedUrl(
        url=url, fingerprint=fingerprint(url), trail=[hop(request) for request in trail]
    )
    rows = Rows(d.tables)
    event = UrlAdmitted(host="h.test", rules=Rules(), urls=[target])
    requests: list[FetchRequested] = d.partition.admit(event, rows, d.now)
    rows.flush()
    d.under_way += requests
    return requests


def test_a_trail_goes_out_with_the_next_request_and_no_other(desk: Make) -> None:
    d = desk(first_interval=14 * DAY)
    [first] = d.admit(A)
    d.report(first, Outcome.MOVED, status=302)
    [second] = admit(d, B, first)
    assert (first.trail, second.trail) == ([], [hop(first)])
    d.report(second)
    assert d.row(B).trail == []
    assert all(request.trail == [] for request in d.tick(30 * DAY))


def test_a_trail_outlives_a_failure_that_is_tried_again(desk: Make) -> None:
    d = desk(retry_base=1, bucket_width=1)
    [first] = d.admit(A)
    d.report(first, Outcome.MOVED, status=302)
    d.report(admit(d, B, first)[0], Outcome.TRANSIENT)
    [again] = d.tick(5)
    assert (again.reason, again.trail) == ("retry", [hop(first)])


def test_an_old_trail_is_left_out(desk: Make) -> None:
    """A site that turned its redirects round meanwhile has no loop."""
    d = desk(host_window=1, policy="fixed", first_interval=30 * DAY)
    [first] = d.admit(A)
    d.report(first, Outcome.MOVED, status=302)
    d.admit("http://h.test/slow")
    admit(d, B, first)
    d.now += 8 * DAY
    [request] = d.report(d.under_way[0])
    assert (request.url, request.trail) == (B, [])


def test_a_known_url_takes_a_trail_only_if_it_redirects_itself(desk: Make) -> None:
    d = desk()
    [page] = d.admit(B)
    d.report(page)
    [first] = d.admit(A)
    assert admit(d, B, first) == []
    assert d.row(B).trail == []
    [other] = d.admit("http://h.test/c")
    d.report(other, Outcome.MOVED, status=302)
    assert admit(d, other.url, first) == []
    assert d.row(other.url).trail == [hop(first)]
    admit(d, other.url, page)
    assert d.row(other.url).trail == [hop(first)], "the first of several is kept"


@pytest.mark.parametrize("order", ["report first", "dead end first"])
def test_a_dead_end_rests_for_long_whichever_is_heard_first(desk: Make, order: str) -> None:
    """HTTP-09: recorded, and no further scheduling for a long time; told twice is told once."""
    d = desk(first_interval=DAY, give_up_interval=30 * DAY)
    [request] = d.admit(A)
    fetch, end = d.reported(request, Outcome.MOVED, status=302), d.ended(d.reported(request))
    for event in [fetch, end] if order == "report first" else [end, fetch]:
        d.deliver(event)
    assert (d.status()["permanent"], d.status().get("moved", 0)) == (1, 0)
    explained = d.partition.explain("h.test", fingerprint(A), Rows(d.tables), d.now)
    assert explained["last outcome"] == "permanent: redirect-loop"
    before = dict(d.tables.urls), d.host().answered, d.host().group
    assert before[1:] == (request.scheduled_at, "h.test"), "the fetch taught its host's ways"
    d.deliver(end)
    d.deliver(fetch)
    assert (dict(d.tables.urls), d.host().answered, d.host().group) == before
    assert d.tick(29 * DAY) == []
    [again] = d.tick(3 * DAY)
    d.report(again)
    assert d.status()["ok"] == 1


def test_a_dead_end_that_comes_late_says_nothing_of_what_was_fetched_since(desk: Make) -> None:
    d = desk(first_interval=DAY)
    [request] = d.admit(A)
    d.report(request, Outcome.MOVED, status=302)
    [again] = d.tick(3 * DAY)
    d.report(again)
    d.deliver(d.ended(d.reported(request)))
    assert (d.row(A).outcome, d.status()["ok"]) == ("ok", 1)


def test_a_redirect_that_is_followed_again_later_is_no_dead_end_any_more(desk: Make) -> None:
    d = desk(give_up_interval=30 * DAY)
    [request] = d.admit(A)
    d.report(request, Outcome.MOVED, status=302)
    d.deliver(d.ended(d.reported(request)))
    [again] = d.tick(32 * DAY)
    d.report(again, Outcome.MOVED, status=302)
    assert d.row(A).outcome == "moved"


def test_a_fetch_that_is_no_redirect_after_all_is_taken_as_it_is(desk: Make) -> None:
    """The request was handed out twice, and its second copy found a page."""
    d = desk()
    [request] = d.admit(A)
    d.deliver(d.ended(d.reported(request)))
    d.report(request)
    assert (d.row(A).outcome, d.homeless()) == ("ok", [])


def test_a_dead_end_of_a_lost_url_makes_it_known_again(desk: Make) -> None:
    """A9."""
    d = desk()
    [request] = d.admit(A)
    other = desk()
    other.deliver(d.ended(d.reported(request)))
    assert (other.status()["permanent"], other.homeless()) == (1, [])
