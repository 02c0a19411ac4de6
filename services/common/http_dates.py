"""Dates in HTTP headers (RFC 9110, 5.6.7). Only reads."""

from datetime import UTC
from email.utils import parsedate_to_datetime


def seconds(text: str | None) -> float | None:
    """Seconds since the epoch; None for what is no date. One without a zone is in UTC."""
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
