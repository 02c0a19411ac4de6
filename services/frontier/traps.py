"""URLs that a site makes without end: recognised by their form, one by one (D10).

Decides by the URL and the year; keeps nothing. What can only be seen over many URLs is
budgets.py's. Seeds are never judged: who sends one means it. Every threshold is a setting, and 0
switches its rule off.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.common.urls import Url

REASONS = ("trap-depth", "trap-repeat", "trap-parameters", "trap-calendar")

_SECONDS_A_YEAR = 365.2425 * 86_400
_YEAR = re.compile(r"(?<![0-9])[12]\d{3}")
_DATES = (
    # 2031-05, 2031-05-17: anywhere
    re.compile(r"(?<![0-9A-Za-z-])([12]\d{3})-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?(?![0-9-])"),
    # /2031/05/17
    re.compile(r"/([12]\d{3})/(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?=[/?]|\Z)"),
    # ?year=2031, ?date=20310517
    re.compile(
        r"[?&](?:[a-z_]*year|yr|[a-z_]*date|[a-z_]*month|[a-z_]*day|week|cal[a-z_]*)"
        r"=([12]\d{3})(?:\d{2}|\d{4})?(?=&|\Z)",
        re.IGNORECASE,
    ),
    # /calendar/2031/5
    re.compile(
        r"(?:calend[ae]r|kalender|events?|agenda|schedule|termine?|month|week|day|booking)"
        r"/([12]\d{3})(?:/\d{1,2})?(?=[/?]|\Z)",
        re.IGNORECASE,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """As in `settings.Frontier`; 0 switches a rule off."""

    max_segments: int = 20
    max_repeats: int = 3
    max_parameters: int = 30
    years_ahead: int = 3
    years_back: int = 100


def year_of(now: float) -> int:
    """The year of a time in seconds since the epoch."""
    return 1970 + int(now // _SECONDS_A_YEAR)


def trap(url: Url, thresholds: Thresholds, year: int) -> str | None:
    """Which of `REASONS` speaks against `url` in the year `year`; None if none does."""
    path, _, query = url.path.partition("?")
    segments = path.split("/")[1:]
    if not segments[-1]:
        segments.pop()
    if 0 < thresholds.max_segments < len(segments):
        return "trap-depth"
    if len(segments) > thresholds.max_repeats > 0 and repeats(segments, thresholds.max_repeats):
        return "trap-repeat"
    if query and 0 < thresholds.max_parameters <= query.count("&"):
        return "trap-parameters"
    return "trap-calendar" if far_off(url.path, thresholds, year) else None


def repeats(segments: Sequence[str], most: int) -> bool:
    """Whether a run of segments follows itself more than `most` times, or one comes back often.

    Often is more than twice `most` anywhere: two relative links that take turns make paths
    without a regular run.
    """
    if max(Counter(segments).values(), default=0) > 2 * most:
        return True
    for period in range(1, len(segments) // (most + 1) + 1):
        run = 0
        for here, before in zip(segments[period:], segments, strict=False):
            run = run + 1 if here == before else 0
            if run == period * most:
                return True
    return False


def far_off(path: str, thresholds: Thresholds, year: int) -> bool:
    """Whether a date in the path or the query is far from now."""
    first = year - thresholds.years_back if thresholds.years_back else 0
    last = year + thresholds.years_ahead if thresholds.years_ahead else 9999
    # Most paths have no number that could be such a year, and need no closer look.
    if all(first <= int(number) <= last for number in _YEAR.findall(path)):
        return False
    return any(
        not first <= int(number) <= last for pattern in _DATES for number in pattern.findall(path)
    )
