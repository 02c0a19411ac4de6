"""One partition's decisions."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common.records import AdmittedUrl, FetchRequested, Outcome, Rules, UrlAdmitted
from services.common.urls import fingerprint
from services.scheduler.rows import Rows

HOUR = 3600.0
DAY = 24 * HOUR
Make = Callable[..., Any]


def pages(count: int, host: str = "h.test") -> list[str]:
    return [f"http://{host}/{i}" for i in range(count)]


def test_a_new_url_is_requested_at_once_with_its_reason(desk: Make) -> None:
    """A16."""
    d = desk()
    [request] = d.admit("http://h.test/a", depth=2)
    assert (request.url, request.reason, request.depth, request.attempt) == (
        "http://h.test/a",
        "new",
        2,
        0,
    )
    assert request.lease_until > d.now


def test_a_known_url_is_not_requested_again(desk: Make) -> None:
    d = desk()
    d.admit("http://h.test/a")
    assert d.admit("http://h.test/a") == []
    d.report(d.under_way[0])
    assert d.admit("http://h.test/a") == []
    assert d.status()["known"] == 1


def test_an_unchanged_page_waits_longer_and_a_changed_one_less(desk: Make) -> None:
    """A2: first two weeks, then doubled or halved."""
    d = desk(policy="adaptive", first_interval=14 * DAY, factor=2, bucket_width=HOUR)
    d.report(d.admit("http://h.test/a")[0])
    assert d.row("http://h.test/a").interval == 14 * DAY
    [again] = d.tick(15 * DAY)
    assert again.reason == "due"
    d.report(again, changed=False)
    assert d.row("http://h.test/a").interval == 28 * DAY
    [third] = d.tick(30 * DAY)
    d.report(third, changed=True)
    assert d.row("http://h.test/a").interval == 14 * DAY


def test_a_304_is_no_change_and_an_error_is_no_observation(desk: Make) -> None:
    """CHG-03."""
    d = desk(policy="adaptive", first_interval=14 * DAY)
    d.report(d.admit("http://h.test/a")[0], etag='"1"')
    [second] = d.tick(15 * DAY)
    assert second.etag == '"1"'
    d.report(second, Outcome.UNCHANGED, changed=False, etag='"1"')
    before = d.row("http://h.test/a").interval
    [third] = d.tick(30 * DAY)
    d.report(third, Outcome.TRANSIENT)
    row = d.row("http://h.test/a")
    assert (before, row.interval, row.etag) == (28 * DAY, 28 * DAY, '"1"')


def test_validators_and_digests_go_out_with_the_next_request(desk: Make) -> None:
    """C10."""
    d = desk()
    d.report(d.admit("http://h.test/a")[0], etag='"1"', body_digest=b"b" * 16)
    [again] = d.tick(15 * DAY)
    assert (again.etag, again.body_digest) == ('"1"', b"b" * 16)


def test_the_stored_size_goes_out_and_outlives_an_unchanged_fetch(desk: Make) -> None:
    """C10: the fetcher decides by it whether to ask by HEAD first."""
    d = desk(first_interval=14 * DAY)
    d.report(d.admit("http://h.test/a")[0], size=5000)
    [second] = d.tick(15 * DAY)
    d.report(second, Outcome.UNCHANGED, changed=False)
    [third] = d.tick(30 * DAY)
    assert (second.size, third.size) == (5000, 5000)


def test_a_failure_is_retried_with_doubling_waits_then_given_up(desk: Make) -> None:
    """C6."""
    d = desk(max_attempts=3, retry_base=60, bucket_width=1, give_up_interval=30 * DAY)
    d.report(d.admit("http://h.test/a")[0], Outcome.TRANSIENT)
    assert d.status()["retrying"] == 1
    assert d.tick(59) == []
    [first] = d.tick(4)
    assert (first.reason, first.attempt) == ("retry", 1)
    d.report(first, Outcome.TRANSIENT)
    assert d.tick(119) == []
    [second] = d.tick(8)
    d.report(second, Outcome.TRANSIENT)
    assert d.status()["transient"] == 1
    assert d.tick(DAY) == []
    assert len(d.tick(31 * DAY)) == 1


def test_gone_pages_are_looked_at_again_much_later(desk: Make) -> None:
    d = desk(give_up_interval=30 * DAY)
    d.report(d.admit("http://h.test/a")[0], Outcome.GONE)
    assert d.status()["gone"] == 1
    assert d.tick(29 * DAY) == []
    assert len(d.tick(3 * DAY)) == 1


def test_a_request_never_reported_comes_back_after_its_lease(desk: Make) -> None:
    """A8."""
    d = desk(lease=600, retry_base=1, bucket_width=1)
    [lost] = d.admit("http://h.test/a")
    assert d.tick(599) == []
    d.tick(2)
    [again] = d.tick(3)
    assert (again.url, again.reason) == (lost.url, "retry")
    assert again.scheduled_at > lost.scheduled_at
    assert d.partition.happened["lease-expired"] == 1


def test_a_late_report_of_an_expired_lease_still_counts(desk: Make) -> None:
    d = desk(lease=600, retry_base=3600, bucket_width=1)
    [request] = d.admit("http://h.test/a")
    d.tick(601)
    d.report(request)
    assert d.status()["ok"] == 1
    assert d.homeless() == []


def test_what_is_given_back_unsent_leaves_what_is_known_of_a_page(desk: Make) -> None:
    """Its lease ended in an outage; the page's report comes, then the second request is back."""
    d = desk(lease=600, retry_base=1, bucket_width=1)
    [first] = d.admit("http://h.test/a")
    [second] = d.tick(601) or d.tick(5)
    d.report(first)
    d.report(second, Outcome.TRANSIENT, reason="held-back")
    assert d.row("http://h.test/a").outcome == "ok"
    assert d.status()["ok"] == 1
    assert d.homeless() == []


