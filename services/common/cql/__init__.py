"""CQL statements by name, and the numbered migrations beside this file.

Names what is asked of Cassandra; never talks to it.
"""

from dataclasses import dataclass

__all__ = ["Statement"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One CQL text; `name` is its label in metrics."""

    name: str
    cql: str
    idempotent: bool = True
    """Running it twice is the same as once, so it may be tried again without asking."""
