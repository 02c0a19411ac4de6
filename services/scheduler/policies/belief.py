"""What is believed of a change rate: a Gamma distribution, updated in constant time (D8).

Changes come as a Poisson process of unknown rate; a fetch only tells whether there was one since
the last fetch. "None" updates the Gamma distribution exactly; after "one or more" its first two
moments are kept exactly.
"""

import math

import msgspec

from services.common.settings import Scheduler

_CERTAIN = 1e-12
"""Chance of a change, below which its formula loses its digits and its limit is used."""


def changed(a: float, b: float, since_last: float, age: float | None = None) -> tuple[float, float]:
    """The belief (a, b) after a change within the last `since_last` seconds.

    `age`: seconds since the last change, if known; the update is exact then. Nothing is learned
    from no time at all.
    """
    if since_last <= 0:
        return a, b
    if age is not None and 0 <= age < since_last:
        return a + 1, b + age
    log_ratio = -math.log1p(since_last / b)
    chance = -math.expm1(a * log_ratio)
    if chance < _CERTAIN:
        return a + 1, b + since_last / 2
    mean = a / b * -math.expm1((a + 1) * log_ratio) / chance
    square = a * (a + 1) / (b * b) * -math.expm1((a + 2) * log_ratio) / chance
    variance = square - mean * mean
    return mean * mean / variance, mean / variance


def forgotten(a: float, b: float, max_shape: float) -> tuple[float, float]:
    """The belief as sure as `max_shape` observations at most, so that it follows a page's ways."""
    return (max_shape, b * max_shape / a) if a > max_shape else (a, b)


class HostBelief(msgspec.Struct, array_like=True):
    """What the URLs of a host taught together, as if they were one page."""

    a: float
    b: float
    seen: int = 0
    """Comparisons it rests on."""

    def learn(self, settings: Scheduler, since_last: float, *, change: bool) -> None:
        """Take one comparison of one of the host's URLs into account."""
        if since_last <= 0:
            return
        self.seen += 1
        if change:
            found = changed(self.a, self.b, since_last)
            self.a, self.b = forgotten(*found, settings.host_max_shape)
        else:
            self.b += since_last


def new_host(settings: Scheduler) -> HostBelief:
    """The belief about a host that nothing is known of."""
    return HostBelief(settings.prior_shape, settings.prior_time)


def prior(
    settings: Scheduler, host: HostBelief | None, declared: float = 0.0
) -> tuple[float, float]:
    """The belief about a URL that was never compared.

    From its host once that is known well enough; else from the `declared` seconds between
    changes; else from the web at large.
    """
    if host is not None and host.seen >= settings.host_prior_after:
        return settings.host_prior_shape, settings.host_prior_shape * host.b / host.a
    return settings.prior_shape, settings.prior_shape * declared or settings.prior_time
