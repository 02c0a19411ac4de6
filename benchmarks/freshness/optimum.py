"""The most that any plan of regular fetches can reach for Poisson pages of known change rates.

Cho and Garcia-Molina 2003: with z = rate x interval, weight / rate x (1 - (1 + z) exp(-z)) is the
same for all pages that are fetched at all, and the freshness of a page is (1 - exp(-z)) / z.
"""

import numpy as np

from benchmarks.freshness.world import Floats

_HALVINGS = 60


def best_freshness(rates: Floats, weights: Floats, budget: float) -> float:
    """Weighted freshness of the optimum; `rates` in 1/s, `budget` in fetches a second."""
    live = rates > 0
    rate, weight = rates[live], weights[live]
    low, high = 1e-12, float((weight / rate).max())
    for _ in range(_HALVINGS):
        price = float(np.sqrt(low * high))
        spent = float((rate / _products(price * rate / weight)).sum())
        low, high = (price, high) if spent > budget else (low, price)
    z = _products(high * rate / weight)
    fresh = np.where(np.isfinite(z), -np.expm1(-z) / z, 0.0)
    return float((weight * fresh).sum() + weights[~live].sum()) / float(weights.sum())


def _products(shares: Floats) -> Floats:
    """The z for each share = 1 - (1 + z) exp(-z); infinite from 1 on."""
    within = np.minimum(shares, 1 - 1e-15)
    low, high = np.zeros_like(within), np.full_like(within, 50.0)
    for _ in range(_HALVINGS):
        z = (low + high) / 2
        small = -np.expm1(-z) - z * np.exp(-z) < within
        low, high = np.where(small, z, low), np.where(small, high, z)
    return np.where(shares < 1, (low + high) / 2, np.inf)
