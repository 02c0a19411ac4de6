"""What passed lately, within a bound."""

from hypothesis import given
from hypothesis import strategies as st

from services.common.records import Rules
from services.frontier.cache import Passed, mark, tag


def key(number: int) -> bytes:
    return number.to_bytes(24, "big")


def test_what_passed_is_known_at_its_depth_and_farther_from_the_seed() -> None:
    cache = Passed(10)
    cache.remember({key(1): 3})
    assert cache.knows(key(1), 3)
    assert cache.knows(key(1), 4)
    assert not cache.knows(key(1), 2)
    assert not cache.knows(key(2), 3)


def test_the_least_depth_is_kept() -> None:
    cache = Passed(10)
    for depth in (3, 1, 2):
        cache.remember({key(1): depth})
    assert cache.knows(key(1), 1)
    assert not cache.knows(key(1), 0)


def test_what_is_asked_for_stays_while_the_rest_is_forgotten() -> None:
    cache = Passed(10)
    for number in range(50):
        cache.remember({key(number): 0})
        assert cache.knows(key(0), 0)
    assert not cache.knows(key(1), 0)


def test_a_capacity_of_none_remembers_nothing() -> None:
    for capacity in (0, 1):
        cache = Passed(capacity)
        cache.remember({key(1): 0})
        assert not cache.knows(key(1), 0)
        assert len(cache) == 0


@given(
    st.integers(0, 12), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.booleans()))
)
def test_it_never_exceeds_its_capacity_nor_knows_what_did_not_pass(
    capacity: int, steps: list[tuple[int, int, bool]]
) -> None:
    cache = Passed(capacity)
    least: dict[bytes, int] = {}
    for number, depth, passes in steps:
        if passes:
            cache.remember({key(number): depth})
            least[key(number)] = min(depth, least.get(key(number), depth))
        elif cache.knows(key(number), depth):
            assert least[key(number)] <= depth
        assert len(cache) <= capacity


def test_rules_that_differ_in_anything_have_tags_that_differ() -> None:
    """A known URL passes again for another job, a fresh crawl, or a deeper limit."""
    rules = [
        Rules(),
        Rules(job="news"),
        Rules(fresh_after=1.0),
        Rules(max_depth=1),
        Rules(max_depth=2),
        Rules(max_pages=1),
        Rules(scope="any"),
        Rules(root="h.test"),
    ]
    assert len({tag(each) for each in rules}) == len(rules)
    assert tag(Rules(job="default")) == tag(Rules())


def test_what_a_site_says_has_changed_since_passes_again() -> None:
    """D11."""
    cache = Passed(10)
    cache.remember({key(1): mark(2, 1_700_000_000.5)})
    assert cache.knows(key(1), 2, 1_700_000_000.0)
    assert cache.knows(key(1), 2, 1_600_000_000.0)
    assert cache.knows(key(1), 3)
    assert not cache.knows(key(1), 3, 1_700_000_002.0)
    assert not cache.knows(key(1), 1, 1_700_000_000.0)


def test_the_newest_date_and_the_least_depth_are_kept() -> None:
    cache = Passed(10)
    for depth, lastmod in ((3, None), (5, 200.0), (1, 100.0), (4, None)):
        cache.remember({key(1): mark(depth, lastmod)})
    assert cache.knows(key(1), 1, 200.0)
    assert not cache.knows(key(1), 0)
    assert not cache.knows(key(1), 1, 201.0)
    # one that passed without a date passes again with its first
    cache.remember({key(2): mark(1)})
    assert not cache.knows(key(2), 1, 1.0)


def test_a_mark_without_a_date_is_its_depth() -> None:
    assert mark(7) == 7
