"""How far from its seed a job may go: the same host, the same registered domain, anywhere."""

from services.common.records import Rules, Scope
from services.common.urls import Url, registered_domain


def root_of(url: Url, host: str, scope: Scope) -> str:
    """What the scope of a seed at `url`, known under `host`, is measured against."""
    if scope == "any":
        return ""
    return host if scope == "host" else registered_domain(url.hostname)


def within(url: Url, host: str, rules: Rules) -> bool:
    """Whether `url`, known under `host`, is inside the scope; the scheme makes no difference."""
    return root_of(url, host, rules.scope) == rules.root
