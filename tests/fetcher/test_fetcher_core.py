"""C5, C6, C10: what goes on the wire and what a response means."""

import pytest

from services.common import urls
from services.common.records import FetchRequested, Outcome, Rules
from services.fetcher import core, robots_facts
from services.fetcher.classify import FAILURES
from services.fetcher.protocols import WireRequest, WireResponse
from services.fetcher.robots_facts import Policy

URL = urls.parse("http://h.test/a")
AGENT = core.identity("Recrawl", "1.2", "https://me.test/bot")


def request(*, etag: str | None = None, attempt: int = 0, gap: float = 1.0) -> FetchRequested:
    return FetchRequested(
        url=URL.href,
        fingerprint=b"\0" * 16,
        host="h.test",
        rules=Rules(),
        depth=0,
        reason="new",
        attempt=attempt,
        scheduled_at=90,
        lease_until=700,
        gap=gap,
        etag=etag,
    )


def answer(response: WireResponse, asked: FetchRequested | None = None) -> tuple[Outcome, str]:
    fetch = core.Fetch(request=asked or request(), fetcher="f", started_at=100, elapsed=1)
    completed = core.answered(fetch, URL, response)
    return completed.outcome, completed.reason


def test_the_user_agent_says_who_we_are() -> None:
    assert AGENT == "Recrawl/1.2 (+https://me.test/bot)"


def test_validators_make_the_request_conditional() -> None:
    """C10."""
    wire = core.page_request(request(etag='W/"x\xe9"'), URL, AGENT, 500)
    assert wire == WireRequest(
        url=URL,
        headers=(
            ("user-agent", AGENT),
            ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            ("accept-encoding", "gzip, br, zstd, deflate"),
            ("if-none-match", 'W/"x\xe9"'),
        ),
        limit=500,
    )


@pytest.mark.parametrize("etag", ['"a\r\nx: y"', '"a\0"', '"\N{SNOWMAN}"', ""])
def test_a_validator_that_cannot_be_sent_is_left_out(etag: str) -> None:
    names = [name for name, _ in core.page_request(request(etag=etag), URL, AGENT, 500).headers]
    assert "if-none-match" not in names


def test_a_304_means_unchanged_only_if_we_asked() -> None:
    response = WireResponse(status=304, headers=[])
    assert answer(response, request(etag='"x"')) == (Outcome.UNCHANGED, "not-modified")
    assert answer(response) == (Outcome.PERMANENT, "unknown-status")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_is_reported_with_its_absolute_target(status: int) -> None:
    response = WireResponse(status=status, headers=[("location", "../caf\xe9#x")])
    fetch = core.Fetch(request=request(), fetcher="f", started_at=100)
    completed = core.answered(fetch, URL, response)
    assert (completed.outcome, completed.location) == (Outcome.MOVED, "http://h.test/caf%E9")


@pytest.mark.parametrize("headers", [[], [("location", "")], [("location", "mailto:x@y.test")]])
def test_a_redirect_to_nowhere_is_permanent(headers: list[tuple[str, str]]) -> None:
    response = WireResponse(status=302, headers=headers)
    assert answer(response) == (Outcome.PERMANENT, "redirect-without-location")


def test_a_redirect_to_the_url_itself_is_a_loop_and_keeps_its_target() -> None:
    """HTTP-09 C: the URL rests as long as any that cannot work."""
    for target in (URL.href, URL.href + "#part"):
        response = WireResponse(status=302, headers=[("location", target)])
        fetch = core.Fetch(request=request(), fetcher="f", started_at=100)
        completed = core.answered(fetch, URL, response)
        assert (completed.outcome, completed.reason) == (Outcome.PERMANENT, "redirect-loop")
        assert completed.location == URL.href


@pytest.mark.parametrize(("status", "expected"), [(429, 120), (503, 120), (301, 120), (200, None)])
def test_retry_after_is_obeyed_unless_all_is_well(status: int, expected: float | None) -> None:
    """HTTP-11."""
    response = WireResponse(status=status, headers=[("retry-after", "120")])
    fetch = core.Fetch(request=request(), fetcher="f", started_at=100)
    assert core.answered(fetch, URL, response).retry_after == expected


def test_a_damaged_body_is_kept_only_when_it_is_accepted() -> None:
    """HTTP-03."""
    response = WireResponse(status=200, headers=[], body=b"half", damage="incomplete")
    completed = [
        core.answered(
            core.Fetch(request=request(attempt=n), fetcher="f", started_at=1), URL, response
        )
        for n in (0, 2)
    ]
    assert [(c.outcome, c.reason, c.truncated, c.body) for c in completed] == [
        (Outcome.TRANSIENT, "incomplete", True, b""),
        (Outcome.OK, "incomplete", True, b"half"),
    ]


def test_a_body_is_kept_only_for_success() -> None:
    fetch = core.Fetch(request=request(), fetcher="f", started_at=1)
    page = WireResponse(status=404, headers=[], body=b"not here")
    assert core.answered(fetch, URL, page).body == b""


def test_the_gap_is_the_larger_of_ours_and_the_sites_within_the_cap() -> None:
    """D6, ROB-09: a smaller Crawl-delay never speeds us up."""
    policy = Policy(agent="x", ttl=1, retry=1)
    gaps = []
    for delay in (b"0.1", b"10", b"1e9", b"nan"):
        body = b"User-agent: *\nCrawl-delay: " + delay
        response = WireResponse(status=200, headers=[], body=body)
        facts = robots_facts.answered(response, None, policy, 0)
        gaps.append(core.gap(2, facts, cap=300))
    assert gaps == [2, 10, 300, 2]


def test_the_lease_is_over_a_little_after_its_time() -> None:
    assert [core.lease_left(request(), now) > 0 for now in (100, 701, 702.5)] == [True, True, False]


def test_a_closed_host_says_for_how_long() -> None:
    facts = robots_facts.failed("connection-reset", 0, Policy(agent="x", ttl=1, retry=300), now=50)
    fetch = core.Fetch(request=request(), fetcher="f", started_at=100, facts=facts)
    completed = core.refused(fetch, FAILURES["robots-unreachable"])
    assert (completed.outcome, completed.retry_after) == (Outcome.TRANSIENT, 250)
