"""`optimal` (G1): due when a fetch is worth its price."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.settings import Scheduler
from services.scheduler.policies import Around, Hints, Observation, Seen, State
from services.scheduler.policies.optimal import Optimal
from services.scheduler.policies.value import value
from services.scheduler.policies.weight import weight

DAY = 86_400.0
START = 1_700_000_000.0
FIRST = Observation(seen=Seen.FIRST)


def calm(days: float, **fields: Hints) -> Observation:
    return Observation(seen=Seen.UNCHANGED, since_last=days * DAY, **fields)  # type: ignore[arg-type] # known names


def test_a_page_is_due_when_its_worth_reaches_the_price() -> None:
    then = Optimal(Scheduler()).learn(None, FIRST, Around(price=DAY, weight=2.0), START)
    assert 2 * value(0.4, 2 * DAY, then.due - START) == pytest.approx(DAY, rel=1e-5)
    assert then.state.rate == 1 / then.state.interval


def test_weight_makes_a_page_due_sooner() -> None:
    policy = Optimal(Scheduler())
    dues = [policy.learn(None, FIRST, Around(price=DAY, weight=w), START).due for w in (1, 2, 8)]
    assert dues == sorted(dues, reverse=True)


def test_a_page_is_looked_at_half_way_but_not_more_often_than_once_a_day() -> None:
    policy = Optimal(Scheduler())
    then = policy.learn(None, FIRST, Around(price=DAY), START)
    assert then.due > START + 2 * DAY
    assert then.wake == (START + then.due) / 2
    near = policy.learn(None, FIRST, Around(price=DAY / 10), START)
    assert START + DAY < near.due < START + 2 * DAY
    assert near.wake == START + DAY


def test_a_lower_price_makes_a_sleeping_page_due() -> None:
    policy = Optimal(Scheduler())
    then = policy.learn(None, FIRST, Around(price=DAY), START)
    woken = policy.wake(then.state, START, Around(price=DAY / 100), then.wake)
    assert woken.due == then.wake


def test_a_higher_price_lets_it_sleep_on() -> None:
    policy = Optimal(Scheduler())
    then = policy.learn(None, FIRST, Around(price=DAY), START)
    woken = policy.wake(then.state, START, Around(price=2 * DAY), then.wake)
    assert woken.due > then.due
    assert woken.wake == then.wake + max(DAY, (woken.due - then.wake) / 2)
    assert woken.state.rate < then.state.rate


def test_the_price_is_no_reason_to_wait_for_ever() -> None:
    policy, state = Optimal(Scheduler()), State(10 * DAY, 20.0, DAY, 1 / (10 * DAY))
    dear = Around(price=1e12, longest=30 * DAY)
    assert policy.learn(state, calm(1), dear, START).due == START + 30 * DAY
    assert policy.wake(state, START, dear, START + 30 * DAY).due == START + 30 * DAY


def test_the_longest_wait_is_no_longer_than_the_setting() -> None:
    policy = Optimal(Scheduler(max_interval=7 * DAY))
    dear = Around(price=1e12, longest=30 * DAY)
    assert policy.learn(State(DAY, 2.0, DAY), calm(1), dear, START).due == START + 7 * DAY


def test_a_cheap_fetch_still_keeps_the_least_interval() -> None:
    policy, state = Optimal(Scheduler()), State(DAY, 2.0, DAY)
    cheap = Around(price=1e-9)
    assert policy.wake(state, START, cheap, START + 60).due == START + 3600


def test_a_page_that_may_be_cached_sleeps_as_long() -> None:
    policy = Optimal(Scheduler(max_age_limit=3 * DAY))
    observation = calm(1, hints=Hints(max_age=2 * DAY))
    then = policy.learn(State(DAY, 2.0, DAY), observation, Around(price=1.0), START)
    assert then.due == then.wake == START + 2 * DAY


@given(
    a=st.floats(0.1, 20),
    b=st.floats(1, 1e9),
    weighs=st.floats(1e-3, 1e3),
    price=st.floats(1e-3, 1e9),
    age=st.floats(0, 1e9),
)
def test_the_next_look_always_comes(
    a: float, b: float, weighs: float, price: float, age: float
) -> None:
    policy, now = Optimal(Scheduler()), START + age
    around, state = Around(weight=weighs, price=price), State(DAY, a, b)
    learned = policy.learn(state, calm(1), around, now)
    assert now < learned.wake <= learned.due
    woken = policy.wake(state, START, around, now)
    assert woken.due == now or now < woken.wake <= woken.due


def test_weights_are_scores_against_their_mean_within_bounds() -> None:
    assert [weight(score, 2.0) for score in (2, 4, 0, 1e9)] == [1, 2, 1e-3, 1e3]
    assert weight(3.0, 0.0) == 1
