"""Reads Retry-After (RFC 9110, 10.2.3): how long a site asks us to stay away. Only reads."""

import re

from services.common import http_dates

CAP = 86_400.0
"""Seconds; nobody gets to close a host for longer by one header."""


def seconds(values: list[str], now: float) -> float | None:
    """Seconds to wait from `now` (epoch), by the largest of a response's Retry-After `values`.

    None where there is nothing to obey: no usable value, zero, or a time gone by.
    """
    waits = [wait for value in values for wait in _waits(value.strip(), now)]
    longest = min(max(waits, default=0.0), CAP)
    return longest if longest > 0 else None


def _waits(value: str, now: float) -> list[float]:
    if re.search("[A-Za-z]", value):
        date = http_dates.seconds(value)
        return [] if date is None else [date - now]
    parts = [part.strip() for part in value.split(",")]
    return [float(part[:12]) for part in parts if re.fullmatch("[0-9]+", part)]
