"""The commit position."""

from hypothesis import given
from hypothesis import strategies as st

from services.common.low_water import LowWater

offsets = st.lists(st.integers(0, 1000), min_size=1, max_size=30, unique=True).map(sorted)


@given(started=offsets, data=st.data())
def test_everything_below_the_position_is_finished_and_nothing_finished_waits_at_it(
    started: list[int], data: st.DataObject
) -> None:
    finishing = data.draw(st.permutations(started))
    mark = LowWater()
    for offset in started:
        mark.start(offset)
    for count, offset in enumerate(finishing, 1):
        mark.finish(offset)
        unfinished = sorted(set(started) - set(finishing[:count]))
        assert mark.position == (unfinished[0] if unfinished else started[-1] + 1)
        assert mark.span == len([each for each in started if unfinished and each >= unfinished[0]])


def test_nothing_taken_is_nothing_to_commit() -> None:
    assert LowWater().position is None


def test_finishing_what_is_unknown_or_finished_changes_nothing() -> None:
    mark = LowWater()
    mark.start(3)
    mark.start(4)
    mark.finish(9)
    mark.finish(4)
    mark.finish(4)
    assert mark.position == 3


def test_a_rewound_partition_begins_again() -> None:
    mark = LowWater()
    for offset in (5, 6, 2):
        mark.start(offset)
    mark.finish(5)
    mark.finish(6)
    assert mark.position == 2
    mark.finish(2)
    assert mark.position == 3
