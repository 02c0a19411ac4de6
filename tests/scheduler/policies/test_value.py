"""What a fetch is worth, against quadrature and against the known-rate optimum (G1)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.policies.value import age_worth, value

SHAPES = st.floats(0.1, 20)
TIMES = st.floats(1, 1e8)
_NODES, _SHARES = np.polynomial.legendre.leggauss(20)


def by_quadrature(a: float, b: float, t: float) -> float:
    """The integral of s (a/b) (1 + s/b)^(-a-1) over s from 0 to t, with s = b (e^y - 1)."""
    edges = np.linspace(0, math.log1p(t / b), 65)
    half = np.diff(edges)[:, None] / 2
    y = edges[:-1, None] + half * (1 + _NODES)
    return float((half * _SHARES * a * b * np.expm1(y) * np.exp(-a * y)).sum())


@pytest.mark.parametrize("a", [0.1, 0.4, 0.8, 1 - 1e-5, 1 - 1e-7, 1.0, 1 + 1e-7, 1 + 1e-5, 3, 20])
@pytest.mark.parametrize("x", [1e-6, 1e-4, 4e-4, 6e-4, 1e-2, 1, 30, 1e3])
def test_the_value_is_the_integral(a: float, x: float) -> None:
    # Next to a = 1 its limit is used, which is off by no more than the distance.
    near = 1e-5 if 0 < abs(a - 1) < 1e-6 else 1e-9
    b = 172_800.0
    assert value(a, b, x * b) == pytest.approx(by_quadrature(a, b, x * b), rel=near)


@given(a=SHAPES, b=TIMES, t=TIMES, more=st.floats(1.001, 10))
def test_the_value_grows_with_the_age(a: float, b: float, t: float, more: float) -> None:
    older = value(a, b, t * more)
    assert older >= value(a, b, t) >= 0
    if a * math.log1p(t / b) < 30:  # else the rest is lost in the last digit
        assert older > value(a, b, t)


@given(a=SHAPES, b=TIMES, t=st.floats(3600, 3e7), guess=st.sampled_from([0.0, 1.0, 1e12]))
def test_the_age_is_the_inverse_of_the_value(a: float, b: float, t: float, guess: float) -> None:
    worth = value(a, b, t)
    age = age_worth(a, b, worth, 60.0, 1e8, guess)
    assert value(a, b, age) == pytest.approx(worth, rel=3e-6)
    if a * math.log1p(t / b) < 5:  # where the value is not flat
        assert age == pytest.approx(t, rel=1e-3)


@given(a=SHAPES, b=TIMES, price=st.floats(1e-3, 1e12))
def test_the_age_stays_within_its_bounds(a: float, b: float, price: float) -> None:
    assert 3600 <= age_worth(a, b, price, 3600.0, 3e7) <= 3e7


def test_a_price_out_of_reach_gives_the_bound() -> None:
    assert age_worth(2.0, 1e5, 1e9, 3600.0, 3e7) == 3e7
    assert age_worth(2.0, 1e5, 1e-9, 3600.0, 3e7) == 3600.0


@pytest.mark.parametrize("a", [0.1, 0.4, 1.0, 20.0])
def test_extremes_stay_finite(a: float) -> None:
    for b, t in ((1e-6, 1e3), (1e12, 1e-3), (1.0, 1e9)):
        assert math.isfinite(value(a, b, t))
        assert value(a, b, t) >= 0
        assert 1e-3 <= age_worth(a, b, 1.0, 1e-3, 1e9) <= 1e9


@pytest.mark.parametrize("share", [1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
def test_a_known_rate_gives_the_optimum_of_cho_and_garcia_molina(share: float) -> None:
    """1 - (1 + z) exp(-z) = price x rate, z = rate x interval."""
    rate, a = 1e-5, 1e6
    z = rate * age_worth(a, a / rate, share / rate, 1.0, 1e9)
    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if -math.expm1(-middle) - middle * math.exp(-middle) < share
            else (low, middle)
        )
    assert z == pytest.approx(low, rel=2e-4)
