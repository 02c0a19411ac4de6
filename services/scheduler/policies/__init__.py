"""When a page that was fetched is fetched again: plug-ins by entry point `recrawl.policies`."""

from importlib.metadata import entry_points
from typing import Protocol

import msgspec

from services.common.errors import Stop
from services.common.settings import Scheduler


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a successful fetch taught."""

    changed: bool | None
    """None: there was nothing to compare with (first fetch)."""
    since_last: float
    """Seconds since the fetch it was compared with; 0 for the first."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to the next fetch, and what the policy wants to remember of the URL."""

    interval: float
    memory: bytes = b""


class Policy(Protocol):
    """A recrawl policy; constructed once with the scheduler's settings."""

    def next(self, last: Plan | None, seen: Observation) -> Plan:
        """The plan after `seen`; `last` is None for a page fetched for the first time."""
        ...


def load(settings: Scheduler) -> Policy:
    """The policy that the settings name.

    Raises:
        Stop: no installed package offers a policy of that name.
    """
    found = {entry.name: entry for entry in entry_points(group="recrawl.policies")}
    if settings.policy not in found:
        raise Stop(f"no recrawl policy {settings.policy!r}; there are: {', '.join(sorted(found))}")
    policy: Policy = found[settings.policy].load()(settings)
    return policy
