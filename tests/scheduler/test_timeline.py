"""Buckets, slots and chunks."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler import timeline
from services.scheduler.rows import NEW, HostRow, Rows, UrlRow


@dataclass
class DictTables:
    urls: dict[bytes, bytes] = field(default_factory=dict)
    hosts: dict[bytes, bytes] = field(default_factory=dict)
    timeline: dict[bytes, bytes] = field(default_factory=dict)


@given(wait=st.floats(0, 4e7), width=st.sampled_from([0.5, 60.0, 3600.0]))
def test_a_slot_is_never_early_and_late_by_a_sixteenth_at_most(wait: float, width: float) -> None:
    """A3."""
    now = 1_700_000_000.0
    due = now + wait
    slot = timeline.slot(due, now, width)
    assert due <= slot <= due + max(width, wait / 16) * 1.001


def test_a_host_never_has_many_open_buckets() -> None:
    now, year = 1_700_000_000.0, 365 * 86_400
    slots = {timeline.slot(now + wait, now, 3600.0) for wait in range(0, year, 1800)}
    assert len(slots) < 300


@given(count=st.integers(1, 300))
def test_urls_come_out_in_the_order_they_went_in(count: int) -> None:
    tables = DictTables()
    rows, host = Rows(tables), HostRow(name="h", partition=0)
    prints = [n.to_bytes(16, "big") for n in range(1, count + 1)]
    for fingerprint in prints:
        row = UrlRow(url="http://h/", job="j", depth=0)
        timeline.file_now(rows, host, fingerprint, row)
        rows.save_url(fingerprint, row)
    taken = []
    while (found := timeline.peek(rows, host, NEW)) is not None:
        taken.append(found[0])
        timeline.advance(rows, host, NEW)
    assert taken == prints


def test_adding_and_taking_write_a_bounded_amount_whatever_waits_already() -> None:
    """A3: O(1)."""
    tables = DictTables()
    host = HostRow(name="h", partition=0)
    sizes = []
    for n in range(1000):
        rows = Rows(tables)
        row = UrlRow(url="http://h/", job="j", depth=0)
        timeline.file_at(rows, host, n.to_bytes(16, "big"), row, due=5.0, retry=False)
        before = dict(tables.timeline)
        rows.flush()
        sizes.append(sum(len(v) for k, v in tables.timeline.items() if before.get(k) != v))
    assert max(sizes) == timeline.CHUNK * 16


def test_an_entry_that_its_row_no_longer_points_at_is_passed_over() -> None:
    rows, host = Rows(DictTables()), HostRow(name="h", partition=0)
    first, second = b"1" * 16, b"2" * 16
    for fingerprint in (first, second):
        row = UrlRow(url="http://h/", job="j", depth=0)
        timeline.file_at(rows, host, fingerprint, row, due=5.0, retry=False)
        rows.save_url(fingerprint, row)
    moved = rows.url(first)
    assert moved is not None
    timeline.file_at(rows, host, first, moved, due=9.0, retry=False)
    found = timeline.peek(rows, host, moved.bucket - 1)
    assert found is not None
    assert found[0] == second
