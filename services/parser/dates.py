"""When a site says that something changed: W3C dates, RFC 822 dates and what people write instead.

Decides what a date means and whether it can be true. A hint, so that a doubtful one is dropped:
one bad date never costs the entry it belongs to.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from services.common import http_dates

EARLIEST = 631_152_000.0
"""1990: what is dated before the web is a default or a mistake."""
AHEAD = 86_400.0
"""Seconds that a site's clock or time zone may be ahead of us."""
_LONGEST = 64

_W3C = re.compile(
    r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?"
    r"(?:(?:T|\s+|T\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?Z?)?", re.IGNORECASE)
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_EPOCH = re.compile(r"(\d{10})(?:\d{3})?")


def moment(text: str, now: float) -> float | None:
    """Seconds since the epoch; None for what is no date, or none between 1990 and tomorrow."""
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    try:
        found = _read(text)
    except (ValueError, OverflowError):
        return None
    return found if EARLIEST <= found <= now + AHEAD else None


def _read(text: str) -> float:
    if match := _EPOCH.fullmatch(text):
        return float(match[1])
    if match := _COMPACT.fullmatch(text):
        return _utc(match.groups())
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year, *clock = match.groups()
        return _utc((year, month, day, *clock))
    if match := _W3C.fullmatch(text):
        year, _, month, day, *clock, zone = match.groups()
        return _utc((year, month, day, *clock)) - _offset(zone)
    # RFC 822 and asctime
    found = http_dates.seconds(text)
    if found is None:
        raise ValueError(text)
    return found


def _utc(parts: Sequence[str | None]) -> float:
    """Year, month, day, hour, minute, second; what is missing is the first there is."""
    year, month, day, hour, minute, second = (int(part) if part else None for part in parts)
    clock = (hour or 0, minute or 0, min(second or 0, 59))  # 60 is a leap second
    if year is None or 0 in (month, day):
        raise ValueError(parts)
    return datetime(year, month or 1, day or 1, *clock, tzinfo=UTC).timestamp()


def _offset(zone: str | None) -> float:
    """Seconds that a zone is ahead of UTC."""
    if not zone or zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    seconds = ahead.total_seconds()
    return -seconds if zone[0] == "-" else seconds
