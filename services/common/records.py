"""Everything that crosses a process: one frozen struct per topic, complete in itself.

A field is added with a default, or the version goes up. Unknown fields are tolerated and not
kept. The topic's name is derived from the struct's (`FetchCompleted` -> `fetch-completed`).
Times are seconds since the epoch (UTC), durations are seconds, sizes are octets.
"""

from enum import StrEnum
from typing import Literal

import msgspec

Scope = Literal["host", "domain", "any"]
Reason = Literal["new", "due", "retry", "idle", "asked", "probe"]
"""Why a URL is fetched; `asked`: a job wants a known URL again (see `Rules.fresh_after`);
`probe`: to see whether its host, which is in quarantine, answers again."""


class Outcome(StrEnum):
    """What came of a fetch: the class that decides what happens to the URL next."""

    OK = "ok"
    """A body (2xx) was received."""
    UNCHANGED = "unchanged"
    """304: the validators still hold."""
    MOVED = "moved"
    """3xx with a usable Location; the target goes back to the frontier as a discovery."""
    GONE = "gone"
    """404 or 410."""
    BLOCKED = "blocked"
    """The site refuses us or asks us to slow down: 401, 403, 407, 429, 451, 503."""
    TRANSIENT = "transient"
    """5xx, time-outs, resets, DNS trouble: worth trying again."""
    PERMANENT = "permanent"
    """Cannot work as asked: other 4xx, malformed response, unsupported coding."""
    DISALLOWED = "disallowed"
    """robots.txt says no; a state, not a failure."""
    POLICY = "policy"
    """Our own rules say no: private address, body too large, content type, protocol."""


HELD_BACK, HANDED_OVER = "held-back", "handed-over"
UNSENT = frozenset({HELD_BACK, HANDED_OVER})
"""Reasons of a `transient` outcome that say nothing of the URL: nothing was sent."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all topic records; `v` is the schema version."""

    v: Literal[1] = 1


class Rules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a job allows; travels with its URLs, so that no service needs a job table."""

    job: str = "default"
    scope: Scope = "host"
    root: str = ""
    """The host or registered domain that `scope` is measured against; empty for `any`."""
    max_depth: int | None = None
    """Links to follow from a seed (depth 0); None for no limit."""
    max_pages: int | None = None
    """Pages to store for the job; enforced when work is handed out."""
    fresh_after: float = 0.0
    """A known URL last fetched before this time is due again: how a job crawls anew."""
    path_prefix: str = ""
    """Links whose path begins otherwise are refused; empty for no limit."""
    include: str = ""
    """RE2 pattern that must be found in a link's URL; empty for none."""
    exclude: str = ""
    """RE2 pattern that must not be found in a link's URL; empty for none."""
    priority: float = 1.0
    """That of the job's seeds; links have it divided by 1 + depth."""


class Seed(Record, frozen=True, kw_only=True):
    """Public input: a URL that a user wants crawled."""

    url: str
    job: str = "default"
    scope: Scope | None = None
    """None: the frontier's default scope."""
    max_depth: int | None = None
    max_pages: int | None = None
    fresh_after: float = 0.0
    path_prefix: str = ""
    include: str = ""
    exclude: str = ""
    priority: float = 1.0
    """Above 0 to 100; the job's links have it divided by 1 + depth."""


