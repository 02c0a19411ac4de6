"""Large values as parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.chunks import MAX_COUNT, Assembler, Part, read_header, split


@given(value=st.binary(max_size=200), limit=st.integers(1, 50), data=st.data())
def test_parts_in_any_order_and_repeated_give_the_value_again(
    value: bytes, limit: int, data: st.DataObject
) -> None:
    pieces = split(value, limit, "a")
    assert all(len(piece) <= limit for _, piece in pieces)
    arrivals = data.draw(st.permutations(range(len(pieces))))
    repeats = (
        data.draw(st.lists(st.sampled_from(arrivals[:-1]), max_size=3)) if arrivals[1:] else []
    )
    assembler = Assembler()
    order = [*arrivals[:-1], *repeats, arrivals[-1]]
    wholes = [
        assembler.add(*pieces[index], offset=offset, now=0.0) for offset, index in enumerate(order)
    ]
    assert wholes[:-1] == [None] * (len(order) - 1)
    last = wholes[-1]
    assert last is not None
    assert (last.value, last.offsets) == (value, tuple(range(len(order))))
    assert len(assembler) == 0


@given(first=st.binary(min_size=2, max_size=60), second=st.binary(min_size=2, max_size=60))
def test_two_values_that_mix_come_out_apart(first: bytes, second: bytes) -> None:
    assembler = Assembler()
    arrivals = split(first, 1, "a") + split(second, 1, "b")
    arrivals.sort(key=lambda arrival: arrival[0].index)
    wholes = [
        assembler.add(part, piece, offset, 0.0) for offset, (part, piece) in enumerate(arrivals)
    ]
    assert {whole.value for whole in wholes if whole} == {first, second}


@given(st.builds(Part, st.text("0123456789abcdef", min_size=1), st.integers(0, 9), st.just(10)))
def test_a_header_reads_as_it_was_written(part: Part) -> None:
    assert read_header(part.header()) == part


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"a", b"a/0", b"a/0/1/2", b"a/x/1", b"a/1/1", b"a/-1/2", b"a/0/0", b"\xff/0/\xb2"),
        f"a/0/{MAX_COUNT + 1}".encode(),
        b"a/0/" + b"9" * 5000,
    ],
)
def test_a_header_that_is_none_makes_a_whole_value(header: bytes) -> None:
    assert read_header(header) is None


def test_a_set_whose_sender_died_is_dropped_by_age_and_its_offsets_released() -> None:
    assembler = Assembler(max_age=10)
    assembler.add(Part("a", 0, 2), b"x", 5, now=100.0)
    assert assembler.expire(110.0) == []
    assert assembler.expire(110.1) == [(5,)]
    assert len(assembler) == 0


def test_the_oldest_sets_go_first_when_there_are_too_many() -> None:
    assembler = Assembler(max_sets=1)
    for offset, name in enumerate("abc"):
        assembler.add(Part(name, 0, 2), b"x", offset, now=0.0)
    assert assembler.expire(0.0) == [(0,), (1,)]


def test_the_oldest_sets_go_first_when_they_are_too_large() -> None:
    assembler = Assembler(max_bytes=10)
    assembler.add(Part("a", 0, 2), b"x" * 8, 0, now=0.0)
    assembler.add(Part("b", 0, 2), b"x" * 8, 1, now=0.0)
    assert assembler.expire(0.0) == [(0,)]


def test_parts_that_disagree_about_their_number_never_make_a_value() -> None:
    assembler = Assembler(max_age=0)
    assembler.add(Part("a", 0, 2), b"x", 0, now=0.0)
    assert assembler.add(Part("a", 1, 3), b"y", 1, now=0.0) is None
    assert assembler.expire(1.0) == [(0, 1)]
