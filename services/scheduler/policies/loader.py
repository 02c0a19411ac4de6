"""A policy by name: ours, or one that an installed package offers as `recrawl.policies`."""

from importlib.metadata import entry_points

from services.common.errors import Stop
from services.common.settings import Scheduler
from services.scheduler.policies.adaptive import Adaptive
from services.scheduler.policies.base import Policy
from services.scheduler.policies.fixed import Fixed
from services.scheduler.policies.optimal import Optimal

_OURS: dict[str, type[Policy]] = {"adaptive": Adaptive, "fixed": Fixed, "optimal": Optimal}


def load(settings: Scheduler) -> Policy:
    """The policy that the settings name.

    Raises:
        Stop: there is none of that name.
    """
    if settings.policy in _OURS:
        return _OURS[settings.policy](settings)
    others = {entry.name: entry for entry in entry_points(group="recrawl.policies")}
    if settings.policy not in others:
        names = ", ".join(sorted({*_OURS, *others}))
        raise Stop(f"no recrawl policy {settings.policy!r}; there are: {names}")
    policy: Policy = others[settings.policy].load()(settings)
    return policy
