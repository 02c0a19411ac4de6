"""What fetching a page again is worth, and when it is worth its price.

The value at age t is the expectation, over the Gamma belief (a, b) about the change rate L, of
1/L - (t + 1/L) exp(-L t): the staleness that a fetch takes away compared with waiting (Olston and
Pandey 2008; for a known rate it is the optimum of Cho and Garcia-Molina 2003). With a <= 1 it has
no bound, so a page that little is known of is always tried again.
"""

import math

_FEW = 1e-3
"""Changes expected, below which the formula loses its digits and its series is used."""
_CLOSE = 1e-6
"""Distance of a from 1 where the general form divides by nothing; of logarithms, to be equal."""
_STEPS = 60


def value(a: float, b: float, t: float) -> float:
    """Seconds of staleness that a fetch at age `t` seconds takes away; grows with `t`."""
    x = t / b
    if x * (a + 2) < _FEW:
        return a * b * x * x * (0.5 - (a + 1) * x / 3 + (a + 1) * (a + 2) * x * x / 8)
    log = math.log1p(x)
    rest = t * math.exp(-a * log)
    if -_CLOSE < a - 1 < _CLOSE:
        return b * log - rest
    return -b / (a - 1) * math.expm1((1 - a) * log) - rest


def age_worth(  # noqa: PLR0917 - called for every fetch; names would cost
    a: float, b: float, price: float, low: float, high: float, guess: float = 0.0
) -> float:
    """The age in seconds, from `low` to `high`, at which the value reaches `price` (seconds).

    Newton's method on logarithms, within a bracket. `guess`: where to begin, such as the last
    answer; 0 for none.
    """
    if value(a, b, high) <= price:
        return high
    if value(a, b, low) >= price:
        return low
    wanted = math.log(price)
    low, high = math.log(low), math.log(high)
    y = math.log(guess) if guess > 0 else 0.5 * math.log(2 * price * b / a)
    for _ in range(_STEPS):
        if not low < y < high:
            y = (low + high) / 2
        t = math.exp(y)
        worth = value(a, b, t)
        miss = math.log(worth) - wanted
        if -_CLOSE < miss < _CLOSE:
            return t
        if miss > 0:
            high = y
        else:
            low = y
        slope = t * t * a / b * math.exp(-(a + 1) * math.log1p(t / b)) / worth
        y = y - miss / slope if slope > 0 else -math.inf
    return math.exp(y)
