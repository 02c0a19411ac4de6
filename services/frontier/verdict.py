"""What the frontier says of one URL, without a crawl: for `recrawl explain`.

The same decisions as core.py's for a link; what only a running frontier remembers (repeats,
budgets of faceted search) has no part in it.
"""

from dataclasses import dataclass

from services.common.identity_rules import Named, Step, explain_identity
from services.common.records import Link, Rules, UrlDiscovered
from services.common.urls import BadUrl, Url, fingerprint, parse
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed
from services.frontier.core import Limits, Memory, admit_links
from services.frontier.host_mapping import NOWHERE, Hosts, Trail, trail


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A URL's names, and whether it would be admitted."""

    url: Url | None
    """What would be fetched: at the host where the link's host is now."""
    written: Url | None
    """As the link has it."""
    trail: Trail | None
    """Where its host moved; None if it did not."""
    named: Named | None
    """None: it is no URL that could be fetched."""
    steps: list[Step]
    """How it came by its identity."""
    refused: str | None
    """A reason of docs/refusals.md; None if it is admitted."""

    @property
    def fingerprint(self) -> bytes:
        """Of the identity; empty if there is none."""
        return fingerprint(self.named.identity) if self.named else b""


def judge(
    raw: str, rules: Rules, depth: int, limits: Limits, now: float, *, hosts: Hosts = NOWHERE
) -> Verdict:
    """What would become of a link `raw` at `depth` under a job's `rules`.

    `hosts` are those that have moved.

    Raises:
        DeadLetter: RE2 does not take a pattern of the rules, or the depth is negative.
    """
    link = UrlDiscovered(
        host="", source="", rules=rules, depth=depth, links=[Link(url=raw)], found_at=now
    )
    memory = Memory(passed=Passed(0), budgets=Budgets(1, 0), hosts=hosts)
    admission = admit_links(link, memory, limits, now)
    refused = next(iter(admission.refused), None)
    try:
        written = parse(raw, schemes=limits.schemes)
    except BadUrl:
        return Verdict(url=None, written=None, trail=None, named=None, steps=[], refused=refused)
    way = trail(written, hosts, now)
    url = way.url if way is not None else written
    return Verdict(
        url=url,
        written=written,
        trail=way,
        named=limits.identity.name(url),
        steps=explain_identity(url, limits.identity),
        refused=refused,
    )
