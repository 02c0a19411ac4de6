"""What the scheduler says of one URL."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common import topics
from services.common.codec import encode
from services.common.records import Command, CommandResult, Outcome, Rules
from services.common.urls import fingerprint
from services.scheduler.events import Events
from services.scheduler.rows import Rows

Make = Callable[..., Any]
URL = "http://h.test/a"
DAY = 86_400.0


def told(d: Any, url: str = URL, host: str = "h.test") -> dict[str, str]:  # noqa: ANN401 - the fixture's Desk
    found: dict[str, str] = d.partition.explain(host, fingerprint(url), Rows(d.tables), d.now)
    return found


def test_an_unknown_url_waits_for_someone_to_find_it(desk: Make) -> None:
    """G3."""
    d = desk()
    assert told(d)["state"] == "unknown"
    d.admit("http://h.test/other")
    assert set(told(d)) == {"state", "waits for"}


def test_a_url_that_a_full_host_refused_is_told_so(desk: Make) -> None:
    """D10."""
    d = desk(max_urls_per_host=1)
    d.admit("http://h.test/first")
    d.admit(URL)
    full = "nothing: its host has all the 1 URLs it may have (host-full)"
    assert told(d) == {"state": "unknown", "waits for": full}


def test_a_request_under_way_is_explained_by_its_reason_and_its_lease(desk: Make) -> None:
    """A16."""
    d = desk(lease=600)
    d.admit(URL, depth=2)
    assert told(d) == {
        "state": "in_flight",
        "fetched as": URL,
        "job": "default",
        "depth": "2",
        "priority": "0.333333",
        "policy": "optimal",
        "waits for": "its request (new) to be reported back, at most until 2023-11-14 22:23:20Z",
        "host's gap": "0 s",
        "host's requests": "1 of 1 under way",
        "host's URLs": "1",
    }


def test_a_page_that_was_fetched_waits_for_its_time(desk: Make) -> None:
    d = desk(first_interval=14 * DAY, bucket_width=3600)
    d.report(d.admit(URL)[0])
    found = told(d)
    assert {name: found[name] for name in ("state", "last outcome", "last reason", "interval")} == {
        "state": "ok",
        "last outcome": "ok",
        "last reason": "new",
        "interval": "14 days, 0:00:00",
    }
    assert found["last fetch"] == found["last change"] == found["last request"]
    assert found["next due"].startswith("2023-11-28")
    assert found["policy"] == "optimal"
    assert found["change rate"].startswith("0.2 changes a day")
    asked = "its due time, if the price stays; its policy is asked at 2023-11-2"
    assert found["waits for"].startswith(asked)


def test_a_policy_that_knows_no_price_has_a_due_time_and_no_more(desk: Make) -> None:
    d = desk(policy="adaptive", first_interval=14 * DAY, bucket_width=3600)
    d.report(d.admit(URL)[0])
    found = told(d)
    assert found["policy"] == "adaptive"
    assert found["waits for"].startswith("its due time, 2023-11-2")


def test_a_failure_says_how_often(desk: Make) -> None:
    d = desk()
    d.report(d.admit(URL)[0], Outcome.TRANSIENT)
    found = told(d)
    assert (found["state"], found["failures in a row"], found["last outcome"]) == (
        "retrying",
        "1",
        "transient",
    )
    assert found["waits for"].startswith("its due time")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"host_window": 1}, "one of its host's 1 requests to end"),
        ({"partition_window": 1}, "one of the partition's 1 requests to end"),
    ],
)
def test_a_full_window_is_what_it_waits_for(
    desk: Make, settings: dict[str, int], reason: str
) -> None:
    d = desk(**settings)
    d.proven()
    d.admit("http://h.test/first")
    d.admit(URL)
    assert told(d)["state"] == "waiting"
    assert told(d)["waits for"] == reason


def test_a_host_that_is_held_back_is_what_it_waits_for(desk: Make) -> None:
    """D6."""
    d = desk(host_window=1)
    [first] = d.admit("http://h.test/first")
    d.admit(URL)
    d.report(first, Outcome.BLOCKED, status=429, retry_after=3600.0)
    found = told(d)
    assert found["waits for"] == "its host, held back until 2023-11-14 23:13:20Z"
    assert found["host held back until"] == "2023-11-14 23:13:20Z"
    assert found["host's back-off"] == "2 s"


def test_a_jobs_page_limit_is_what_it_waits_for(desk: Make) -> None:
    d = desk()
    rules = Rules(job="small", max_pages=1)
    d.proven()
    [first] = d.admit("http://h.test/first", rules=rules)
    d.admit(URL, rules=rules)
    assert "its job's pages under way" in told(d)["waits for"]
    d.report(first)
    d.tick(1)
    assert told(d)["state"] == "over_limit"
    assert told(d)["waits for"] == "nothing: its job has all its pages"


def test_else_it_is_the_hosts_turn(desk: Make) -> None:
    d = desk(host_window=1)
    d.proven()
    [first] = d.admit("http://h.test/first")
    d.admit("http://h.test/second", URL)
    first_lease = first.lease_until
    d.partition.unload()
    d.restart()
    assert first_lease > d.now
    row = d.row(URL)
    assert row.position == 2
    d.settings = d.settings.model_copy(update={"host_window": 9})
    d.restart()
    assert told(d)["waits for"].startswith("its host's turn; at most 1 of the host's new URLs")


def test_a_url_without_a_place_is_told_as_such(desk: Make) -> None:
    """A9: a crash can leave one; it is given a place when it is met again."""
    d = desk(host_window=1)
    d.admit("http://h.test/first", URL)
    d.tables.timeline.clear()
    assert told(d)["waits for"].startswith("nothing: it has lost its place")


def test_only_the_commands_own_question_is_answered(desk: Make) -> None:
    d = desk()
    d.admit(URL)
    events = Events(d.tables, "worker-1", 1, clock=lambda: d.now)

    def answer(command: Command) -> CommandResult:
        value = encode(topics.COMMANDS, command)
        _, [output] = events.decide(topics.COMMANDS, value, 3, d.partition, replay=False)
        assert isinstance(output.record, CommandResult)
        return output.record

    asked = Command(
        id="1", name="explain", asked_at=0.0, host="h.test", fingerprint=fingerprint(URL)
    )
    told = answer(asked)
    assert (told.id, told.name, told.partition, told.worker) == ("1", "explain", 3, "worker-1")
    assert (told.result, told.detail["state"]) == ({}, "in_flight")
    status = answer(Command(id="2", name="status", asked_at=0.0))
    assert (status.result["known"], status.detail) == (1, {})
