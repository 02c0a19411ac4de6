"""What a consumer holds, pauses and may commit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.chunks import Part
from services.common.kafka.hand import MAX_OCTETS, MAX_SPAN, Hand, pressed

HERE, THERE = ("seeds", 0), ("seeds", 1)


def hand_with(*offsets: int, limit: int = 100) -> Hand:
    hand = Hand(limit)
    hand.assign([HERE])
    for offset in offsets:
        hand.take(HERE, offset, b"x", None, 0.0)
    return hand


def offsets(hand: Hand) -> dict[tuple[str, int], int]:
    return {place: commit.offset for place, commit in hand.positions().items()}


@given(done=st.sets(st.integers(0, 19)))
def test_only_what_is_finished_without_a_gap_may_be_committed(done: set[int]) -> None:
    hand = hand_with(*range(20))
    for offset in done:
        hand.done(HERE, offset)
    first = next((offset for offset in range(20) if offset not in done), 20)
    assert offsets(hand) == {HERE: first}


def test_what_is_committed_is_not_committed_again() -> None:
    hand = hand_with(0)
    hand.done(HERE, 0)
    hand.committed(HERE, hand.positions()[HERE])
    assert hand.positions() == {}


def test_a_lost_partition_has_nothing_to_commit_and_its_late_results_do_no_harm() -> None:
    """KAF-01: no commit of offsets of a lost partition."""
    hand = hand_with(0)
    hand.forget([HERE])
    hand.done(HERE, 0)
    assert hand.positions() == hand.positions([HERE]) == {}
    assert hand.take(HERE, 1, b"x", None, 0.0) is None


def test_a_partition_that_comes_back_starts_from_nothing() -> None:
    hand = hand_with(0, 1)
    hand.forget([HERE])
    hand.assign([HERE])
    hand.done(HERE, 1)
    assert hand.positions() == {}


def test_a_value_in_parts_is_given_out_once_and_all_its_offsets_are_done_at_once() -> None:
    hand = hand_with()
    assert hand.take(HERE, 5, b"ab", Part("s", 0, 2), 0.0) is None
    assert hand.take(HERE, 6, b"whole", None, 0.0) == (6, b"whole")
    assert hand.take(HERE, 7, b"c", Part("s", 1, 2), 0.0) == (5, b"abc")
    hand.done(HERE, 6)
    assert offsets(hand) == {HERE: 5}
    hand.done(HERE, 5)
    assert offsets(hand) == {HERE: 8}


def test_parts_expire_by_the_time_of_the_log_and_at_its_end_by_the_clock() -> None:
    hand = hand_with()
    hand.take(HERE, 0, b"x", Part("s", 0, 2), 1000.0)
    assert hand.expire(lambda _: 2, wall=9000.0) == {}
    assert hand.expire(lambda _: 1, wall=9000.0) == {HERE: 1}
    assert offsets(hand) == {HERE: 1}


def test_all_pause_when_the_hand_is_full_and_resume_when_it_is_half_empty() -> None:
    hand = hand_with(*range(4), limit=4)
    hand.assign([THERE])
    assert hand.press() == ([HERE, THERE], [])
    hand.done(HERE, 0)
    assert hand.press() == ([], [])
    hand.done(HERE, 1)
    assert hand.press() == ([], [HERE, THERE])


def test_large_values_fill_the_hand_too() -> None:
    hand = hand_with()
    hand.take(HERE, 0, bytes(MAX_OCTETS), None, 0.0)
    assert hand.press() == ([HERE], [])
    hand.drop(HERE, 0)
    assert hand.press() == ([], [HERE])


def test_a_partition_that_is_stuck_at_one_record_pauses_alone() -> None:
    hand = hand_with(*range(MAX_SPAN), limit=MAX_SPAN * 2)
    hand.assign([THERE])
    for offset in range(1, MAX_SPAN):
        hand.done(HERE, offset)
    assert hand.press() == ([HERE], [])
    hand.done(HERE, 0)
    assert hand.press() == ([], [HERE])


@pytest.mark.parametrize(
    ("level", "paused", "pauses"),
    [(9, False, False), (10, False, True), (6, True, True), (5, True, False)],
)
def test_between_half_and_full_nothing_changes(level: int, paused: bool, pauses: bool) -> None:
    assert pressed((level, 10), (0, 10), paused=paused) is pauses
