"""When a page that was fetched is fetched again (A2, A10, D8, G1): policies, pure and by name.

A policy is given what a fetch taught and what holds around it, and answers with the URL's new
state and when to look at it again. docs/policies.md says which policy is for what.
"""

from services.scheduler.policies.base import (
    AROUND,
    Around,
    Hints,
    Next,
    Observation,
    Policy,
    Seen,
    State,
)
from services.scheduler.policies.loader import load

__all__ = [
    "AROUND",
    "Around",
    "Hints",
    "Next",
    "Observation",
    "Policy",
    "Seen",
    "State",
    "load",
]