def test_a_repeated_report_changes_nothing(desk: Make) -> None:
    d = desk()
    event = d.reported(d.admit("http://h.test/a")[0])
    d.deliver(event)
    before = (dict(d.tables.urls), d.status())
    d.deliver(event)
    assert (dict(d.tables.urls), d.status()) == before


def test_a_report_for_an_unknown_url_makes_it_known_again(desk: Make) -> None:
    """A9."""
    d = desk()
    [request] = d.admit("http://h.test/a")
    for table in (d.tables.urls, d.tables.hosts, d.tables.timeline):
        table.clear()
    d.restart()
    d.report(request)
    assert d.status()["known"] == 1
    assert d.homeless() == []
    assert len(d.tick(15 * DAY)) == 1


def test_one_host_has_a_bounded_number_of_requests_under_way(desk: Make) -> None:
    """D6."""
    d = desk(host_window=3)
    d.proven()
    assert len(d.admit(*pages(10))) == 3
    assert len(d.report(d.under_way[0])) == 1


def test_hosts_take_turns(desk: Make) -> None:
    d = desk(partition_window=4, host_window=4)
    d.admit(*pages(20, "a.test"), host="a.test")
    d.admit(*pages(20, "b.test"), host="b.test")
    for _ in range(12):
        d.report(d.under_way[0])
    hosts = [r.host for r in d.under_way]
    assert sorted(hosts) == ["a.test", "a.test", "b.test", "b.test"]


def reasons_while_both_wait(d: Any) -> list[str]:  # noqa: ANN401 - the fixture's Desk
    """Why 50 requests went out, one at a time, with 100 recrawls due and 100 URLs new."""
    d.admit(*pages(100))
    while d.under_way:
        d.report(d.under_way[0])
    d.tick(2 * DAY)
    d.admit(*[f"http://new.test/{i}" for i in range(100)], host="new.test")
    d.report(d.under_way[0])
    seen = []
    for _ in range(50):
        seen.append(d.under_way[0].reason)
        d.report(d.under_way[0])
    return seen


