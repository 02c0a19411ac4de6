"""A job's patterns: RE2, and a dead letter for what RE2 does not take."""

from services.common import patterns
from services.common.errors import DeadLetter
from services.common.patterns import Pattern

__all__ = ["Pattern", "compiled"]


def compiled(pattern: str) -> Pattern:
    """The pattern, ready to be used.

    Raises:
        DeadLetter: `pattern`: RE2 does not take it, or it is too large.
    """
    try:
        return patterns.compiled(pattern)
    except ValueError as error:
        raise DeadLetter("pattern", str(error)) from error
