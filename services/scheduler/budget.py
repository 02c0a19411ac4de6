"""Whose turn it is: recrawls or new URLs (A4), and how that shifts while recrawls are late (A5)."""

from typing import Literal

Side = Literal["due", "new"]

_STEP = 0.1
"""The recrawls' share rises in steps of this, so that its changes can be seen and told."""


class Budget:
    """Splits fetches between due recrawls and new URLs while both wait; else one gets all.

    Turns are spread evenly, not in runs (error diffusion, as in Bresenham's line).
    """

    def __init__(
        self, recrawl_share: float, *, max_lag: float = 0.0, new_floor: float = 0.0
    ) -> None:
        """Recrawls later than `max_lag` seconds take from what new URLs have above `new_floor`.

        `max_lag` 0: never.
        """
        self._share = recrawl_share
        self._max_lag = max_lag
        self._new_floor = new_floor
        self._credit = 0.5
        self.lag = 0.0
        """Seconds by which the recrawl last handed out was late; 0 when none waits."""

    @property
    def recrawl_share(self) -> float:
        """The share as it is now: whole from twice `max_lag` on, less the floor of new URLs."""
        most = max(self._share, 1.0 - self._new_floor)
        if self._max_lag <= 0 or self.lag <= self._max_lag:
            return self._share
        late = min(1.0, self.lag / self._max_lag - 1.0)
        steps = -int(-late * (most - self._share) // _STEP)
        return min(most, self._share + steps * _STEP)

    def late(self, seconds: float) -> None:
        """A recrawl was handed out so long after it was due."""
        self.lag = max(seconds, 0.0)

    def choose(self, *, due: bool, new: bool) -> Side | None:
        """The side that is served next; None if nobody waits."""
        if not due:
            self.lag = 0.0
        if not (due and new):
            return "due" if due else "new" if new else None
        self._credit += self.recrawl_share
        if self._credit >= 1.0:
            self._credit -= 1.0
            return "due"
        return "new"
