"""How far from its seed a job may go: the same host, the same registered domain, anywhere."""

from services.common.records import Rules, Scope
from services.common.urls import Url, registered_domain


def root_of(url: Url, scope: Scope) -> str:
    """What the scope of a seed at `url` is measured against."""
    if scope == "any":
        return ""
    return url.host if scope == "host" else registered_domain(url.hostname)


def within(url: Url, rules: Rules) -> bool:
    """Whether `url` is inside the scope of `rules`; the scheme makes no difference."""
    return root_of(url, rules.scope) == rules.root