def test_due_and_new_share_the_budget_sixty_to_forty(desk: Make) -> None:
    """A4."""
    d = desk(partition_window=1, host_window=1, first_interval=DAY, sacrifice="recrawls")
    seen = reasons_while_both_wait(d)
    assert seen.count("due") == 30
    assert seen.count("new") == 20


def test_recrawls_that_are_late_come_before_new_urls(desk: Make) -> None:
    """A5: the lag is measured where work is handed out, and shifts the split there."""
    d = desk(partition_window=1, host_window=1, first_interval=DAY, max_lag=3600, new_floor=0.2)
    seen = reasons_while_both_wait(d)
    assert seen.count("new") == 10
    assert d.partition.lag > 3600


def test_what_one_side_cannot_use_the_other_gets(desk: Make) -> None:
    """A4."""
    d = desk(partition_window=5, host_window=5)
    d.proven()
    assert len(d.admit(*pages(5))) == 5


def test_a_job_takes_no_more_pages_than_it_may(desk: Make) -> None:
    d = desk(host_window=4)
    rules = Rules(job="small", max_pages=5)
    d.admit(*pages(20), rules=rules)
    fetched = 0
    while d.under_way:
        d.report(d.under_way[0])
        d.tick(1)
        fetched += 1
    assert fetched == 5
    assert d.status()["over_limit"] == 15
    assert d.status()["ok"] == 5


def test_failed_pages_do_not_use_up_a_jobs_limit(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*pages(4), rules=Rules(job="small", max_pages=2))
    outcomes = iter([Outcome.GONE, Outcome.OK, Outcome.GONE, Outcome.OK])
    while d.under_way:
        d.report(d.under_way[0], next(outcomes))
    assert (d.status()["ok"], d.status()["gone"]) == (2, 2)


def test_a_page_limit_survives_a_restart(desk: Make) -> None:
    d = desk(host_window=2)
    d.admit(*pages(10), rules=Rules(job="small", max_pages=3))
    d.report(d.under_way[0])
    d.restart()
    while d.under_way:
        d.report(d.under_way[0])
        d.tick(1)
    assert d.status()["ok"] == 3


def test_a_later_job_crawls_known_urls_anew(desk: Make) -> None:
    d = desk()
    rules = Rules(job="first")
    d.report(d.admit("http://h.test/a", rules=rules)[0], etag='"1"')
    d.now += 10
    anew = Rules(job="second", fresh_after=d.now)
    d.now += 1
    [request] = d.admit("http://h.test/a", rules=anew)
    assert (request.reason, request.follow, request.rules.job) == ("asked", True, "second")
    assert request.etag == '"1"'
    d.report(request)
    assert d.admit("http://h.test/a", rules=anew) == []


def test_a_url_under_way_for_one_job_is_fetched_again_for_another(desk: Make) -> None:
    d = desk()
    [first] = d.admit("http://h.test/a", rules=Rules(job="first"))
    d.now += 1
    assert d.admit("http://h.test/a", rules=Rules(job="second", fresh_after=d.now)) == []
    [second] = d.report(first)
    assert (second.rules.job, second.follow) == ("second", True)


def test_a_page_found_nearer_to_a_seed_is_followed_again_under_a_depth_limit(desk: Make) -> None:
    d = desk()
    rules = Rules(max_depth=3)
    d.report(d.admit("http://h.test/a", rules=rules, depth=3)[0])
    [again] = d.admit("http://h.test/a", rules=rules, depth=1)
    assert (again.depth, again.follow) == (1, True)


def test_too_many_requests_hold_the_whole_host_back(desk: Make) -> None:
    """D6: Retry-After is the host's, not the URL's."""
    d = desk(host_window=1, bucket_width=1)
    d.admit(*pages(5))
    assert d.report(d.under_way[0], Outcome.BLOCKED, status=429, retry_after=120.0) == []
    assert d.tick(119) == []
    assert len(d.tick(2)) == 1
    assert d.under_way[0].gap >= 2.0


def test_a_slow_host_does_not_hold_up_another(desk: Make) -> None:
    d = desk(host_window=2)
    d.admit(*pages(5, "slow.test"), host="slow.test")
    assert len(d.admit(*pages(2, "fast.test"), host="fast.test")) == 1
    assert len(d.report(d.under_way[-1])) == 1


