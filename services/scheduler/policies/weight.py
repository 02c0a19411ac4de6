"""How much a URL counts: its score against the mean, so that weights are 1 in the mean.

The score is any positive number that grows with importance: priority, popularity, PageRank. The
`optimal` policy fetches what changes slowly about as often as the square root of the weight says.
"""

_LEAST, _MOST = 1e-3, 1e3
"""Bounds, so that no URL is forgotten and none takes all."""


def weight(score: float, mean: float) -> float:
    """The weight of a URL with this score, where `mean` is that of all URLs."""
    if score <= 0 or mean <= 0:
        return 1.0 if mean <= 0 else _LEAST
    return min(max(score / mean, _LEAST), _MOST)
