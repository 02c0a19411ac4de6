"""How long an answer may be kept, by its headers (RFC 9111, 4.2.1)."""

import re

from services.common import http_dates
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
    expires = http_dates.seconds(header(headers, "expires"))
    if expires is None:
        return None
    answered = http_dates.seconds(header(headers, "date"))
    return max(expires - (answered or fetched_at), 0.0)
