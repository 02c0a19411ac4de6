"""A worker is killed and its disk lost: the changelogs have kept some of its last writes (G2, A9).

Each table has a changelog of its own, and each may end earlier than the others. What was not
committed is delivered again.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.common.records import Outcome, Rules

HOSTS = ["a.test", "b.test"]
TABLES = ("urls", "hosts", "timeline")

events = st.one_of(
    st.tuples(
        st.just("admit"),
        st.sampled_from(HOSTS),
        st.lists(st.integers(0, 12), min_size=1, max_size=5),
    ),
    st.tuples(
        st.just("report"),
        st.integers(0, 100),
        st.sampled_from([Outcome.OK, Outcome.GONE, Outcome.TRANSIENT, Outcome.MOVED]),
    ),
    st.tuples(st.just("dead end"), st.integers(0, 100)),
    st.tuples(st.just("moved to nowhere"), st.integers(0, 100)),
)


class Logged(dict[bytes, bytes]):
    """A table that remembers its writes in order; None is a deletion."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[bytes, bytes | None]] = []

    def __setitem__(self, key: bytes, value: bytes) -> None:
        super().__setitem__(key, value)
        self.writes.append((key, value))

    def pop(self, key: bytes, default: Any = None) -> Any:  # noqa: ANN401 - as dict's
        self.writes.append((key, None))
        return super().pop(key, default)

    def keep(self, count: int) -> None:
        """Make the table anew from its first `count` writes."""
        kept = self.writes[:count]
        self.clear()
        self.writes = []
        for key, value in kept:
            if value is None:
                self.pop(key)
            else:
                self[key] = value


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    before=st.lists(events, max_size=20),
    after=st.lists(events, min_size=1, max_size=8),
    lost=st.tuples(*[st.integers(0, 12)] * len(TABLES)),
)
def test_no_url_is_lost_or_counted_twice(
    desk: Callable[..., Any],
    before: list[tuple[Any, ...]],
    after: list[tuple[Any, ...]],
    lost: tuple[int, ...],
) -> None:
    """`after` is what happened since the last commit; `lost` what each changelog has not got."""
    d = desk(host_window=2, bucket_width=10, max_attempts=3, retry_base=5)
    tables = [Logged() for _ in TABLES]
    for name, table in zip(TABLES, tables, strict=True):
        setattr(d.tables, name, table)
    known: set[str] = set()
    for event in before:
        play(d, event, known)
    committed = [len(table.writes) for table in tables]
    again = [replay for event in after if (replay := play(d, event, known)) is not None]
    for table, first, count in zip(tables, committed, lost, strict=True):
        table.keep(max(first, len(table.writes) - count))
    d.restart()
    for replay in again:
        replay()
    drain(d)
    status = {name: count for name, count in d.status().items() if count}
    hosts = len({url.split("/")[2] for url in known})
    assert d.homeless() == []
    assert status.pop("hosts", 0) == hosts
    assert status.pop("known", 0) == len(known)
    assert sum(status.values()) == len(known)
    assert status.keys() <= {"ok", "gone", "moved", "permanent"}


def play(d: Any, event: tuple[Any, ...], known: set[str]) -> Callable[[], object] | None:  # noqa: ANN401 - the fixture's type
    """One event; gives its repeat, None if nothing happened."""
    d.now += 0.01
    if event[0] == "admit":
        _, host, numbers = event
        urls = [f"http://{host}/{n}" for n in numbers]
        known |= set(urls)
        d.admit(*urls, host=host)
        return lambda: d.admit(*urls, host=host, replay=True)
    if not d.under_way:
        return None
    fetch = d.reported(d.under_way[event[1] % len(d.under_way)], Outcome.MOVED)
    if event[0] == "report":
        reports = [msgspec.structs.replace(fetch, outcome=event[2])]
    elif event[0] == "dead end":
        reports = [d.ended(fetch)]
    else:
        reports = [fetch, d.ended(fetch)]
    for report in reports:
        d.deliver(report)
    return lambda: [d.deliver(report, replay=True) for report in reports]


def drain(d: Any) -> None:  # noqa: ANN401 - the fixture's type
    """All that is under way comes back well, and leases of the rest end."""
    quiet = 0
    while quiet < 3:
        quiet = 0 if d.under_way else quiet + 1
        for request in list(d.under_way):
            d.report(request)
        d.tick(1000)


def test_a_late_report_files_no_url_that_is_under_way_again(desk: Callable[..., Any]) -> None:
    """A8, G2: its lease ended, another job took it over, and it was handed out once more."""
    d = desk(host_window=1, bucket_width=10, retry_base=5)
    url = "http://a.test/0"
    d.admit(url, host="a.test")
    late = d.reported(d.under_way[0])
    d.tick(700)
    d.admit(url, host="a.test", rules=Rules(job="second", fresh_after=d.now))
    d.tick(20)
    assert d.status()["in_flight"] == 1
    d.deliver(late)
    assert {name: count for name, count in d.status().items() if count} == {
        "in_flight": 1,
        "known": 1,
        "hosts": 1,
    }