class Link(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One link as found: absolute URL, anchor text, rel tokens, and what a sitemap says of it.

    The token `sitemap` is ours alone: it marks what robots.txt or a sitemap index names.
    """

    url: str
    anchor: str = ""
    rel: str = ""
    lastmod: float | None = None
    """When the site says that the page changed last."""
    changefreq: str = ""
    """`always`, `hourly`, `daily`, `weekly`, `monthly`, `yearly` or `never`."""
    site_priority: float | None = None
    """What a sitemap gives as the page's weight in its site, 0 to 1; None for its default, 0.5."""
    hreflang: str = ""
    """Language of a translation that a sitemap names."""


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that redirected, on the way to another."""

    url: str
    """As it was asked for."""
    fingerprint: bytes
    host: str
    """Key of its records."""
    job: str
    scheduled_at: float
    """Of its request."""


class UrlDiscovered(Record, frozen=True, kw_only=True):
    """The links of one page to one host. Key: the target host."""

    host: str
    source: str
    """URL of the page that holds the links."""
    rules: Rules
    depth: int
    """Depth of the linked URLs."""
    links: list[Link]
    found_at: float
    sitemap_level: int = 0
    """Above 0: the links are sitemaps, named by robots.txt (1) or an index (one more than its)."""
    trail: list[Hop] = []
    """The only link is a redirect's target: the URLs that led there in a row, oldest first."""


class Past(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a URL's fetches from elsewhere: from Cassandra, or from another crawler."""

    outcome: Outcome = Outcome.OK
    """Of the newest fetch."""
    scheduled_at: float
    """When that was asked for; a scheduler that knows of a later one leaves this aside."""
    fetched_at: float = 0.0
    """Newest success; 0 for none."""
    changed_at: float = 0.0
    """Newest success that found the page new or changed."""
    interval: float = 0.0
    """Seconds from the newest success to the next fetch; 0: as the policy begins."""
    plan: bytes = b""
    """What the recrawl policy remembers; empty: as it begins."""
    attempt: int = 0
    """Failures in a row since the newest success."""
    etag: str | None = None
    last_modified: str | None = None
    body_digest: bytes | None = None
    """Digests of what is stored in Cassandra."""
    text_digest: bytes | None = None
    size: int = 0
    """Octets of the body last received."""


class AdmittedUrl(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One URL that may be crawled."""

    url: str
    """What is fetched."""
    fingerprint: bytes
    """16 octets: BLAKE2b of the URL's identity; what makes two URLs one."""
    depth: int = 0
    priority: float = 0.5
    """While it waits for its first fetch: from 1 on before, below 0.2 after the host's others."""
    moved: bool = False
    """The known URL of this fingerprint redirects here: this is what is fetched from now on."""
    sitemap_level: int = 0
    """Above 0: a sitemap; see `UrlDiscovered`."""
    lastmod: float | None = None
    """As in `Link`, like those below; hints, never facts."""
    changefreq: str = ""
    site_priority: float | None = None
    past: Past | None = None
    """Its history, from `recrawl rebuild-schedule` or `recrawl import`: it waits for its next
    time and is not new."""
    trail: list[Hop] = []
    """As in `UrlDiscovered`."""


class UrlAdmitted(Record, frozen=True, kw_only=True):
    """URLs of one host that passed the frontier. Key: host."""

    host: str
    rules: Rules
    urls: list[AdmittedUrl]


class FetchRequested(Record, frozen=True, kw_only=True):
    """One request. Key: host. Identity: `fingerprint` + `scheduled_at`."""

    url: str
    fingerprint: bytes
    host: str
    rules: Rules
    depth: int
    reason: Reason
    attempt: int = 0
    """Failed attempts before this one."""
    follow: bool = False
    """The links are wanted even if the page is unchanged: a job crawls it anew, or it was
    found nearer to a seed than before."""
    scheduled_at: float
    lease_until: float
    """After this time the scheduler takes the request as lost and emits it again."""
    gap: float
    """Least seconds between the end of the host's last request and the start of this one."""
    etag: str | None = None
    last_modified: str | None = None
    body_digest: bytes | None = None
    """Digests of what is stored, so that the parser can tell change without a read."""
    text_digest: bytes | None = None
    size: int = 0
    """Octets of the body that is stored; 0 if none is, or it is not known."""
    sitemap_level: int = 0
    """Above 0: a sitemap is expected; see `UrlDiscovered`."""
    group: str = ""
    """Its partition is this group's: an IP address, or the host where it shares none. Empty:
    the fetcher that reads it finds out, and sends it to the group's partition."""
    trail: list[Hop] = []
    """URLs that redirected here, oldest first, as far as they did so lately."""


class FetchCompleted(Record, frozen=True, kw_only=True):
    """What came of a request, with the body. Key: host."""

    request: FetchRequested
    outcome: Outcome
    reason: str
    """One word or two, from the outcome table in docs/outcomes.md."""
    status: int | None = None
    headers: list[tuple[str, str]] = []
    """As received, names in lower case, octets above 0x7f as Latin-1."""
    started_at: float
    elapsed: float
    first_byte: float | None = None
    body: bytes = b""
    """Decoded from its content codings, compressed with zstd; empty if there is none."""
    size: int = 0
    """Octets of the decoded body."""
    truncated: bool = False
    """The body is incomplete: cut by the sender or by our size limit."""
    location: str | None = None
    """Absolute redirect target, for outcome `moved`."""
    retry_after: float | None = None
    crawl_delay: float | None = None
    """What the host's robots.txt asks for, seconds."""
    address: str | None = None
    distrust: str = ""
    """Why the server's certificate is not trusted; only where a rule says to go on anyway."""
    rendered: bool = False
    """The body is the document that a browser made of the response, scripts and all."""
    fetcher: str = ""
    sitemaps: list[str] = []
    """Sitemaps that the host's robots.txt names, absolute; once per reading of it and `Rules`."""
    group: str = ""
    """The group that the host is in now, see `FetchRequested`; empty: not known."""


class CrawlReported(Record, frozen=True, kw_only=True):
    """What the scheduler needs of a finished crawl of one URL. Key: host."""

    host: str
    fingerprint: bytes
    scheduled_at: float
    url: str
    job: str
    outcome: Outcome
    reason: str
    status: int | None = None
    changed: bool | None = None
    """None: the outcome says nothing about change."""
    fetched_at: float
    elapsed: float
    size: int = 0
    etag: str | None = None
    last_modified: str | None = None
    body_digest: bytes | None = None
    text_digest: bytes | None = None
    retry_after: float | None = None
    crawl_delay: float | None = None
    fetcher: str = ""
    location: str | None = None
    """Absolute redirect target, for outcome `moved`; None if it is longer than 4000 octets."""
    listing: bool | None = None
    """The body is a sitemap or feed, no page, so no limit of pages counts it; None: not read."""
    group: str = ""
    """As in the fetch's report."""
    fresh_for: float | None = None
    """Seconds that the answer may be kept, by Cache-Control or Expires; None if neither says."""
    dead_end: bool = False
    """No fetch of its own: the frontier says of one that it led to redirects without an end."""


class HostUpdated(Record, frozen=True, kw_only=True):
    """What is known of a host, whole, whenever it changes; the newest holds. Key: host.

    Sent when its mapping is set, changed, renewed by a tenth of its time, or over, and when a
    quarantine begins or ends. The other facts are those of that moment.
    """

    host: str
    at: float
    """When it was said."""
    mapped_to: str = ""
    """Host that its URLs are at now, path and query unchanged; empty if they are not elsewhere."""
    mapped_scheme: str = ""
    """Scheme that they have there; empty: the one they had."""
    mapped_until: float = 0.0
    """The mapping is not to be used after this time."""
    crawl_delay: float = 0.0
    """What its robots.txt asks for, seconds; 0 if nothing."""
    backoff: float = 0.0
    """Seconds between requests that its troubles ask for; 0 if there are none."""
    quarantined_until: float = 0.0
    """It gives no answers: when it is probed next, as far as known; 0: it is in no quarantine."""
    address: str = ""
    """IP address that it answered from; nobody says so yet."""


class PageParsed(Record, frozen=True, kw_only=True):
    """A new or changed page, ready to index. Key: fingerprint in hex."""

    url: str
    fingerprint: bytes
    host: str
    job: str
    depth: int
    fetched_at: float
    status: int
    content_type: str
    title: str = ""
    text: str = ""
    text_source: Literal["main", "body", "plain", "none"] = "none"
    """Where the text is from: main content, whole body, a text file, or there is none."""
    text_truncated: bool = False
    language: str = ""
    description: str = ""
    canonical: str = ""
    noindex: bool = False
    links: int = 0


class ClockTicked(Record, frozen=True, kw_only=True):
    """The scheduler's timer, sent to each of its own partitions; key: none."""

    at: float


class PartitionPlanned(Record, frozen=True, kw_only=True):
    """What one scheduler partition plans to fetch again, once a period; sent to partition 0."""

    partition: int
    at: float
    planned: float
    """Sum of its URLs' planned rates: fetches a second."""
    urls: int
    """URLs in that sum."""
    priorities: float = 0.0
    """Sum of their priorities."""
    backlog: int = 0
    """URLs that are due and not handed out."""
    handed: float = 0.0
    """Recrawls handed out since its last report: fetches a second."""


class PriceSet(Record, frozen=True, kw_only=True):
    """What a recrawl must be worth, by partition 0 for every partition; key: none.

    Complete, so that whoever has partition 0 next goes on from it.
    """

    price: float
    """Seconds of staleness that a fetch must take away from a page of mean priority."""
    longest: float
    """Seconds that no page is left alone for longer than; 0: as the settings say."""
    priority: float
    """Mean priority of the URLs that are planned for."""
    trim: float = 0.0
    """Share by which the plan exceeds the budget, because some of it is not used."""
    at: float


class Command(Record, frozen=True, kw_only=True):
    """An operator's command; without a key it goes to every partition.

    With a `host` it is for that host's partition alone, and `host` is its key. A command is
    known by its `id`: one that comes again does nothing more. See docs/operations.md.
    """

    id: str
    name: Literal[
        "status",
        "explain",
        "heal",
        "delete",
        "undelete",
        "move",
        "pause",
        "resume",
        "boost",
        "recrawl",
    ]
    asked_at: float
    host: str = ""
    fingerprint: bytes = b""
    """The one URL it is about; empty: the whole host, or its `prefix`."""
    prefix: str = ""
    """`delete`, `undelete`: the beginning of paths (with query) of the host; empty: all."""
    due_from: float = 0.0
    """`move`: only what is due from this time on."""
    due_to: float | None = None
    """`move`: only what is due up to this time."""
    at: float = 0.0
    """`move`: when it is to be due instead."""
    weight: float = 0.0
    """`boost`: the URL's new priority."""


class CommandResult(Record, frozen=True, kw_only=True):
    """What one scheduler partition did with a command. Key: command id."""

    id: str
    name: str
    partition: int
    worker: str
    result: dict[str, int] = {}
    """Counters, for `status`; for the commands that change something, what they did."""
    detail: dict[str, str] = {}
    """Facts in words, for `explain`."""


class DeadLetter(Record, frozen=True, kw_only=True):
    """A record that could not be used, as it came. Key: as the source's."""

    topic: str
    partition: int
    offset: int
    key: bytes | None = None
    value: bytes | None = None
    value_size: int = 0
    """Size as it came; `value` may be cut to keep this record within Kafka's limit."""
    reason: str
    detail: str = ""
    service: str
    at: float
