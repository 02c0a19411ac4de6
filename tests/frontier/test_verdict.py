"""What the frontier says of one URL, without a crawl."""

import pytest

from services.common.errors import DeadLetter
from services.common.identity_rules import Block, IdentityRules, Step
from services.common.records import Rules
from services.common.urls import fingerprint
from services.frontier.core import Limits
from services.frontier.verdict import judge

NOW = 1.79e9
RULES = Rules(root="h.test", max_depth=3, exclude="/private/")
LIMITS = Limits(
    default_scope="host",
    max_url_length=100,
    max_record=900_000,
    identity=IdentityRules({"h.test": Block(drop=["ref"])}),
)


def test_a_verdict_shows_the_names_of_a_url_and_how_it_came_by_them() -> None:
    """G3."""
    verdict = judge("http://H.test/a?ref=1", RULES, 1, LIMITS, NOW)
    assert verdict.refused is None
    assert verdict.steps == [
        Step("fetched", "http://h.test/a?ref=1"),
        Step("drop", "http://h.test/a"),
    ]
    assert verdict.fingerprint == fingerprint("http://h.test/a")


@pytest.mark.parametrize(
    ("raw", "depth", "reason"),
    [
        ("http://h.test/a", 4, "depth"),
        ("http://other.test/", 1, "scope"),
        ("http://h.test/private/x", 1, "pattern"),
        ("http://h.test/x/x/x/x", 1, "trap-repeat"),
        ("http://h.test/" + "a" * 100, 1, "too-long"),
    ],
)
def test_a_refusal_has_its_reason_and_the_url_its_names(raw: str, depth: int, reason: str) -> None:
    verdict = judge(raw, RULES, depth, LIMITS, NOW)
    assert verdict.refused == reason
    assert verdict.named is not None


def test_what_is_no_url_has_no_names() -> None:
    verdict = judge("mailto:a@h.test", RULES, 1, LIMITS, NOW)
    assert (verdict.refused, verdict.named, verdict.steps) == ("scheme", None, [])
    assert verdict.fingerprint == b""


def test_a_bad_pattern_is_told() -> None:
    with pytest.raises(DeadLetter):
        judge("http://h.test/", Rules(include="("), 1, LIMITS, NOW)
