"""Recrawl policies (A2, A10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.errors import Stop
from services.common.settings import Scheduler
from services.scheduler import policies
from services.scheduler.policies import Observation, Plan
from services.scheduler.policies.adaptive import Adaptive

DAY = 86_400.0


def seen(*, changed: bool | None) -> Observation:
    return Observation(changed=changed, since_last=1.0)


@pytest.mark.parametrize("factor", [2.0, 1.5])
def test_adaptive_follows_the_documented_trace(factor: float) -> None:
    """A2: bit-exact, caps included."""
    policy = Adaptive(Scheduler(factor=factor, min_interval=DAY, max_interval=90 * DAY))
    plan = policy.next(None, seen(changed=None))
    trace = [plan.interval]
    for changed in (True, False, False, False, False, False, True):
        plan = policy.next(plan, seen(changed=changed))
        trace.append(plan.interval)
    expected = [14 * DAY]
    for changed in (True, False, False, False, False, False, True):
        step = expected[-1] / factor if changed else expected[-1] * factor
        expected.append(min(max(step, DAY), 90 * DAY))
    assert trace == expected


@given(
    interval=st.floats(1, 1e9),
    changed=st.sampled_from([True, False, None]),
)
def test_adaptive_stays_within_its_bounds(interval: float, changed: bool | None) -> None:
    settings = Scheduler()
    plan = Adaptive(settings).next(Plan(interval=interval), seen(changed=changed))
    assert settings.min_interval <= plan.interval <= settings.max_interval


def test_policies_are_found_by_name() -> None:
    """A10."""
    plan = policies.load(Scheduler(policy="fixed")).next(None, seen(changed=True))
    assert plan.interval == Scheduler().first_interval


def test_an_unknown_policy_names_those_there_are() -> None:
    with pytest.raises(Stop, match=r"no recrawl policy 'fancy'; there are: adaptive, fixed"):
        policies.load(Scheduler(policy="fancy"))
