"""C4 (RFC 9309, 2.3.1): what the end of a reading means for the host."""

import pytest

from services.common import urls
from services.common.records import Outcome
from services.fetcher import robots_facts
from services.fetcher.classify import DISALLOWED, FAILURES
from services.fetcher.protocols import WireResponse
from services.fetcher.robots_facts import STALE_LIMIT, Facts, Policy

POLICY = Policy(agent="MyBot", ttl=86_400, retry=300)
URL = urls.parse("http://h.test/a")
CLOSED = b"User-agent: *\nDisallow: /\nCrawl-delay: 7\n"


def answered(
    status: int, body: bytes = CLOSED, damage: str = "", wait: float | None = None
) -> Facts:
    response = WireResponse(status=status, headers=[], body=body, damage=damage)
    return robots_facts.answered(response, wait, POLICY, 1000)


@pytest.mark.parametrize("status", [300, 301, 400, 401, 403, 404, 410, 451])
def test_an_unavailable_file_means_no_rules(status: int) -> None:
    facts = answered(status)
    assert robots_facts.ruling(facts, URL) is None
    assert facts.until == 1000 + POLICY.ttl


@pytest.mark.parametrize("status", [429, 500, 503, 599, 600, 999, 101])
def test_an_unreachable_file_closes_the_host_for_a_while(status: int) -> None:
    facts = answered(status)
    assert robots_facts.ruling(facts, URL) == FAILURES["robots-unreachable"]
    assert facts.until == 1000 + POLICY.retry


def test_retry_after_keeps_it_closed_for_longer_but_never_shorter() -> None:
    assert answered(429, wait=5000).until == 6000
    assert answered(429, wait=5).until == 1300


def test_a_file_that_was_read_rules_and_tells_its_delay() -> None:
    facts = answered(200)
    assert robots_facts.ruling(facts, URL) == DISALLOWED
    assert facts.crawl_delay == 7


@pytest.mark.parametrize("damage", ["incomplete", "corrupt", "total-timeout"])
def test_half_a_file_is_no_file(damage: str) -> None:
    assert answered(200, b"", damage).rules is None


@pytest.mark.parametrize("damage", ["size-limit", "no-trailer"])
def test_a_file_cut_by_our_limit_counts(damage: str) -> None:
    assert answered(200, CLOSED, damage).rules is not None


def test_what_every_page_would_meet_is_reported_as_itself() -> None:
    reasons = (
        "private-address",
        "dns-not-found",
        "connection-refused",
        "read-timeout",
        "connection-reset",
    )
    assert [robots_facts.failed(reason, 0, POLICY, 0).failure.reason for reason in reasons] == [
        "private-address",
        "dns-not-found",
        "connection-refused",
        "robots-unreachable",
        "robots-unreachable",
    ]


def test_a_redirect_to_a_private_address_closes_the_host() -> None:
    """ROB-07, chain f."""
    facts = robots_facts.failed("private-address", 1, POLICY, 0)
    assert robots_facts.ruling(facts, URL) == FAILURES["robots-unreachable"]


def test_old_rules_stand_in_for_an_unreachable_file_until_they_are_too_old() -> None:
    old = answered(200)
    new = robots_facts.failed("connection-reset", 0, POLICY, 1000 + STALE_LIMIT)
    late = robots_facts.failed("connection-reset", 0, POLICY, 1001 + STALE_LIMIT)
    kept = robots_facts.merged(new, old)
    assert (kept.rules, kept.until, kept.result) == (old.rules, new.until, "stale")
    assert robots_facts.merged(late, old) is late


def test_old_rules_do_not_stand_in_where_policy_refuses_or_new_ones_came() -> None:
    refused = robots_facts.failed("private-address", 0, POLICY, 2000)
    assert robots_facts.merged(refused, answered(200)) is refused
    assert refused.failure.outcome is Outcome.POLICY
    new = answered(404)
    assert robots_facts.merged(new, answered(200)) is new
    closed = answered(500)
    assert robots_facts.merged(closed, answered(500)) is closed
    assert robots_facts.merged(closed, None) is closed
