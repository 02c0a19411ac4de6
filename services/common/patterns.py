"""Regular expressions from outside, in RE2: time linear in the text, whatever the pattern.

No pattern can hold a service up, so there is no time limit to set and none to miss. What RE2
lacks for that (look-around, back-references) is an error of the pattern.
"""

from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped]  # it ships no types

_MAX_LENGTH = 1000
_MAX_MEMORY = 1 << 20


class Pattern(Protocol):
    """What is used of a compiled pattern."""

    def search(self, text: str) -> object:
        """A match anywhere in `text`; None if there is none."""


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> Pattern:
    """The pattern, ready to be used.

    Raises:
        ValueError: RE2 does not take it, or it is too large.
    """
    if len(pattern) > _MAX_LENGTH:
        raise ValueError(f"{len(pattern)} characters; {_MAX_LENGTH} are allowed")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        found: Pattern = re2.compile(pattern, options)
    except UnicodeEncodeError as error:
        raise ValueError(f"{pattern!a}: {error.reason}") from error
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "not taken"
        raise ValueError(f"{pattern!a}: {reason}") from error
    return found
