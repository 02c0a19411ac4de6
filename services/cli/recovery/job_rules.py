"""What each job allows, as its seeds say, for pages that know only the job's name. Pure."""

from operator import itemgetter

from msgspec.structs import replace

from services.common.records import Rules, Scope
from services.common.urls import Url
from services.frontier.scope import root_of

_SCOPES: tuple[Scope, ...] = ("host", "domain", "any")


class JobRules:
    """The rules of jobs, newest seed last."""

    def __init__(self) -> None:
        self.missing: dict[str, int] = {}
        """Jobs of pages without a seed to tell their rules -> pages."""
        self._placed: dict[tuple[str, Scope, str], tuple[int, Rules]] = {}
        """Job, scope and root -> number and rules of the newest seed."""
        self._newest: dict[str, Rules] = {}
        self._seeds = 0

    def add(self, rules: Rules) -> None:
        """Those of one seed."""
        self._seeds += 1
        self._placed[rules.job, rules.scope, rules.root] = self._seeds, rules
        self._newest[rules.job] = rules

    def of(self, job: str, url: Url, host: str) -> Rules:
        """The rules of a stored page, known under `host`.

        The newest seed whose scope the page is in says them. A page that is in none was led to
        by a seed that moved: the job's newest seed's rules then, with the page's place as their
        root. A job without seeds follows no links; its pages are kept fresh.
        """
        places = ((job, scope, root_of(url, host, scope)) for scope in _SCOPES)
        found = [self._placed[place] for place in places if place in self._placed]
        if found:
            return max(found, key=itemgetter(0))[1]
        newest = self._newest.get(job)
        if newest is not None:
            return replace(newest, root=root_of(url, host, newest.scope))
        self.missing[job] = self.missing.get(job, 0) + 1
        return Rules(job=job, root=host, max_depth=0)
