"""Which jobs know of a host's sitemaps already, so that each is told once per robots.txt.

Decides which report carries them. A job is known by its rules, because they travel with its
URLs. Bounded; what it forgets is told again, which the frontier recognises.
"""

from services.common.records import FetchRequested, Rules
from services.common.urls import Url
from services.fetcher.robots import sitemap_urls
from services.fetcher.robots_facts import Facts

_MAX_JOBS = 256


class _Told:
    """What was told of one reading of a robots.txt."""

    __slots__ = ("jobs", "read_at", "urls")

    def __init__(self, read_at: float, urls: list[str]) -> None:
        self.read_at = read_at
        self.urls = urls
        self.jobs: dict[Rules, tuple[int, bytes, float]] = {}
        """Depth and identity of the request that carried them."""


class Announced:
    """For the `capacity` origins whose robots.txt named sitemaps and that were asked for last."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._told: dict[str, _Told] = {}

    def take(self, url: Url, facts: Facts, request: FetchRequested) -> list[str]:
        """The sitemaps that the report on `request` of `url` is to carry; mostly none.

        They go with the first request of a job after each reading, and again with one nearer
        to its seed if the job has a depth limit: more of what they list is then within it. A
        request that is done again, because its report did not get through, has them again.
        """
        if facts.rules is None or not facts.rules.sitemaps:
            return []
        origin = f"{url.scheme}://{url.host}"
        told = self._told.pop(origin, None)
        if told is None or told.read_at != facts.read_at:
            told = _Told(facts.read_at, sitemap_urls(facts.rules, f"{origin}/robots.txt"))
        self._told[origin] = told
        while len(self._told) > self._capacity:
            del self._told[next(iter(self._told))]
        return told.urls if _is_news(told, request) else []


def _is_news(told: _Told, request: FetchRequested) -> bool:
    this = (request.depth, request.fingerprint, request.scheduled_at)
    before = told.jobs.get(request.rules)
    if before is not None and before != this:
        limited = request.rules.max_depth is not None
        if not limited or request.depth >= before[0]:
            return False
    if len(told.jobs) >= _MAX_JOBS:
        told.jobs.clear()
    told.jobs[request.rules] = this
    return True
