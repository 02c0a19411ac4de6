"""What is believed of a change rate (D8)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.settings import Scheduler
from services.scheduler.policies import Around, Observation, Seen, State, belief
from services.scheduler.policies.fixed import Fixed
from services.scheduler.policies.optimal import Optimal

DAY = 86_400.0
SHAPES = st.floats(0.1, 20)
TIMES = st.floats(1, 1e8)


def moments(a: float, b: float, t: float) -> tuple[float, float]:
    """Mean and variance of the rate after a change within t, by the trapezoid rule in its log."""
    u = np.linspace(-120, 12, 400_001)
    rate = np.exp(u)
    density = np.exp(a * u - rate) * -np.expm1(-rate * t / b)
    total = density.sum()
    mean = (density * rate).sum() / total
    return mean / b, ((density * rate**2).sum() / total - mean**2) / b**2


@pytest.mark.parametrize("a", [0.1, 0.4, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("x", [1e-6, 1e-2, 1.0, 100.0, 1e6])
def test_a_change_keeps_the_moments(a: float, x: float) -> None:
    b = 2 * DAY
    mean, variance = moments(a, b, x * b)
    new_a, new_b = belief.changed(a, b, x * b)
    assert new_a / new_b == pytest.approx(mean, rel=1e-6)
    assert new_a / new_b**2 == pytest.approx(variance, rel=1e-6)


def test_a_change_that_had_no_time_has_its_limit() -> None:
    assert belief.changed(0.4, 1e9, 1e-4) == (1.4, 1e9 + 5e-5)


def seen(what: Seen, since: float, **fields: float) -> Observation:
    return Observation(seen=what, since_last=since, **fields)  # type: ignore[arg-type] # known names


@given(a=SHAPES, b=TIMES, t=TIMES)
def test_unchanged_never_raises_the_mean_and_changed_never_lowers_it(
    a: float, b: float, t: float
) -> None:
    policy, old = Optimal(Scheduler()), State(DAY, a, b, 1 / DAY)
    calm = policy.learn(old, seen(Seen.UNCHANGED, t), Around(), 0.0).state
    lively = policy.learn(old, seen(Seen.CHANGED, t), Around(), 0.0).state
    assert calm.a / calm.b <= a / b <= lively.a / lively.b * (1 + 1e-9)
    assert lively.a <= 20


@given(a=SHAPES, b=TIMES, what=st.sampled_from([Seen.CHANGED, Seen.UNCHANGED]), t=st.floats(-9, 0))
def test_no_time_teaches_nothing(a: float, b: float, what: Seen, t: float) -> None:
    then = Optimal(Scheduler()).learn(State(DAY, a, b), seen(what, t), Around(), 0.0).state
    assert (then.a, then.b) == (a, b)


def test_a_dated_change_is_exact() -> None:
    old = State(DAY, 2.0, 10 * DAY)
    observation = seen(Seen.CHANGED, 5 * DAY, modified_age=DAY)
    then = Optimal(Scheduler()).learn(old, observation, Around(), 0.0).state
    assert (then.a, then.b) == (3.0, 11 * DAY)


def test_a_date_before_the_last_fetch_is_not_believed() -> None:
    assert belief.changed(2.0, 10 * DAY, DAY, 3 * DAY) == belief.changed(2.0, 10 * DAY, DAY)


def test_what_was_long_ago_is_forgotten_but_not_the_mean() -> None:
    a, b = belief.forgotten(50.0, 100 * DAY, 20)
    assert (a, a / b) == (20, 0.5 / DAY)


def test_failures_teach_nothing_and_the_plan_stays() -> None:
    old = State(3 * DAY, 2.0, 10 * DAY, 1 / DAY)
    assert Optimal(Scheduler()).learn(old, seen(Seen.FAILED, DAY), Around(), 0.0).state == old


def test_a_page_that_is_gone_changed_once_and_leaves_the_plan() -> None:
    old = State(3 * DAY, 2.0, 10 * DAY, 1 / DAY)
    gone = Optimal(Scheduler()).learn(old, seen(Seen.GONE, DAY), Around(), 0.0).state
    assert (gone.a, gone.b) == belief.changed(2.0, 10 * DAY, DAY)
    assert gone.rate == 0


def test_every_policy_keeps_the_belief() -> None:
    policy = Fixed(Scheduler())
    first = policy.learn(None, seen(Seen.FIRST, 0), Around(), 0.0).state
    then = policy.learn(first, seen(Seen.UNCHANGED, DAY), Around(), DAY).state
    assert (then.a, then.b) == (0.4, 3 * DAY)


def test_a_fetch_with_nothing_to_compare_keeps_what_is_believed() -> None:
    old = State(DAY, 2.0, 10 * DAY)
    then = Optimal(Scheduler()).learn(old, seen(Seen.FIRST, DAY), Around(), 0.0).state
    assert (then.a, then.b) == (2.0, 10 * DAY)


@given(steps=st.lists(st.tuples(st.booleans(), st.floats(60, 1e7)), min_size=1, max_size=60))
def test_float32_in_the_row_is_good_enough(steps: list[tuple[bool, float]]) -> None:
    policy = Optimal(Scheduler())
    kept = exact = policy.learn(None, seen(Seen.FIRST, 0), Around(), 0.0).state
    for change, since in steps:
        observation = seen(Seen.CHANGED if change else Seen.UNCHANGED, since)
        exact = policy.learn(exact, observation, Around(), 0.0).state
        stored = State.unpack(kept.interval, kept.pack())
        kept = policy.learn(stored, observation, Around(), 0.0).state
    assert kept.a == pytest.approx(exact.a, rel=1e-5)
    assert kept.b == pytest.approx(exact.b, rel=1e-5)


def test_a_state_takes_twelve_octets() -> None:
    state = State(1.5 * DAY, 0.5, 3.0, 0.25)
    assert len(state.pack()) == 12
    assert State.unpack(state.interval, state.pack()) == state
    assert State.unpack(DAY, b"") == State(DAY)


def test_a_host_says_what_to_believe_once_it_is_known() -> None:
    settings = Scheduler()
    host = belief.new_host(settings)
    for _ in range(19):
        host.learn(settings, DAY, change=True)
    assert belief.prior(settings, host) == (0.4, 2 * DAY)
    host.learn(settings, DAY, change=True)
    a, b = belief.prior(settings, host)
    assert a == 0.8
    assert a / b == pytest.approx(host.a / host.b)


def test_a_host_learns_the_rate_of_its_pages() -> None:
    settings = Scheduler()
    host = belief.new_host(settings)
    chance = -math.expm1(-0.1 * 3)  # one change in ten days, looked at every three
    for n in range(4000):
        change = int((n + 1) * chance) > int(n * chance)
        host.learn(settings, 3 * DAY, change=change)
    host.learn(settings, 0.0, change=True)
    assert host.seen == 4000
    assert host.a / host.b * DAY == pytest.approx(0.1, rel=0.05)


def test_a_declared_change_frequency_is_a_weak_belief() -> None:
    assert belief.prior(Scheduler(), None, 10 * DAY) == (0.4, 4 * DAY)
