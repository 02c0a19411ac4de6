"""What others are told of a host (E9), beside its mapping (test_host_mapping.py)."""

from collections.abc import Callable
from typing import Any

from services.common.records import Outcome


def test_a_quarantine_is_told_when_it_begins_and_when_it_ends(desk: Callable[..., Any]) -> None:
    d = desk(quarantine_after=2, retry_base=1)
    d.admit(*[f"http://h.test/{n}" for n in range(5)])

    def answer(outcome: Outcome, **fields: object) -> None:
        while not d.under_way:
            d.tick(10)
        d.report(d.under_way[0], outcome, **fields)

    answer(Outcome.TRANSIENT, reason="connect-timeout")
    assert d.told == []
    answer(Outcome.TRANSIENT, reason="connect-timeout")
    assert d.told[0].quarantined_until > d.now
    answer(Outcome.TRANSIENT, reason="connect-timeout")
    assert len(d.told) == 1, "once, not with every probe"
    answer(Outcome.OK, status=200)
    assert d.told[1].quarantined_until == 0
