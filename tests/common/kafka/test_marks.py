"""KAF-03: the count of deaths outlives the process, and only the guilty are blamed."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from services.common.kafka import marks
from services.common.kafka.hand import Commit, Hand, Place
from services.common.kafka.marks import CAREFUL_AFTER, REACH, Mark, read, taken_over, write

MOST = 3


def test_what_others_wrote_beside_an_offset_is_no_mark_of_ours() -> None:
    for text in (None, "", "x", "3", "{", '{"deaths": "many"}'):
        assert read(text) == Mark()


@given(
    st.builds(Mark, owner=st.text(max_size=5), fatal=st.dictionaries(st.integers(0), st.just(1)))
)
def test_a_mark_comes_back_as_it_was(mark: Mark) -> None:
    assert read(write(mark)) == mark


def test_an_orderly_stop_and_coming_back_oneself_are_no_deaths() -> None:
    mine = Mark(owner="me", trying=5)
    assert taken_over(marks.let_go(mine), "you", 5, 9) == (Mark(owner="you"), False)
    assert taken_over(mine, "me", 5, 9) == (Mark(owner="me"), False)


def test_deaths_add_up_until_the_records_at_risk_are_behind() -> None:
    mark = Mark(owner="a")
    for number in range(1, CAREFUL_AFTER + 1):
        mark, died = taken_over(mark, f"b{number}", 5 + number, 100)
        assert (died, mark.deaths, mark.careful) == (True, number, number == CAREFUL_AFTER)
    assert marks.moved_on(mark, 99).careful
    assert not marks.moved_on(mark, 100).careful


def test_nothing_is_at_risk_where_nothing_is_left_to_read() -> None:
    assert taken_over(Mark(owner="a"), "b", 7, 7)[0].deaths == 0
    assert taken_over(Mark(owner="a"), "b", 7, None)[0].until == 7 + REACH


def test_the_text_stays_short_enough_for_kafka() -> None:
    mark = Mark(owner="x" * 12, deaths=9, until=10**18)
    for offset in range(10**17, 10**17 + 200):
        mark, _ = taken_over(replace(mark, trying=offset), "y" * 12, 10**17, None)
    assert len(write(mark)) < 4_000


@dataclass
class World:
    """Two partitions, processes that die, and what outlives them."""

    records: dict[Place, int]
    killers: set[tuple[Place, int]]
    commits: dict[Place, Commit] = field(default_factory=dict)
    done: set[tuple[Place, int]] = field(default_factory=set)
    letters: set[tuple[Place, int]] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)

    def hand(self, owner: str) -> Hand:
        hand = Hand(100)
        hand.assign(self.records)
        for place, end in self.records.items():
            base, text = self.commits.get(place, (0, ""))
            mark, died = taken_over(read(text), owner, base, end)
            self.deaths["taken"] += died
            hand.mark(place, mark, base)
            for offset in range(base, end):
                hand.take(place, offset, b"", None, 0.0)
        self.commit(hand)
        return hand

    def commit(self, hand: Hand) -> None:
        for place, commit in hand.positions().items():
            self.commits[place] = commit
            hand.committed(place, commit)

    def run(self, owner: str, order: list[tuple[Place, int]], stop_after: int) -> bool:
        """One process's life; whether it ended in order. `order` is that of finishing."""
        hand = self.hand(owner)
        left = [r for r in order if r[1] >= self.commits.get(r[0], (0, ""))[0]]
        while left:
            if stop_after == 0:
                hand.let_go(self.records)
                self.commit(hand)
                return True
            stop_after -= 1
            if hand.careful:
                left.sort(key=lambda r: r[1])
                record = left.pop(0)
                deaths = hand.begin(*record)
                self.commit(hand)
                assert deaths is not None
                if deaths >= MOST:
                    self.letters.add(record)
                    hand.done(*record)
                    continue
            else:
                record = left.pop(0)
            if record in self.killers:
                self.deaths["all"] += 1
                return False
            self.done.add(record)
            hand.done(*record)
            if hand.careful or stop_after % 3 == 0:
                self.commit(hand)
        self.commit(hand)
        hand.let_go(self.records)
        self.commit(hand)
        return True


places = st.sampled_from([("seeds", 0), ("seeds", 1)])


@settings(deadline=None)  # many lives in one example
@given(
    sizes=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    killers=st.sets(st.tuples(places, st.integers(0, 11)), max_size=3),
    data=st.data(),
)
def test_every_killer_is_found_after_few_deaths_and_nobody_else(
    sizes: tuple[int, int], killers: set[tuple[Place, int]], data: st.DataObject
) -> None:
    world = World({("seeds", number): size for number, size in enumerate(sizes)}, killers)
    every = [(place, offset) for place, size in world.records.items() for offset in range(size)]
    killers &= set(every)
    most = (CAREFUL_AFTER + MOST) * len(killers)
    for life in range(most + 4):
        order = data.draw(st.permutations(every))
        stop_after = data.draw(st.integers(1, 30)) if life < 3 else 10_000
        world.run(f"process {life}", list(order), stop_after)
    assert world.letters == killers
    assert world.done == set(every) - killers
    assert world.deaths["all"] <= most


@pytest.mark.parametrize(
    ("mark", "harmless"),
    [
        (Mark(), True),
        (Mark(owner="a"), False),
        (Mark(deaths=1, until=9), False),
        (Mark(fatal={3: 1}), False),
    ],
)
def test_only_what_was_let_go_in_order_and_is_not_suspected_is_harmless(
    mark: Mark, harmless: bool
) -> None:
    assert marks.harmless(mark) is harmless
