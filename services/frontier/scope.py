"""How far from its seed a job may go: by host or domain, by path, by pattern."""

from services.common.errors import DeadLetter
from services.common.records import Rules, Scope
from services.common.urls import BadUrl, Url, parse, registered_domain
from services.frontier.patterns import Pattern, compiled


def root_of(url: Url, host: str, scope: Scope) -> str:
    """What the scope of a seed at `url`, known under `host`, is measured against."""
    if scope == "any":
        return ""
    return host if scope == "host" else registered_domain(url.hostname)


def within(url: Url, host: str, rules: Rules) -> bool:
    """Whether `url`, known under `host`, is inside the scope; the scheme makes no difference."""
    return root_of(url, host, rules.scope) == rules.root


class Filter:
    """A job's path prefix and patterns, for links; a seed is where its job starts, wherever."""

    def __init__(self, rules: Rules) -> None:
        """Raises DeadLetter (`pattern`) if RE2 does not take one of them."""
        self._prefix = rules.path_prefix
        self._include: Pattern | None = compiled(rules.include) if rules.include else None
        self._exclude: Pattern | None = compiled(rules.exclude) if rules.exclude else None

    def refusal(self, url: Url) -> str | None:
        """`path` or `pattern`, judged by what is fetched; None if it passes."""
        if not url.path.startswith(self._prefix):
            return "path"
        if self._include is not None and not self._include.search(url.href):
            return "pattern"
        if self._exclude is not None and self._exclude.search(url.href):
            return "pattern"
        return None


def prefix_of(text: str) -> str:
    """A path prefix as it is written in URLs that are fetched.

    Raises:
        DeadLetter: `schema` if it is no path.
    """
    if not text:
        return ""
    if not text.startswith("/"):
        raise DeadLetter("schema", "`path_prefix` must begin with /")
    try:
        return parse(f"http://h{text}").path
    except BadUrl as error:
        raise DeadLetter("schema", f"`path_prefix`: {error}") from error