def test_nothing_is_lost_when_the_process_restarts(desk: Make) -> None:
    """F2."""
    d = desk(host_window=3)
    d.admit(*pages(50))
    d.report(d.under_way[0])
    before = d.status()
    d.restart()
    assert d.status() == before
    while d.under_way:
        d.report(d.under_way[0])
    assert d.status()["ok"] == 50


def test_idle_recrawl_takes_what_is_due_next_but_not_too_soon(desk: Make) -> None:
    """A15."""
    d = desk(recrawl_when_idle=True, min_interval=HOUR)
    d.report(d.admit("http://h.test/a")[0])
    assert d.tick(HOUR - 1) == []
    [request] = d.tick(2)
    assert request.reason == "idle"


def test_the_clock_going_back_does_not_repeat_an_identity(desk: Make) -> None:
    d = desk(first_interval=HOUR, min_interval=1)
    [first] = d.admit("http://h.test/a")
    d.report(first)
    row = d.row("http://h.test/a")
    d.now = row.due + HOUR
    [second] = d.tick()
    d.report(second)
    d.now -= 20 * DAY
    anew = Rules(job="again", fresh_after=d.now + 40 * DAY)
    [third] = d.admit("http://h.test/a", rules=anew)
    assert third.scheduled_at > second.scheduled_at


def test_urls_of_a_host_that_is_held_back_for_long_are_no_work_for_now(desk: Make) -> None:
    d = desk(host_window=1, bucket_width=1, retry_base=1)
    d.admit(*pages(5))
    d.report(d.under_way[0], Outcome.TRANSIENT, retry_after=300.0)
    assert (d.status()["paused"], d.status()["waiting"]) == (5, 0)
    assert d.status()["known"] == 5
    d.tick(301)
    assert d.status()["paused"] == 0
    assert len(d.under_way) == 1


def redirected(d: Any, target: str) -> list[FetchRequested]:  # noqa: ANN401 - the fixture's Desk
    """The frontier says that `http://h.test/x` leads to another writing of itself."""
    event = UrlAdmitted(
        host="h.test",
        rules=Rules(),
        urls=[AdmittedUrl(url=target, fingerprint=fingerprint("http://h.test/x"), moved=True)],
    )
    rows = Rows(d.tables)
    requests: list[FetchRequested] = d.partition.admit(event, rows, d.now)
    rows.flush()
    d.under_way += requests
    return requests


def test_a_url_that_redirects_to_another_writing_of_itself_is_fetched_there(desk: Make) -> None:
    """C1: both writings have one identity, so nobody else would fetch the target."""
    d = desk()
    d.report(d.admit("http://h.test/x")[0], Outcome.MOVED)
    [request] = redirected(d, "http://h.test/x/")
    assert (request.url, request.fingerprint) == (
        "http://h.test/x/",
        fingerprint("http://h.test/x"),
    )
    d.report(request)
    assert redirected(d, "http://h.test/x/") == []
    assert (d.status()["ok"], d.status()["known"]) == (1, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [("http://h.test/a", "http://h.test/b"), ("http://h.test/", "https://h.test/")],
)
def test_two_urls_that_redirect_to_each_other_rest_longer_and_longer(
    desk: Make, one: str, other: str
) -> None:
    """HTTP-09 D, E: once around, and then as a page that never changes."""
    d = desk(policy="adaptive", first_interval=14 * DAY, factor=2, bucket_width=HOUR)
    requests = 0
    under_way = d.admit(one)
    for days in (0, 15, 30, 60):
        under_way += d.tick(days * DAY)
        while under_way:
            request = under_way.pop()
            requests += 1
            under_way += d.report(request, Outcome.MOVED)
            under_way += d.admit(other if request.url == one else one)
    assert requests == 4 * 2
    assert d.row(one).interval == d.row(other).interval == 112 * DAY


