"""What may be crawled: from seeds and found links to admitted URLs, with a reason for each no.

Decides by the URL itself, the job's scope and its depth limit. Never decides when a URL is
crawled, whether it is known (the scheduler's table says so) or what robots.txt allows (the
fetcher asks). Links carry the rules of their seed on, unchanged but for a seed that moved.
"""

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from services.common import urls
from services.common.errors import DeadLetter
from services.common.identity_rules import IdentityRules, Named
from services.common.records import (
    AdmittedUrl,
    CrawlReported,
    Link,
    Rules,
    Scope,
    UrlAdmitted,
    UrlDiscovered,
)
from services.common.urls import BadUrl, Url, fingerprint, parse
from services.frontier import budgets, redirects, seeds, sources, traps
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed, mark, tag
from services.frontier.host_mapping import NOWHERE, Hosts, mapped
from services.frontier.scope import Filter, prefix_of, root_of, within
from services.frontier.traps import Thresholds, trap, year_of

REFUSALS = (
    "depth",
    "nofollow",
    "scope",
    "path",
    "pattern",
    "too-long",
    *traps.REASONS,
    *budgets.REASONS,
    *redirects.REASONS,
    *urls.REASONS,
)

_HEAD = 1024
"""Octets of an admitted record beside its URLs, rounded up."""
_OVERHEAD = 80
"""Octets of an admitted URL in JSON beside the URL itself, rounded up."""
_HINTS = 110
"""Octets more if a sitemap says something about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The frontier's settings that decisions need."""

    default_scope: Scope
    max_url_length: int
    max_record: int
    """Octets that a produced record may have."""
    schemes: Container[str] = urls.SCHEMES
    identity: IdentityRules = field(default_factory=IdentityRules)
    traps: Thresholds = field(default_factory=Thresholds)
    max_redirects: int = 10
    """URLs in a row that may redirect; 0 for no limit."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the frontier remembers, within bounds."""

    passed: Passed
    budgets: Budgets
    hosts: Hosts = field(default_factory=lambda: NOWHERE)
    """Those that have moved, as all are told."""


@dataclass(slots=True)
class Admission:
    """What to produce, and what to remember and count once it is produced."""

    admitted: list[UrlAdmitted] = field(default_factory=list)
    passed: dict[bytes, int] = field(default_factory=dict)
    """Keys for the cache, with their `mark`."""
    refused: Counter[str] = field(default_factory=Counter)
    """Links refused, by a reason of `REFUSALS`."""
    repeated: int = 0
    """Links that the cache knows, or that the record holds twice."""
    merged: Counter[str] = field(default_factory=Counter)
    """Links whose identity a rule changed, by a kind of `identity_rules.KINDS`."""
    mapped: int = 0
    """Links and seeds that were taken for URLs of the host that theirs moved to."""
    reported: list[CrawlReported] = field(default_factory=list)
    """What the scheduler is told of URLs whose redirects lead nowhere."""


def admit_seed(
    value: bytes | None, limits: Limits, hosts: Hosts = NOWHERE, now: float = 0.0
) -> Admission:
    """The admission of a seed as it came on the topic.

    The cache is not asked: whoever sends a seed again means it. `hosts` are those that have moved.

    Raises:
        DeadLetter: with a reason of `seeds.REASONS`.
    """
    seed, written = seeds.read(value, limits.max_url_length, limits.schemes)
    url = mapped(written, hosts, now)
    scope = seed.scope or limits.default_scope
    named = limits.identity.name(url)
    rules = Rules(
        job=seed.job,
        scope=scope,
        root=root_of(url, named.host, scope),
        max_depth=seed.max_depth,
        max_pages=seed.max_pages,
        fresh_after=seed.fresh_after,
        path_prefix=prefix_of(seed.path_prefix),
        include=seed.include,
        exclude=seed.exclude,
        priority=seed.priority,
    )
    Filter(rules)
    key = fingerprint(named.identity)
    admitted = AdmittedUrl(url=url.href, fingerprint=key, priority=seed.priority)
    return Admission(
        admitted=[UrlAdmitted(host=named.host, rules=rules, urls=[admitted])],
        passed={key + tag(rules): 0},
        merged=Counter(named.merges),
        mapped=int(url is not written),
    )


def admit_links(discovered: UrlDiscovered, memory: Memory, limits: Limits, now: float) -> Admission:
    """The admission of a page's links to a host; each link is judged on its own.

    Raises:
        DeadLetter: `schema` for a negative depth, `pattern` for one that RE2 does not take.
    """
    if discovered.depth < 0:
        raise DeadLetter("schema", "`depth` must not be negative")
    if discovered.sitemap_level < 0:
        raise DeadLetter("schema", "`sitemap_level` must not be negative")
    rules = sources.rules_of(discovered, limits.identity, limits.schemes, memory.hosts, now)
    page = _Page(discovered, rules, memory, limits, now)
    if rules.max_depth is not None and discovered.depth > rules.max_depth:
        page.result.refused.update({"depth": len(discovered.links)} if discovered.links else ())
        return page.result
    for link in discovered.links:
        reason = page.judge(link)
        if reason is not None:
            page.result.refused[reason] += 1
    return page.admission()


