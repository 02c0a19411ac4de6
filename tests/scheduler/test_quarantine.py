"""A host that does not answer is asked by one probe at a time, and nothing of it is lost (D6)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.common.records import FetchRequested, Outcome
from services.common.settings import Scheduler
from services.common.urls import fingerprint
from services.scheduler import quarantine
from services.scheduler.rows import HostRow, Rows, Silence

Make = Callable[..., Any]
DAY = 86_400.0
URLS = [f"http://h.test/{n}" for n in range(20)]


def silent(d: Any, request: FetchRequested, reason: str = "connect-timeout") -> None:  # noqa: ANN401 - the fixture's Desk
    d.report(request, Outcome.TRANSIENT, reason=reason)


def next_request(d: Any, limit: float = 40 * DAY) -> FetchRequested:  # noqa: ANN401 - the fixture's Desk
    """Let time pass until the host is asked again."""
    begun = d.now
    while not d.under_way:
        assert d.now - begun < limit
        d.tick(max(d.partition._ready.next_wake() - d.now, 0.5))  # noqa: SLF001 - the clock's hand
    request: FetchRequested = d.under_way[0]
    return request


def quarantined(desk: Make, **settings: object) -> Any:  # noqa: ANN401 - the fixture's Desk
    """A desk whose host has just failed to answer often enough."""
    d = desk(**{"host_window": 1, "retry_base": 1.0, "max_attempts": 5, **settings})
    d.admit(*URLS)
    for _ in range(d.settings.quarantine_after):
        silent(d, next_request(d))
    assert quarantine.holds(d.host(), d.settings)
    return d


def attempts(d: Any) -> dict[str, int]:  # noqa: ANN401 - the fixture's Desk
    return {url: d.row(url).attempt for url in URLS}


def test_after_so_many_failures_only_probes_go_out_at_doubling_waits(desk: Make) -> None:
    d = quarantined(desk, quarantine_max=DAY)
    waits = []
    for _ in range(16):
        begun = d.now
        probe = next_request(d)
        assert (probe.reason, len(d.under_way)) == ("probe", 1)
        d.tick(30)
        assert len(d.under_way) == 1
        waits.append(d.now - 30 - begun)
        silent(d, probe)
    assert waits[:4] == pytest.approx([32, 64, 128, 256], abs=1)
    assert max(waits) == pytest.approx(DAY, abs=1) == waits[-1]


def test_no_url_loses_an_attempt_to_probes(desk: Make) -> None:
    d = quarantined(desk)
    before = attempts(d)
    for _ in range(40):
        silent(d, next_request(d))
    assert attempts(d) == before
    assert d.homeless() == []
    assert d.status()["paused"] == len(URLS)


def test_the_only_url_of_a_host_is_not_given_up(desk: Make) -> None:
    d = desk(retry_base=1.0, max_attempts=5)
    d.admit(URLS[0])
    for _ in range(20):
        silent(d, next_request(d))
    assert d.status()["paused"] == 1
    d.report(next_request(d))
    assert d.status()["ok"] == 1


@pytest.mark.parametrize(
    ("outcome", "fields"),
    [
        (Outcome.OK, {"status": 200}),
        (Outcome.GONE, {"status": 404, "reason": "not-found"}),
        (Outcome.TRANSIENT, {"status": 500, "reason": "server-error"}),
        (Outcome.BLOCKED, {"status": 503, "reason": "unavailable"}),
    ],
)
def test_any_answer_ends_it_and_the_urls_go_on(
    desk: Make, outcome: Outcome, fields: dict[str, Any]
) -> None:
    d = quarantined(desk)
    silent(d, next_request(d))
    d.report(next_request(d), outcome, **fields)
    assert not quarantine.holds(d.host(), d.settings)
    assert d.status()["hosts_quarantined"] == 0
    answered: set[str] = set()
    while len(answered) < len(URLS) - 1:
        request = next_request(d)
        assert request.reason != "probe"
        answered.add(request.url)
        d.report(request, status=200)
    assert d.host().backoff < 0.1


def test_an_unreachable_robots_txt_counts_and_keeps_its_own_wait(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*URLS)
    for _ in range(5):
        d.report(next_request(d), Outcome.TRANSIENT, reason="robots-unreachable", retry_after=300.0)
    assert d.host().backoff == 0.0
    assert quarantine.until(d.host(), d.settings) == pytest.approx(d.now + 300)


def test_repeated_reports_change_nothing_and_it_survives_a_restart(desk: Make) -> None:
    d = quarantined(desk)
    probe = next_request(d)
    event = d.reported(probe, Outcome.TRANSIENT, reason="connect-timeout")
    d.deliver(event)
    before = d.host().silence, d.host().not_before
    d.restart()
    d.deliver(event, replay=True)
    assert (d.host().silence, d.host().not_before) == before
    d.tables.urls.pop(probe.fingerprint)  # a crash kept the host's row only
    d.deliver(event, replay=True)
    assert d.host().silence == before[0]
    assert d.status()["hosts_quarantined"] == 1


def test_an_answer_from_before_the_silence_does_not_end_it(desk: Make) -> None:
    d = desk(host_window=1)
    d.admit(*URLS)
    first = next_request(d)
    answer = d.reported(first, status=200)
    d.deliver(answer)
    d.now += 5
    for _ in range(6):
        silent(d, next_request(d))
    d.tables.urls.pop(first.fingerprint)
    d.deliver(answer, replay=True)
    assert quarantine.holds(d.host(), d.settings)


def test_a_probe_that_is_never_reported_costs_nothing(desk: Make) -> None:
    d = quarantined(desk)
    before = attempts(d)
    next_request(d)
    d.under_way.clear()
    d.tick(700)
    assert next_request(d).reason == "probe"
    assert attempts(d) == before


def test_a_host_silent_for_long_is_probed_at_the_longest_wait() -> None:
    own = Scheduler(quarantine_give_up=100, quarantine_max=5000)
    host = HostRow(name="h", partition=0, silence=Silence(since=50.0, incidents=5))
    assert quarantine.wait(host, own, now=60.0) == 4.0
    assert quarantine.wait(host, own, now=150.0) == 5000.0


def test_nought_switches_it_off() -> None:
    own = Scheduler(quarantine_after=0)
    host = HostRow(name="h", partition=0, silence=Silence(since=1.0, incidents=99), not_before=9.0)
    assert not quarantine.holds(host, own)
    assert quarantine.until(host, own) == 0.0


def test_explain_tells_of_it(desk: Make) -> None:
    """G3."""
    d = quarantined(desk)

    def told() -> dict[str, str]:
        found: dict[str, str] = d.partition.explain(
            "h.test", fingerprint(URLS[-1]), Rows(d.tables), d.now
        )
        return found

    assert told()["waits for"].startswith("its host's quarantine, next probe at 2023-11-14 2")
    assert told()["host silent since"] == "2023-11-14 22:13:20Z, 5 times"
    next_request(d)
    assert told()["waits for"] == "its host's quarantine: a probe is under way"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answers=st.lists(st.booleans(), max_size=40))
def test_whatever_the_host_does_nothing_is_lost_and_all_is_fetched_in_the_end(
    desk: Make, answers: list[bool]
) -> None:
    d = desk(host_window=2, retry_base=1.0, max_attempts=3, give_up_interval=DAY)
    d.admit(*URLS)
    fetched: set[str] = set()
    for answer in answers + [True] * 3 * len(URLS):
        if set(URLS) == fetched:
            break
        request = next_request(d)
        if answer:
            fetched.add(request.url)
            d.report(request, status=200)
        else:
            silent(d, request)
        assert d.homeless() == []
    assert fetched == set(URLS)


def test_a_request_that_was_handed_over_costs_no_attempt_and_goes_out_again(desk: Make) -> None:
    """Nothing was sent, so it says nothing of the URL or the host."""
    d = desk(host_window=1, retry_base=1.0, max_attempts=2)
    d.admit(URLS[0])
    for _ in range(5):
        silent(d, next_request(d, limit=1), reason="handed-over")
        assert d.row(URLS[0]).attempt == 0
    assert next_request(d, limit=1).url == URLS[0]