def test_so_it_is_when_the_frontier_is_faster_than_the_report(desk: Make) -> None:
    d = desk()
    [first] = d.admit("http://h.test/x")
    assert redirected(d, "http://h.test/x/") == []
    [request] = d.report(first, Outcome.MOVED)
    assert request.url == "http://h.test/x/"
    assert d.homeless() == []


def test_two_writings_that_redirect_to_each_other_are_left_alone_after_a_while(desk: Make) -> None:
    """D11: a loop."""
    d = desk()
    [request] = d.admit("http://h.test/x")
    urls = [request.url]
    while d.under_way:
        request = d.under_way[0]
        d.report(request, Outcome.MOVED)
        other = "http://h.test/x/" if request.url.endswith("x") else "http://h.test/x"
        urls += [again.url for again in redirected(d, other)]
    assert len(urls) == 4
    assert d.status()["moved"] == 1


def test_a_full_host_takes_no_more_urls_and_keeps_those_it_has(desk: Make) -> None:
    """D10: exact, because the scheduler knows what it knows."""
    d = desk(max_urls_per_host=3, host_window=1)
    d.admit(*pages(5))
    d.admit(*pages(5))
    d.admit(*pages(2, "other.test"), host="other.test")
    assert d.status()["known"] == 5
    assert d.partition.happened["host-full"] == 4
    while d.under_way:
        d.report(d.under_way[0])
    assert d.status()["ok"] == 5


def test_a_host_that_never_answers_holds_no_crawl_open(desk: Make) -> None:
    d = desk(host_window=1, retry_base=1, max_attempts=9)
    d.admit("http://h.test/a")
    for _ in range(4):
        assert d.status().get("paused", 0) == 0
        d.report(d.under_way[0], Outcome.TRANSIENT, reason="dns-not-found")
        if d.status().get("paused"):
            break
        d.tick(30)
    assert (d.status()["paused"], d.status()["waiting"], d.status()["retrying"]) == (1, 0, 0)


def sitemap(desk: Any, url: str, rules: Rules) -> None:  # noqa: ANN401 - the fixture's own
    found = AdmittedUrl(url=url, fingerprint=fingerprint(url), sitemap_level=2, lastmod=5.0)
    rows = Rows(desk.tables)
    event = UrlAdmitted(host="h.test", rules=rules, urls=[found])
    desk._done(rows, desk.partition.admit(event, rows, desk.now))  # noqa: SLF001


def test_a_sitemap_is_asked_for_as_one_and_counts_for_no_limit(desk: Make) -> None:
    """D11."""
    d = desk(host_window=1)
    rules = Rules(job="small", max_pages=2)
    sitemap(d, "http://h.test/s.xml", rules)
    [request] = d.under_way
    assert request.sitemap_level == 2
    d.admit(*pages(4), rules=rules)
    d.report(request, listing=True)
    while d.under_way:
        d.report(d.under_way[0], listing=False)
    assert (d.status()["ok"], d.status()["over_limit"]) == (3, 2)


def test_what_turns_out_to_be_a_feed_counts_for_no_limit_either(desk: Make) -> None:
    """D11: nor when it is found unchanged later."""
    d = desk(host_window=1)
    rules = Rules(job="small", max_pages=2)
    [feed] = d.admit("http://h.test/feed", rules=rules)
    d.report(feed, listing=True)
    assert d.row("http://h.test/feed").stored is False
    [again] = d.tick(15 * DAY)
    d.report(again, Outcome.UNCHANGED)
    d.admit(*pages(4), rules=rules)
    while d.under_way:
        d.report(d.under_way[0], listing=False)
    assert (d.status()["ok"], d.status()["over_limit"]) == (2, 2)


def test_a_job_with_all_its_pages_asks_for_no_more_sitemaps(desk: Make) -> None:
    d = desk(host_window=1)
    rules = Rules(job="small", max_pages=1)
    [page] = d.admit("http://h.test/0", rules=rules)
    sitemap(d, "http://h.test/s.xml", rules)
    d.report(page, listing=False)
    d.tick(1)
    assert d.under_way == []
    assert d.status()["over_limit"] == 1
