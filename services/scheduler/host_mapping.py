"""Whether a host has moved as a whole, learned from its permanent redirects (E9).

A 301 or 308 to the same path and query of another host is one confirmation; enough of them from
different URLs, with nothing that says otherwise between, make a mapping. A page that the host
serves itself, or a permanent redirect elsewhere, ends it; so does time. Never decides what the
mapping is used for, and knows nothing of what other hosts map to: who uses it sees all of them.

Every report counts by the time of its fetch, so a report that comes again changes nothing.
"""

import heapq
import math
from typing import NamedTuple

from msgspec.structs import replace

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.common.urls import BadUrl, Url, parse
from services.scheduler.rows import Mapping

PERMANENT = frozenset({301, 308})
_SERVED = frozenset({Outcome.OK, Outcome.UNCHANGED})
_RENEWED = 0.1
"""Part of its time by which a mapping must have grown to be told again."""


def learn(mapping: Mapping | None, report: CrawlReported, settings: Scheduler) -> Mapping | None:
    """The mapping after a report on a URL of the host; the same object if it says nothing."""
    said = _said(report) if _matters(mapping, report, settings) else None
    if said is None:
        return mapping
    source, target = said
    if target is None or _rest(source) != _rest(target):
        return _contradicted(mapping, report.fetched_at)
    if target.host == source.host:
        return mapping  # from http to https: the host is where it was
    return _confirmed(mapping or Mapping(), source, target, report, settings)


def expire(mapping: Mapping | None, now: float) -> Mapping | None:
    """The mapping at `now`: begun anew if its time is over."""
    if mapping is not None and 0 < mapping.until <= now:
        return Mapping(since=mapping.at)
    return mapping


class Told(NamedTuple):
    """What others are told of a mapping."""

    host: str = ""
    scheme: str = ""
    until: float = 0.0


def told(mapping: Mapping | None) -> Told:
    """What others are told; empty unless the mapping holds."""
    if mapping is None or not mapping.until:
        return Told()
    return Told(mapping.host, mapping.scheme, mapping.until)


def _matters(mapping: Mapping | None, report: CrawlReported, settings: Scheduler) -> bool:
    """Whether a report may say anything: nearly none does, and looking closer costs time."""
    if not settings.host_mapping_confirmations:
        return False
    if report.outcome in _SERVED:
        return mapping is not None and bool(mapping.host)
    return report.status in PERMANENT and report.location is not None


def _said(report: CrawlReported) -> tuple[Url, Url | None] | None:
    """The URL that was asked for, and where it is; None for there. None: nothing of use."""
    try:
        source = parse(report.url)
        target = parse(report.location) if report.location is not None else None
    except BadUrl:
        return None
    # An identity rule keeps some names' URLs under another name, whose own say is asked for.
    return (source, target) if source.host == report.host else None


def _contradicted(mapping: Mapping | None, at: float) -> Mapping | None:
    if mapping is None or not mapping.host or at <= mapping.at:
        return mapping
    return Mapping(since=at)


def _confirmed(
    mapping: Mapping, source: Url, target: Url, report: CrawlReported, settings: Scheduler
) -> Mapping:
    at, ttl = report.fetched_at, settings.host_mapping_ttl
    if at <= mapping.since:
        return mapping
    if mapping.host != target.host or at > mapping.at + ttl:
        if at <= mapping.at:
            return mapping
        # Another host, or the same after so long that what was seen before is no news.
        since = max(mapping.since, mapping.at)
        mapping = Mapping(host=target.host, scheme=_scheme(source, target), since=since)
    newest = max(at, mapping.at)
    scheme = mapping.scheme
    if at > mapping.at and (scheme or source.scheme) != target.scheme:
        scheme = _scheme(source, target)
    seen = mapping.seen
    if report.fingerprint not in seen and len(seen) < settings.host_mapping_confirmations:
        seen = (*seen, report.fingerprint)
    until = mapping.until
    if until or len(seen) >= settings.host_mapping_confirmations:
        grown = newest + ttl
        until = grown if grown > until + _RENEWED * ttl else until
    after = replace(mapping, scheme=scheme, seen=seen, at=newest, until=until)
    return mapping if after == mapping else after


def _scheme(source: Url, target: Url) -> str:
    """The scheme that belongs to the target; empty if it seems to be the URL's own."""
    own_port = target.host == target.hostname
    return "" if own_port and source.scheme == target.scheme else target.scheme


def _rest(url: Url) -> str:
    """What is left of a URL's identity without scheme and host."""
    return url.identity[len(url.scheme) + 3 + len(url.host) :]


class Expiries:
    """The hosts of one partition by the end of their mappings, in memory.

    An end that was replaced stays until its time; renewals come at a tenth of a mapping's time
    at most, so a host has about ten.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[float, str]] = []

    def note(self, host: str, mapping: Mapping | None) -> None:
        """Remember when a mapping ends, if it holds."""
        if mapping is not None and mapping.until:
            heapq.heappush(self._ends, (mapping.until, host))

    def next(self) -> float:
        """When the next may end; infinity if none does."""
        return self._ends[0][0] if self._ends else math.inf

    def take(self, now: float) -> str | None:
        """A host whose mapping may be over, each once; None when there is no more."""
        if self.next() > now:
            return None
        return heapq.heappop(self._ends)[1]
