"""When a service that died is started again, and when that is pointless. Starts nothing."""

WINDOW = 60.0
"""Seconds that a death counts for."""
LIMIT = 5
"""Deaths within the window after which a service is given up."""


def wait(deaths: list[float], now: float) -> float | None:
    """Seconds from the last death to the next start; None: give up.

    `deaths` are the times of all deaths so far, the last one included.
    """
    recent = [death for death in deaths if now - death <= WINDOW]
    if len(recent) >= LIMIT:
        return None
    return 0.25 * 2.0 ** len(recent)
