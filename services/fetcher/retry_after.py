"""Reads Retry-After (RFC 9110, 10.2.3): how long a site asks us to stay away. Only reads."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

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
        try:
            date = parsedate_to_datetime(value)
            # RFC 9110, 5.6.7: a date without a zone (the asctime form) is in UTC.
            return [(date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now]
        except (ValueError, OverflowError, IndexError, TypeError):
            return []
    parts = [part.strip() for part in value.split(",")]
    return [float(part[:12]) for part in parts if re.fullmatch("[0-9]+", part)]
