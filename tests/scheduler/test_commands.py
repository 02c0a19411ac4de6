"""What an operator's commands do (A6, A7)."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common.records import Outcome
from services.common.urls import fingerprint
from services.scheduler.audit import check
from services.scheduler.rows import Rows

Make = Callable[..., Any]
URL = "http://h.test/a"
DAY = 86_400.0


def told(d: Any, url: str = URL) -> dict[str, str]:  # noqa: ANN401 - the fixture's Desk
    found: dict[str, str] = d.partition.explain("h.test", fingerprint(url), Rows(d.tables), d.now)
    return found


def crawl(d: Any, *urls: str) -> None:  # noqa: ANN401
    d.admit(*urls)
    while d.under_way:
        d.report(d.under_way[0])


def sound(d: Any) -> bool:  # noqa: ANN401
    return not check(d.tables, max_attempts=d.settings.max_attempts).faults


def test_a_deleted_url_is_never_fetched_again_and_stays_refused(desk: Make) -> None:
    d = desk(first_interval=DAY)
    crawl(d, URL)
    assert d.command("delete", url=URL) == {"deleted": 1}
    assert d.command("delete", url=URL) == {"already": 1}
    assert "deleted" in told(d)["waits for"]
    assert d.status()["ok"] == 1
    assert d.tick(3 * DAY) == []
    assert (d.status().get("ok"), d.status()["deleted"]) == (None, 1)
    assert d.admit(URL) == []
    assert d.partition.happened["deleted"] == 1
    assert sound(d)


def test_a_deleted_prefix_forgets_what_it_holds_and_refuses_what_is_found(desk: Make) -> None:
    d = desk(first_interval=DAY, host_window=8)
    crawl(d, "http://h.test/a/1", "http://h.test/a/2", "http://h.test/b")
    assert d.command("delete", prefix="/a/") == {"prefixes_deleted": 1, "host_urls": 3}
    d.restart()
    assert d.admit("http://h.test/a/3") == []
    assert [r.url for r in d.tick(3 * DAY)] == ["http://h.test/b"]
    assert d.status()["known"] == len(d.tables.urls) == d.host().known == 1
    assert sound(d)


def test_new_urls_of_a_deleted_host_go_without_a_fetch(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*(f"http://h.test/{n}" for n in range(2000)))
    assert d.command("delete") == {"prefixes_deleted": 1, "host_urls": 2000}
    [first] = d.under_way
    assert d.report(first) == []
    after_one = len(d.tables.urls)
    assert 1000 < after_one < 2000, "one event puts away some"
    for _ in range(5):
        assert d.tick(1) == []
    assert (len(d.tables.urls), d.status()["known"]) == (0, 0)
    assert sound(d)


def test_undelete_works_until_the_bucket_is_visited(desk: Make) -> None:
    d = desk(first_interval=DAY, host_window=8)
    crawl(d, URL, "http://h.test/b")
    d.command("delete", url=URL)
    d.command("delete")
    assert d.command("undelete") == {"prefixes_undeleted": 1}
    assert d.command("undelete", url=URL) == {"undeleted": 1}
    assert d.command("undelete", url=URL) == {"not_deleted": 1}
    assert len(d.tick(3 * DAY)) == 2


def test_a_url_put_away_by_itself_can_be_undeleted_later(desk: Make) -> None:
    d = desk(first_interval=DAY)
    crawl(d, URL)
    d.command("delete", url=URL)
    d.tick(3 * DAY)
    d.command("undelete", url=URL)
    assert [(r.url, r.reason) for r in d.tick()] == [(URL, "asked")]
    assert sound(d)


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.TRANSIENT])
@pytest.mark.parametrize("one", [True, False])
def test_a_deleted_url_under_way_comes_back_for_good(
    desk: Make, outcome: Outcome, *, one: bool
) -> None:
    d = desk()
    [request] = d.admit(URL)
    d.command("delete", **({"url": URL} if one else {}))
    event = d.reported(request, outcome)
    d.deliver(event)
    d.deliver(event)
    assert d.tick(400 * DAY) == []
    assert d.status().get("deleted", 0) == int(one)
    assert sound(d)


def test_a_deleted_url_whose_lease_ends_is_not_asked_for_again(desk: Make) -> None:
    d = desk(lease=60)
    d.admit(URL)
    d.command("delete")
    assert d.tick(4000) == []
    assert (d.status()["known"], d.status()["in_flight"]) == (0, 0)


def test_a_host_can_be_deleted_before_it_is_known(desk: Make) -> None:
    d = desk()
    d.command("delete", host="new.test")
    assert d.admit("http://new.test/", host="new.test") == []


def test_a_paused_host_gives_nothing_until_it_is_resumed(desk: Make) -> None:
    d = desk(host_window=1)
    [first] = d.admit(URL, "http://h.test/b")
    assert d.command("pause") == {"hosts_paused": 1}
    d.restart()
    assert d.report(first) == []
    assert d.tick(DAY) == []
    assert (d.status()["paused"], d.status()["hosts_paused"]) == (1, 1)
    assert told(d, "http://h.test/b")["waits for"].startswith("its host to be resumed")
    assert d.command("resume") == {"hosts_resumed": 1}
    assert [r.url for r in d.tick()] == ["http://h.test/b"]


def test_a_host_is_moved_by_one_write(desk: Make) -> None:
    d = desk(first_interval=DAY, host_window=8)
    crawl(d, *(f"http://h.test/{n}" for n in range(200)))
    rows_before, chunks_before = dict(d.tables.urls), dict(d.tables.timeline)
    done = d.command("move", at=d.now + 30 * DAY)
    assert done["urls_moved"] == 200
    assert (dict(d.tables.urls), dict(d.tables.timeline)) == (rows_before, chunks_before)
    assert d.tick(29 * DAY) == []
    assert d.tick(DAY)[0].reason == "due"


def test_only_what_is_due_in_the_span_is_moved_and_a_repeat_moves_nothing(desk: Make) -> None:
    d = desk(first_interval=DAY, host_window=8)
    crawl(d, URL)
    d.tick(DAY / 2)
    crawl(d, "http://h.test/b")
    due = min(bucket.due for bucket in d.host().buckets.values() if bucket.due)
    same = {"id": "same", "at": d.now, "due_to": due}
    assert d.command("move", **same) == {"urls_moved": 1, "buckets": 1}
    assert [r.url for r in d.tick()] == [URL]
    assert d.command("move", **same) == {"already": 1}


def test_a_url_can_be_asked_for(desk: Make) -> None:
    d = desk()
    crawl(d, URL)
    d.now += 1
    assert d.command("recrawl", url=URL) == {"asked": 1}
    assert d.command("recrawl", url=URL) == {"already": 1}
    [request] = d.tick()
    assert (request.url, request.reason) == (URL, "asked")
    asked = d.now - 0.5
    d.report(request)
    assert d.command("recrawl", url=URL, asked_at=asked) == {"already": 1}, "comes again"
    assert d.command("recrawl", url="http://h.test/other") == {"unknown": 1}
    assert sound(d)


def test_a_host_can_be_asked_for(desk: Make) -> None:
    d = desk(host_window=8)
    crawl(d, URL, "http://h.test/b")
    assert d.command("recrawl")["urls_asked"] == 2
    assert {(r.url, r.reason) for r in d.tick(1)} == {(URL, "asked"), ("http://h.test/b", "asked")}


def test_a_boosted_url_goes_first(desk: Make) -> None:
    d = desk(host_window=1)
    [first] = d.admit(*(f"http://h.test/{n}" for n in range(5)), priority=0.1)
    assert d.command("boost", url="http://h.test/4", weight=2.0) == {"boosted": 1}
    assert [r.url for r in d.report(first)] == ["http://h.test/4"]
    assert sound(d)


def test_no_host_has_more_than_so_many_deleted_prefixes(desk: Make) -> None:
    d = desk()
    for number in range(64):
        d.command("delete", prefix=f"/{number}/")
    assert d.command("delete", prefix="/more") == {"too_many_prefixes": 1}


def test_all_hosts_are_moved_a_few_with_each_tick_through_a_restart(desk: Make) -> None:
    d = desk(first_interval=DAY, partition_window=1000)
    names = [f"h{n}.test" for n in range(300)]
    for name in names:
        d.admit(f"http://{name}/", host=name)
    while d.under_way:
        d.report(d.under_way[0])
    d.command("pause", host=names[0])
    at = d.now + 50 * DAY
    same = {"id": "all", "at": at, "due_to": at - 1}
    assert d.command("move", host="", **same) == {"hosts_to_move": 300}
    d.tick(1)
    assert d.command("move", host="", **same) == {"hosts_to_move": 300}, "comes again"
    moved = [any(b.due == at for b in d.host(name).buckets.values()) for name in names]
    assert 0 < sum(moved) < 300
    assert d.status()["commands_under_way"] == 1
    d.restart()
    assert d.status()["hosts"] == 300
    for _ in range(6):
        d.tick(1)
    assert "commands_under_way" not in d.status()
    assert not d.partition.needs_tick(d.now)
    assert all(any(b.due == at for b in d.host(name).buckets.values()) for name in names)
    d.restart()
    assert (d.status()["hosts"], d.tick(49 * DAY)) == (300, [])
    assert sound(d)
