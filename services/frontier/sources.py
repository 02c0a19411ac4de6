"""What the place where a link was found says about it: redirects, sitemaps, seeds that moved.

Decides how a link is to be read and judged; the judgement itself is core.py's.
"""

from collections.abc import Callable, Container

from msgspec.structs import replace

from services.common.identity_rules import IdentityRules, Named
from services.common.records import Link, Rules, UrlDiscovered
from services.common.urls import BadUrl, Url, parse
from services.frontier.host_mapping import Hosts, mapped
from services.frontier.scope import root_of, within


def moved(link: Link, url: Url, source: str, hosts: Hosts, now: float) -> Url:
    """The URL to take for a link's: that of the host where its host is now.

    A redirect from there back to the host says that this is not so.
    """
    there = mapped(url, hosts, now)
    if there is not url and "redirect" in link.rel:
        try:
            return url if parse(source).host == there.host else there
        except BadUrl:
            return url
    return there


def is_move(
    link: Link, named: Named, source: str, identity: IdentityRules, schemes: Container[str]
) -> bool:
    """Whether a redirect leads to another writing of the URL that it comes from.

    Both have one identity, so the target would pass for known and never be fetched.
    """
    if "redirect" not in link.rel or link.url == source:
        return False
    try:
        known = parse(source, schemes=schemes)
        return identity.name(known).identity == named.identity
    except BadUrl:
        return False


def vouches(
    discovered: UrlDiscovered, rules: Rules, identity: IdentityRules
) -> Callable[[Url], bool]:
    """Whether a sitemap outside the job's scope may be fetched; its links never profit.

    A site proves by its robots.txt that a sitemap elsewhere is its own (sitemaps.org, "cross
    submits"); where that is an index, or redirects, its files may be there as well.
    """
    if not discovered.sitemap_level:
        return _nothing
    try:
        source = parse(discovered.source)
    except BadUrl:
        return _nothing
    inside = within(source, identity.name(source).host, rules)
    moved = any("redirect" in link.rel for link in discovered.links)
    if inside and (moved or source.path == "/robots.txt"):
        return lambda _: True
    return lambda url: url.host == source.host


def _nothing(_: Url) -> bool:
    return False


def rules_of(
    discovered: UrlDiscovered,
    identity: IdentityRules,
    schemes: Container[str],
    hosts: Hosts,
    now: float,
) -> Rules:
    """The rules that the links are judged by: their seed's.

    A seed that moved takes its scope along: who seeds `example.org` and is sent on to
    `www.example.org` means the site that is there. Only a redirect is found at a seed's depth.
    """
    rules = discovered.rules
    if discovered.depth > 0 or rules.scope == "any" or not discovered.links:
        return rules
    if discovered.sitemap_level:
        return rules
    target = discovered.links[0]
    if "redirect" not in target.rel:
        return rules
    try:
        written = parse(target.url, schemes=schemes)
        url = moved(target, written, discovered.source, hosts, now)
    except BadUrl:
        return rules
    return replace(rules, root=root_of(url, identity.name(url).host, rules.scope))
