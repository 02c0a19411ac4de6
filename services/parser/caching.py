"""How long an answer may be kept, by its headers (RFC 9111, 4.2.1)."""

import re
from email.utils import parsedate_to_datetime

from services.parser.document import header

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NEVER = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)


def fresh_for(headers: list[tuple[str, str]], fetched_at: float) -> float | None:
    """Seconds from the fetch, by Cache-Control, else Expires; None if neither says.

    `no-store`, `no-cache` and what cannot be read say nothing about when a page changes.
    """
    control = ", ".join(value for name, value in headers if name == "cache-control")
    if _NEVER.search(control):
        return None
    found = _MAX_AGE.search(control)
    if found:
        age = header(headers, "age")
        passed = float(age) if age.isdecimal() and age.isascii() else 0.0
        return max(float(found[1]) - passed, 0.0)
    expires = _date(header(headers, "expires"))
    if expires is None:
        return None
    return max(expires - (_date(header(headers, "date")) or fetched_at), 0.0)


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
