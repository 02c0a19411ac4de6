"""A4, A5: how fetches are shared between recrawls and new URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.budget import Budget

HOUR = 3600.0


def _dues(budget: Budget, turns: int = 1000) -> int:
    return sum(budget.choose(due=True, new=True) == "due" for _ in range(turns))


@pytest.mark.parametrize(
    ("lag", "dues"),
    [(0.0, 600), (HOUR, 600), (1.25 * HOUR, 700), (1.5 * HOUR, 800), (3 * HOUR, 900)],
)
def test_late_recrawls_take_from_the_new_step_by_step_down_to_the_floor(
    lag: float, dues: int
) -> None:
    """A5."""
    budget = Budget(0.6, max_lag=HOUR, new_floor=0.1)
    budget.late(lag)
    assert _dues(budget) == pytest.approx(dues, abs=1)


def test_without_a_limit_of_lag_the_split_stays() -> None:
    """What `sacrifice = recrawls` asks for."""
    budget = Budget(0.6)
    budget.late(100 * HOUR)
    assert _dues(budget) == 600


def test_the_split_is_back_once_no_recrawl_waits() -> None:
    budget = Budget(0.6, max_lag=HOUR, new_floor=0.1)
    budget.late(3 * HOUR)
    assert budget.choose(due=False, new=True) == "new"
    assert budget.lag == 0
    assert _dues(budget) == 600


@given(
    share=st.floats(0, 1),
    floor=st.floats(0, 1),
    lags=st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
)
def test_more_lag_never_means_a_smaller_share(
    share: float, floor: float, lags: tuple[float, float]
) -> None:
    budget = Budget(share, max_lag=HOUR, new_floor=floor)
    shares = []
    for lag in sorted(lags):
        budget.late(lag)
        shares.append(budget.recrawl_share)
    assert share <= shares[0] <= shares[1] <= max(share, 1 - floor)