class _Page:
    """The links of one record on their way to an admission."""

    def __init__(
        self,
        discovered: UrlDiscovered,
        rules: Rules,
        memory: Memory,
        limits: Limits,
        now: float,
    ) -> None:
        self.result = Admission()
        self._source = discovered.source
        self._depth = discovered.depth
        self._level = discovered.sitemap_level
        self._trail = discovered.trail
        self._vouches = sources.vouches(discovered, rules, limits.identity)
        self._rules = rules
        self._memory = memory
        self._limits = limits
        self._now = now
        self._year = year_of(now)
        self._priority = round(rules.priority / (1 + discovered.depth), 3)
        self._suffix = tag(rules)
        self._filter = Filter(rules)
        self._scoped: dict[str, bool] = {}
        self._found: dict[str, list[AdmittedUrl]] = {}

    def admission(self) -> Admission:
        """What came of the links judged."""
        self.result.admitted = [
            UrlAdmitted(host=host, rules=self._rules, urls=part)
            for host, admitted in self._found.items()
            for part in _parts(admitted, self._limits.max_record)
        ]
        return self.result

    def judge(self, link: Link) -> str | None:
        """Why the link is refused; None if it is admitted, or left out as a repeat."""
        if link.rel and "nofollow" in link.rel.lower().split():
            return "nofollow"
        try:
            written = parse(link.url, schemes=self._limits.schemes)
        except BadUrl as error:
            return error.reason
        url = sources.moved(link, written, self._source, self._memory.hosts, self._now)
        named = self._limits.identity.name(url)
        reason = self._outside(url, named)
        if reason is not None:
            return reason
        self.result.mapped += url is not written
        return self._admit(link, url, named)

    def _outside(self, url: Url, named: Named) -> str | None:
        """Why a well-formed URL is none of the job's."""
        if len(url.href) > self._limits.max_url_length:
            return "too-long"
        inside = self._scoped.get(url.host)
        if inside is None:
            inside = within(url, named.host, self._rules) or self._vouches(url)
            self._scoped[url.host] = inside
        if not inside:
            return "scope"
        # What is found at depth 0 is a seed that moved: where its job starts. And a sitemap is
        # no page of the job's, but where its pages are listed.
        return self._filter.refusal(url) if self._depth and not self._level else None

    def _admit(self, link: Link, url: Url, named: Named) -> str | None:
        """Why a URL of the job is refused all the same: a trap."""
        result = self.result
        for rule in named.merges:
            result.merged[rule] += 1
        digest = fingerprint(named.identity)
        key = digest + self._suffix
        moved = bool(link.rel) and sources.is_move(
            link, named, self._source, self._limits.identity, self._limits.schemes
        )
        if self._trail:
            back = redirects.back_at(digest, self._trail)
            limit = self._limits.max_redirects
            end = redirects.dead_end(url.href, back, self._trail, limit)
            if end is not None:
                result.reported = redirects.reports(self._trail, end, self._now)
                return end
            moved = back is not None
        known = self._memory.passed.knows(key, self._depth, link.lastmod)
        # The scheduler is to know how a target was reached, though it knows the target.
        if key in result.passed or (known and not moved and not self._trail):
            result.repeated += 1
            return None
        # After the cache: what passed is no trap, and most links are repeats.
        reason = trap(url, self._limits.traps, self._year)
        reason = reason or self._memory.budgets.refusal(url, named.identity, digest)
        if reason is not None:
            return reason
        result.passed[key] = mark(self._depth, link.lastmod)
        admitted = AdmittedUrl(
            url=url.href,
            fingerprint=digest,
            depth=self._depth,
            priority=self._priority,
            moved=moved,
            sitemap_level=self._level,
            lastmod=link.lastmod,
            changefreq=link.changefreq,
            site_priority=link.site_priority,
            trail=[] if moved else self._trail,
        )
        self._found.setdefault(named.host, []).append(admitted)
        return None


def _parts(admitted: list[AdmittedUrl], max_record: int) -> Iterator[list[AdmittedUrl]]:
    """`admitted`, not empty, in lists that fit a record each, with room for JSON's escapes."""
    part: list[AdmittedUrl] = []
    size, most = 0, (max_record - _HEAD) // 2
    for item in admitted:
        hints = item.lastmod is not None or item.changefreq or item.site_priority is not None
        octets = len(item.url) + (_OVERHEAD + _HINTS if hints else _OVERHEAD)
        if part and size + octets > most:
            yield part
            part, size = [], 0
        part.append(item)
        size += octets
    yield part
