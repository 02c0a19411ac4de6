"""A host that moved as a whole, learned from reports that may come twice (E9)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.records import CrawlReported, HostUpdated, Outcome
from services.common.settings import Scheduler
from services.common.urls import fingerprint
from services.scheduler.host_mapping import Expiries, expire, learn, told
from services.scheduler.rows import HostRow, Mapping, Rows

DAY = 86_400.0
SETTINGS = Scheduler()
AT = 1_700_000_000.0


def report(
    url: str,
    location: str | None = None,
    *,
    at: float = AT,
    status: int | None = None,
    outcome: Outcome | None = None,
    host: str = "a.test",
) -> CrawlReported:
    """A permanent redirect if there is a location, else a page."""
    return CrawlReported(
        host=host,
        fingerprint=fingerprint(url),
        scheduled_at=at,
        url=url,
        job="default",
        outcome=outcome or (Outcome.MOVED if location else Outcome.OK),
        reason="",
        status=status or (301 if location else 200),
        fetched_at=at,
        elapsed=0.1,
        location=location,
    )


def moved(path: str, *, to: str = "http://b.test", at: float = AT) -> CrawlReported:
    return report(f"http://a.test{path}", f"{to}{path}", at=at)


def after(
    reports: Sequence[CrawlReported],
    settings: Scheduler = SETTINGS,
    mapping: Mapping | None = None,
) -> Mapping | None:
    for item in reports:
        mapping = learn(mapping, item, settings)
    return mapping


def test_two_urls_that_moved_to_the_same_urls_of_a_host_make_a_mapping() -> None:
    mapping = after([moved("/1"), moved("/2", at=AT + 5)])
    assert told(mapping) == ("b.test", "", AT + 5 + 30 * DAY)


def test_one_url_makes_none_however_often_it_is_asked_for() -> None:
    assert told(after([moved("/1", at=AT + n) for n in range(5)])) == ("", "", 0.0)


def test_how_many_it_takes_is_a_setting() -> None:
    reports = [moved(f"/{n}", at=AT + n) for n in range(3)]
    assert told(after(reports[:1], Scheduler(host_mapping_confirmations=1))).host == "b.test"
    assert told(after(reports[:2], Scheduler(host_mapping_confirmations=3))).host == ""
    assert told(after(reports, Scheduler(host_mapping_confirmations=3))).host == "b.test"
    assert after(reports, Scheduler(host_mapping_confirmations=0)) is None


@pytest.mark.parametrize(
    "location",
    [
        "http://b.test/1?utm_source=a",
        "http://b.test/%31",
        "http://b.test:80/1",
    ],
)
def test_the_path_is_compared_by_identity(location: str) -> None:
    mapping = after([report("http://a.test/1", location), moved("/2", at=AT + 1)])
    assert told(mapping).host == "b.test"


@pytest.mark.parametrize("status", [300, 302, 303, 307])
def test_a_temporary_redirect_says_nothing(status: int) -> None:
    passing = report("http://a.test/1", "http://b.test/1", status=status)
    assert after([passing]) is None
    told_before = after([moved("/1"), moved("/2", at=AT + 1)])
    assert learn(told_before, report(passing.url, "http://c.test/1", status=status), SETTINGS) is (
        told_before
    )


def test_status_308_is_as_good_as_301() -> None:
    reports = [report(f"http://a.test/{n}", f"http://b.test/{n}", status=308) for n in range(2)]
    assert told(after(reports)).host == "b.test"


@pytest.mark.parametrize(
    "other",
    [
        report("http://a.test/x", at=AT + 9),
        report("http://a.test/x", outcome=Outcome.UNCHANGED, status=304, at=AT + 9),
        report("http://a.test/x", "http://b.test/", at=AT + 9),
        report("http://a.test/x", "http://a.test/y", at=AT + 9),
    ],
    ids=["a page", "an unchanged page", "to another path", "to another path of its own"],
)
def test_what_says_otherwise_ends_it_and_it_takes_as_many_again(other: CrawlReported) -> None:
    mapping = after([moved("/1"), moved("/2", at=AT + 1), other])
    assert told(mapping).host == ""
    mapping = learn(mapping, moved("/1", at=AT + 20), SETTINGS)
    assert told(mapping).host == ""
    assert told(learn(mapping, moved("/3", at=AT + 21), SETTINGS)).host == "b.test"


def test_a_redirect_to_a_third_host_ends_it_and_is_the_first_of_another() -> None:
    third = [moved(f"/{n}", to="http://c.test", at=AT + 5 + n) for n in range(2)]
    mapping = after([moved("/1"), moved("/2", at=AT + 1), third[0]])
    assert told(mapping).host == ""
    assert told(learn(mapping, third[1], SETTINGS)).host == "c.test"


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.TRANSIENT, Outcome.BLOCKED])
def test_a_failure_says_nothing(outcome: Outcome) -> None:
    before = after([moved("/1"), moved("/2", at=AT + 1)])
    failure = report("http://a.test/3", outcome=outcome, status=404, at=AT + 9)
    assert learn(before, failure, SETTINGS) is before


def test_from_http_to_https_a_host_stays_where_it_is() -> None:
    upgrades = [report(f"http://a.test/{n}", f"https://a.test/{n}", at=AT + n) for n in range(3)]
    assert after(upgrades) is None
    before = after([moved("/1"), moved("/2", at=AT + 1)])
    assert after(upgrades, mapping=before) is before


@pytest.mark.parametrize(
    ("to", "host", "scheme"),
    [
        ("https://b.test", "b.test", "https"),
        ("http://b.test:8080", "b.test:8080", "http"),
        ("http://b.test", "b.test", ""),
    ],
)
def test_scheme_and_port_move_along(to: str, host: str, scheme: str) -> None:
    mapping = after([moved("/1", to=to), moved("/2", to=to, at=AT + 1)])
    assert told(mapping)[:2] == (host, scheme)


def test_https_urls_that_keep_their_scheme_do_not_speak_for_http() -> None:
    to_https = [moved(f"/{n}", to="https://b.test", at=AT + n) for n in range(2)]
    kept = report("https://a.test/3", "https://b.test/3", at=AT + 5)
    assert told(after([*to_https, kept])).scheme == "https"


def test_a_name_that_a_rule_keeps_under_another_has_no_say() -> None:
    """The host in the records is `a.test` for `www.a.test` where `www.` is ignored."""
    mapping = after([moved("/1"), moved("/2", at=AT + 1)])
    page = report("http://www.a.test/1", at=AT + 9)
    assert learn(mapping, page, SETTINGS) is mapping
    back = [report(f"http://www.a.test/{n}", f"http://a.test/{n}", at=AT + n) for n in range(2)]
    assert after(back) is None


def test_it_is_over_after_its_time() -> None:
    mapping = after([moved("/1"), moved("/2")])
    end = AT + 30 * DAY
    assert expire(mapping, end - 1) is mapping
    over = expire(mapping, end)
    assert told(over).host == ""
    assert expire(over, end + 1) is over
    assert told(learn(over, moved("/2"), SETTINGS)).host == ""


def test_a_confirmation_renews_it_and_is_told_only_when_that_matters() -> None:
    mapping = after([moved("/1"), moved("/2")])
    a_little = learn(mapping, moved("/1", at=AT + DAY), SETTINGS)
    assert told(a_little) == told(mapping)
    more = learn(a_little, moved("/1", at=AT + 10 * DAY), SETTINGS)
    assert told(more).until == AT + 40 * DAY


def test_what_is_older_than_a_mapping_may_be_counts_no_more() -> None:
    mapping = after([moved("/1"), moved("/2", at=AT + 31 * DAY)])
    assert told(mapping).host == ""
    assert told(learn(mapping, moved("/3", at=AT + 32 * DAY), SETTINGS)).host == "b.test"


@pytest.mark.parametrize("location", ["", "mailto:a@b.test", "http://", "\ud800", "http://..//"])
def test_a_target_that_is_no_url_says_nothing(location: str) -> None:
    odd = report("http://a.test/1", "x")
    assert learn(None, CrawlReported(**{**fields(odd), "location": location}), SETTINGS) is None


def fields(item: CrawlReported) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__struct_fields__}


things = st.one_of(
    st.tuples(st.just("page"), st.integers(0, 3), st.just("")),
    st.tuples(
        st.just("moved"),
        st.integers(0, 3),
        st.sampled_from(["http://b.test", "https://b.test", "http://c.test:81", "http://a.test"]),
    ),
    st.tuples(st.just("elsewhere"), st.integers(0, 3), st.just("")),
)
history = st.lists(st.tuples(things, st.sampled_from([1.0, DAY, 4 * DAY, 31 * DAY])), max_size=20)


def reports_of(items: Sequence[tuple[tuple[str, int, str], float]]) -> list[CrawlReported]:
    made, now = [], AT
    for (kind, number, to), pause in items:
        now += pause
        url = f"http://a.test/{number}"
        location = {"page": None, "moved": f"{to}/{number}", "elsewhere": "http://b.test/x"}[kind]
        made.append(report(url, location, at=now))
    return made


@given(items=history, repeats=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19))))
def test_reports_that_come_again_change_nothing(
    items: list[tuple[tuple[str, int, str], float]], repeats: list[tuple[int, int]]
) -> None:
    """Each repeat is of something earlier, as after a crash or a rebalance."""
    once = reports_of(items)
    mapping = None
    for place, item in enumerate(once):
        mapping = learn(mapping, item, SETTINGS)
        for where, which in repeats:
            if where == place and which <= place:
                assert learn(mapping, once[which], SETTINGS) == mapping
    assert after(once, mapping=after(once)) == after(once)


@given(items=history)
def test_a_mapping_holds_only_by_enough_urls_and_within_its_time(
    items: list[tuple[tuple[str, int, str], float]],
) -> None:
    reports = reports_of(items)
    mapping = None
    for count, item in enumerate(reports, 1):
        mapping = learn(expire(mapping, item.fetched_at), item, SETTINGS)
        host, _, until = told(mapping)
        assert host != "a.test"
        if not host:
            continue
        since = (
            max(n for n in range(count) if not says(reports[n], host))
            if any(not says(reports[n], host) for n in range(count))
            else -1
        )
        confirming = {r.url for r in reports[since + 1 : count]}
        assert len(confirming) >= SETTINGS.host_mapping_confirmations
        assert item.fetched_at < until <= item.fetched_at + SETTINGS.host_mapping_ttl


def says(item: CrawlReported, host: str) -> bool:
    """Whether a report says that the host moved there, or nothing at all."""
    path = item.url.removeprefix("http://a.test")
    return item.location in {
        f"http://{host}{path}",
        f"https://{host}{path}",
        f"http://a.test{path}",
    }


def test_ends_come_in_order_each_once() -> None:
    ends = Expiries()
    for host, until in (("a.test", 9.0), ("b.test", 5.0), ("c.test", 0.0)):
        ends.note(host, Mapping(host="d.test", until=until))
    assert (ends.next(), ends.take(4.0)) == (5.0, None)
    assert [ends.take(10.0), ends.take(10.0), ends.take(10.0)] == ["b.test", "a.test", None]


# The partition: what it tells whom and when.


def crawl_away(d: Any, *paths: str, to: str = "http://b.test") -> list[CrawlReported]:  # noqa: ANN401 - the fixture's type
    """Fetch URLs of a.test, which all redirect."""
    reports = []
    d.admit(*[f"http://a.test{path}" for path in paths], host="a.test")
    while d.under_way:
        request = d.under_way[0]
        location = request.url.replace("http://a.test", to)
        d.now += 1
        made = d.reported(request, Outcome.MOVED, status=301, location=location)
        reports.append(made)
        d.deliver(made)
    return reports


def test_others_are_told_once_when_a_host_is_mapped(desk: Callable[..., Any]) -> None:
    d = desk()
    crawl_away(d, "/1", "/2", "/3", "/4")
    (facts,) = d.told
    assert facts == HostUpdated(
        host="a.test",
        at=facts.at,
        mapped_to="b.test",
        mapped_until=facts.at + SETTINGS.host_mapping_ttl,
    )


def test_others_are_told_when_it_is_contradicted_and_when_it_is_over(
    desk: Callable[..., Any],
) -> None:
    d = desk()
    crawl_away(d, "/1", "/2")
    d.admit("http://a.test/3", host="a.test")
    d.now += 1
    d.report(d.under_way[0])
    assert [facts.mapped_to for facts in d.told] == ["b.test", ""]
    crawl_away(d, "/4", "/5")
    assert [facts.mapped_to for facts in d.told] == ["b.test", "", "b.test"]
    assert not d.partition.needs_tick(d.now)
    d.tick(30 * DAY - 5)
    assert len(d.told) == 3
    d.restart()
    assert d.partition.needs_tick(d.now + 10)
    d.tick(10)
    assert [facts.mapped_to for facts in d.told[3:]] == [""]
    assert d.host("a.test").mapping.until == 0


def test_what_a_crash_cut_off_is_learned_and_told_again(desk: Callable[..., Any]) -> None:
    """The host's row is as before the reports, the URLs' rows have them."""
    d = desk()
    d.admit("http://a.test/0", host="a.test")
    before = dict(d.tables.hosts)
    reports = crawl_away(d, "/1", "/2")
    d.tables.hosts.update(before)
    d.restart()
    d.told.clear()
    for item in reports:
        d.deliver(item, replay=True)
    assert d.host("a.test").mapping.host == "b.test"
    assert d.told[-1].mapped_to == "b.test"


def test_what_was_learned_but_not_told_is_told_by_the_replay(desk: Callable[..., Any]) -> None:
    d = desk()
    reports = crawl_away(d, "/1", "/2")
    d.restart()
    d.told.clear()
    known = d.host("a.test")
    d.deliver(reports[-1], replay=True)
    assert d.host("a.test").mapping == known.mapping
    assert [facts.mapped_to for facts in d.told] == ["b.test"]


def test_an_ordinary_host_has_no_mapping_and_is_not_told_of(desk: Callable[..., Any]) -> None:
    d = desk()
    d.admit("http://a.test/1", host="a.test")
    report_of = d.reported(d.under_way[0])
    d.deliver(report_of)
    d.deliver(report_of, replay=True)
    host: HostRow = d.host("a.test")
    assert (host.mapping, d.told) == (None, [])


def test_explain_tells_where_the_host_went(desk: Callable[..., Any]) -> None:
    d = desk()
    key = fingerprint("http://a.test/1")
    crawl_away(d, "/1")
    found = d.partition.explain("a.test", key, Rows(d.tables), d.now)
    assert found["host's mapping"] == "perhaps to b.test: confirmed by 1 of 2 URLs"
    crawl_away(d, "/2")
    found = d.partition.explain("a.test", key, Rows(d.tables), d.now)
    assert found["host's mapping"].startswith("to b.test, until 2023-12-")
