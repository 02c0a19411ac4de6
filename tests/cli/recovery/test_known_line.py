"""A line of `recrawl import`: used whole, or refused with a reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cli.recovery.known_line import Defaults, Refused, known
from services.frontier.core import Limits

LIMITS = Limits(default_scope="host", max_url_length=2000, max_record=900_000)
DEFAULTS = Defaults(job="d", scope="host", max_depth=0, year=2026)


def test_a_bare_url_is_new() -> None:
    found = known(b" HTTP://H.test:80/a \r\n", LIMITS, DEFAULTS)
    assert found is not None
    host, rules, url = found
    assert (host, rules.job, rules.root, rules.max_depth) == ("h.test", "d", "h.test", 0)
    assert (url.url, url.past) == ("http://h.test/a", None)


def test_a_line_with_a_history() -> None:
    line = {
        "url": "https://h.test/a",
        "job": "j",
        "fetched_at": "2026-01-01T00:00:00Z",
        "interval": 3600,
        "digest": "ab" * 16,
        "etag": '"x"',
        "more": 1,
    }
    found = known(json.dumps(line).encode(), LIMITS, DEFAULTS)
    assert found is not None
    _, rules, url = found
    assert rules.job == "j"
    assert url.past is not None
    assert (url.past.fetched_at, url.past.interval) == (1767225600.0, 3600.0)
    assert url.past.body_digest == b"\xab" * 16


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff", "encoding"),
        (b'{"url": 1}', "json"),
        (b'{"url": "https://h.test/", "digest": "abc"}', "json"),
        (b'{"url": "https://h.test/", "digest": "ab"}', "json"),
        (b'{"url": "https://h.test/", "interval": -1}', "json"),
        (b'{"url": "https://h.test/", "fetched_at": "2026-01-01T00:00:00"}', "json"),
        (b"mailto:a@h.test", "scheme"),
        (b"https://h.test/" + b"a" * 2000, "too-long"),
    ],
)
def test_what_cannot_be_used_has_a_reason(line: bytes, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        known(line, LIMITS, DEFAULTS)
    assert refused.value.reason == reason


def test_an_empty_line_is_nothing() -> None:
    assert known(b"\n", LIMITS, DEFAULTS) is None


@given(st.binary(max_size=300))
def test_no_line_does_harm(line: bytes) -> None:
    try:
        found = known(line, LIMITS, DEFAULTS)
    except Refused:
        return
    assert found is None or len(found[2].fingerprint) == 16
