"""Whose turn it is: recrawls or new URLs (A4)."""

from typing import Literal

Side = Literal["due", "new"]


class Budget:
    """Splits fetches between due recrawls and new URLs while both wait; else one gets all.

    Turns are spread evenly, not in runs (error diffusion, as in Bresenham's line).
    """

    def __init__(self, recrawl_share: float) -> None:
        self._share = recrawl_share
        self._credit = 0.5

    def choose(self, *, due: bool, new: bool) -> Side | None:
        """The side that is served next; None if nobody waits."""
        if not (due and new):
            return "due" if due else "new" if new else None
        self._credit += self._share
        if self._credit >= 1.0:
            self._credit -= 1.0
            return "due"
        return "new"
