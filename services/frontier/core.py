"""What may be crawled: from seeds and found links to admitted URLs, with a reason for each no.

Decides by the URL itself, the job's scope and its depth limit. Never decides when a URL is
crawled, whether it is known (the scheduler's table says so) or what robots.txt allows (the
fetcher asks). Links carry the rules of their seed on, unchanged but for a seed that moved.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from services.common import urls
from services.common.errors import DeadLetter
from services.common.identity_rules import IdentityRules, Named
from services.common.records import AdmittedUrl, Link, Rules, Scope, UrlAdmitted, UrlDiscovered
from services.common.urls import BadUrl, Url, fingerprint, parse
from services.frontier import seeds
from services.frontier.cache import Passed, tag
from services.frontier.scope import root_of, within

REFUSALS = ("depth", "nofollow", "scope", "too-long", *urls.REASONS)

_HEAD = 1024
"""Octets of an admitted record beside its URLs, rounded up."""
_OVERHEAD = 80
"""Octets of an admitted URL in JSON beside the URL itself, rounded up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The frontier's settings that decisions need."""

    default_scope: Scope
    max_url_length: int
    max_record: int
    """Octets that a produced record may have."""
    identity: IdentityRules = field(default_factory=IdentityRules)


@dataclass(slots=True)
class Admission:
    """What to produce, and what to remember and count once it is produced."""

    admitted: list[UrlAdmitted] = field(default_factory=list)
    passed: dict[bytes, int] = field(default_factory=dict)
    """Keys for the cache, with the depth."""
    refused: Counter[str] = field(default_factory=Counter)
    """Links refused, by a reason of `REFUSALS`."""
    repeated: int = 0
    """Links that the cache knows, or that the record holds twice."""
    merged: Counter[str] = field(default_factory=Counter)
    """Links whose identity a rule changed, by a kind of `identity_rules.KINDS`."""


def admit_seed(value: bytes | None, limits: Limits) -> Admission:
    """The admission of a seed as it came on the topic.

    The cache is not asked: whoever sends a seed again means it.

    Raises:
        DeadLetter: with a reason of `seeds.REASONS`.
    """
    seed, url = seeds.read(value, limits.max_url_length)
    scope = seed.scope or limits.default_scope
    named = limits.identity.name(url)
    rules = Rules(
        job=seed.job,
        scope=scope,
        root=root_of(url, named.host, scope),
        max_depth=seed.max_depth,
        max_pages=seed.max_pages,
        fresh_after=seed.fresh_after,
    )
    key = fingerprint(named.identity)
    admitted = AdmittedUrl(url=url.href, fingerprint=key)
    return Admission(
        admitted=[UrlAdmitted(host=named.host, rules=rules, urls=[admitted])],
        passed={key + tag(rules): 0},
        merged=Counter(named.merges),
    )


def admit_links(discovered: UrlDiscovered, cache: Passed, limits: Limits) -> Admission:
    """The admission of a page's links to a host; each link is judged on its own.

    Raises:
        DeadLetter: `schema` for a negative depth.
    """
    depth = discovered.depth
    if depth < 0:
        raise DeadLetter("schema", "`depth` must not be negative")
    rules = _rules(discovered, limits.identity)
    result = Admission()
    if rules.max_depth is not None and depth > rules.max_depth:
        if discovered.links:
            result.refused["depth"] = len(discovered.links)
        return result
    suffix = tag(rules)
    scoped: dict[str, bool] = {}
    found: dict[str, list[AdmittedUrl]] = {}
    for link in discovered.links:
        if link.rel and "nofollow" in link.rel.lower().split():
            result.refused["nofollow"] += 1
            continue
        try:
            url = parse(link.url)
        except BadUrl as error:
            result.refused[error.reason] += 1
            continue
        named = limits.identity.name(url)
        reason = _refusal(url, named.host, rules, scoped, limits)
        if reason is not None:
            result.refused[reason] += 1
            continue
        if named.merges:
            result.merged.update(named.merges)
        digest = fingerprint(named.identity)
        key = digest + suffix
        moved = bool(link.rel) and _is_move(link, named, discovered.source, limits.identity)
        if key in result.passed or (not moved and cache.knows(key, depth)):
            result.repeated += 1
            continue
        result.passed[key] = depth
        admitted = AdmittedUrl(url=url.href, fingerprint=digest, depth=depth, moved=moved)
        found.setdefault(named.host, []).append(admitted)
    result.admitted = [
        UrlAdmitted(host=host, rules=rules, urls=part)
        for host, admitted_urls in found.items()
        for part in _parts(admitted_urls, limits.max_record)
    ]
    return result


def _is_move(link: Link, named: Named, source: str, identity: IdentityRules) -> bool:
    """Whether a redirect leads to another writing of the URL that it comes from.

    Both have one identity, so the target would pass for known and never be fetched.
    """
    if "redirect" not in link.rel or link.url == source:
        return False
    try:
        return identity.name(parse(source)).identity == named.identity
    except BadUrl:
        return False


def _rules(discovered: UrlDiscovered, identity: IdentityRules) -> Rules:
    """The rules that the links are judged by: their seed's.

    A seed that moved takes its scope along: who seeds `example.org` and is sent on to
    `www.example.org` means the site that is there. Only a redirect is found at a seed's depth.
    """
    rules = discovered.rules
    if discovered.depth > 0 or rules.scope == "any" or not discovered.links:
        return rules
    target = discovered.links[0]
    if "redirect" not in target.rel:
        return rules
    try:
        url = parse(target.url)
    except BadUrl:
        return rules
    return replace(rules, root=root_of(url, identity.name(url).host, rules.scope))


def _refusal(
    url: Url, host: str, rules: Rules, scoped: dict[str, bool], limits: Limits
) -> str | None:
    """Why a well-formed URL is refused; `scoped` keeps the verdict on each host of a record."""
    if len(url.href) > limits.max_url_length:
        return "too-long"
    inside = scoped.get(url.host)
    if inside is None:
        inside = scoped[url.host] = within(url, host, rules)
    return None if inside else "scope"


def _parts(admitted: list[AdmittedUrl], max_record: int) -> Iterator[list[AdmittedUrl]]:
    """`admitted`, not empty, in lists that fit a record each, with room for JSON's escapes."""
    part: list[AdmittedUrl] = []
    size, most = 0, (max_record - _HEAD) // 2
    for item in admitted:
        octets = len(item.url) + _OVERHEAD
        if part and size + octets > most:
            yield part
            part, size = [], 0
        part.append(item)
        size += octets
    yield part
