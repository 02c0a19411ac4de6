"""`adaptive` and `fixed` (A2), the hints that all policies take, and policies by name (A10)."""

import importlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.errors import Stop
from services.common.settings import Scheduler
from services.scheduler.policies import (
    AROUND,
    Hints,
    Observation,
    Seen,
    State,
    load,
)
from services.scheduler.policies.adaptive import Adaptive
from services.scheduler.policies.fixed import Fixed

DAY = 86_400.0
START = 1_700_000_000.0


def seen(what: Seen, **fields: Hints) -> Observation:
    return Observation(seen=what, since_last=DAY, **fields)  # type: ignore[arg-type] # known names


@pytest.mark.parametrize("factor", [2.0, 1.5])
def test_adaptive_follows_the_documented_trace(factor: float) -> None:
    """A2: bit-exact, caps included."""
    policy = Adaptive(Scheduler(factor=factor, min_interval=DAY, max_interval=90 * DAY))
    state = policy.learn(None, seen(Seen.FIRST), AROUND, START).state
    trace, expected = [state.interval], [14 * DAY]
    for changed in [True] * 9 + [False] * 14 + [True, False, True]:
        what = Seen.CHANGED if changed else Seen.UNCHANGED
        state = policy.learn(state, seen(what), AROUND, START).state
        state = State.unpack(state.interval, state.pack())  # as the row keeps it
        trace.append(state.interval)
        step = expected[-1] / factor if changed else expected[-1] * factor
        expected.append(min(max(step, DAY), 90 * DAY))
    assert trace == expected
    assert {DAY, 90 * DAY} < set(trace)


@given(interval=st.floats(1, 1e9), what=st.sampled_from([Seen.CHANGED, Seen.UNCHANGED, Seen.FIRST]))
def test_adaptive_stays_within_its_bounds(interval: float, what: Seen) -> None:
    settings = Scheduler()
    then = Adaptive(settings).learn(State(interval), seen(what), AROUND, START)
    assert settings.min_interval <= then.state.interval <= settings.max_interval
    assert then.due == then.wake == START + then.state.interval


def test_a_page_wakes_when_it_is_due() -> None:
    policy = Adaptive(Scheduler())
    then = policy.learn(None, seen(Seen.FIRST), AROUND, START)
    assert policy.wake(then.state, START, AROUND, then.wake) == then


def test_the_planned_rate_is_that_of_the_interval() -> None:
    then = Fixed(Scheduler(first_interval=5 * DAY)).learn(None, seen(Seen.FIRST), AROUND, START)
    assert then.state.rate == 1 / (5 * DAY)


def test_a_declared_change_frequency_is_the_first_interval() -> None:
    observation = seen(Seen.FIRST, hints=Hints(changefreq=DAY))
    assert Adaptive(Scheduler()).learn(None, observation, AROUND, START).due == START + DAY
    deaf = Adaptive(Scheduler(use_hints=False))
    assert deaf.learn(None, observation, AROUND, START).due == START + 14 * DAY


@pytest.mark.parametrize(("max_age", "wait"), [(600, 3600), (7200, 7200), (9e9, DAY)])
def test_what_may_be_cached_is_left_alone_for_a_while(max_age: float, wait: float) -> None:
    """Due later, within `max_age_limit`; the interval itself is the policy's."""
    observation = seen(Seen.CHANGED, hints=Hints(max_age=max_age))
    then = Adaptive(Scheduler()).learn(State(3600.0), observation, AROUND, START)
    assert (then.state.interval, then.due) == (3600.0, START + wait)


def test_news_in_a_sitemap_makes_a_page_due() -> None:
    policy, state = Adaptive(Scheduler()), State(14 * DAY)
    assert policy.told(state, START, START + 60, START + DAY).due == START + DAY
    assert policy.told(state, START, START + 60, START + 120).due == START + 3600


def test_old_news_and_news_from_the_future_change_nothing() -> None:
    policy, state = Adaptive(Scheduler()), State(14 * DAY)
    for modified in (START - 1, START, START + 2 * DAY):
        assert policy.told(state, START, modified, START + DAY).due == START + 14 * DAY


@pytest.mark.parametrize("name", ["adaptive", "fixed", "optimal"])
def test_policies_are_found_by_name(name: str) -> None:
    """A10."""
    then = load(Scheduler(policy=name)).learn(None, seen(Seen.FIRST), AROUND, START)
    assert then.due == pytest.approx(START + Scheduler().first_interval, rel=1e-9)


def test_an_unknown_policy_names_those_there_are() -> None:
    with pytest.raises(Stop, match=r"no recrawl policy 'fancy'; there are: adaptive, fixed, opt"):
        load(Scheduler(policy="fancy"))


def test_a_policy_of_ones_own_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A10: an installed package is a folder of metadata on the path."""
    info = tmp_path / "news-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: news\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[recrawl.policies]\nnews = news_policy:NightlyNews\n")
    (tmp_path / "news_policy.py").write_text(_example())
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    policy = load(Scheduler(policy="news", min_interval=60))
    state = policy.learn(None, seen(Seen.FIRST), AROUND, START).state
    assert policy.learn(state, seen(Seen.CHANGED), AROUND, START).state.interval == 1800
    assert policy.learn(State(1800.0), seen(Seen.UNCHANGED), AROUND, START).state.interval == 2700


def _example() -> str:
    page = Path(__file__).parents[3] / "docs" / "policies.md"
    return page.read_text().partition("```python\n")[2].partition("```")[0]
