"""Every setting, once: a field with its default and a docstring.

The environment name is `RECRAWL_` + the path joined by two underscores
(`RECRAWL_KAFKA__BOOTSTRAP`). docs/settings.md is generated from this file; a test compares.
Settings are read once, frozen, and passed down.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.common.errors import Stop
from services.common.records import Scope


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Kafka(_Group):
    """How to reach Kafka and how topics are made."""

    bootstrap: str = "127.0.0.1:9092"
    """Comma-separated `host:port` of the brokers."""
    prefix: str = ""
    """Put before every topic and group name, so that several crawls can share one Kafka."""
    partitions: int = Field(default=8, ge=1)
    """Partitions of topics that we create; existing topics keep theirs."""
    replication: int = Field(default=1, ge=1)
    """Replication factor of topics that we create; use 3 in production."""
    max_record: int = Field(default=900_000, ge=10_000)
    """Octets a record may have; larger values travel in parts. Below the broker's limit."""
    options: dict[str, str] = {}
    """More librdkafka options for every client (TLS, SASL), as a JSON object."""


class Cassandra(_Group):
    """How to reach Cassandra."""

    contact_points: str = "127.0.0.1:9042"
    """Comma-separated `host:port`; one port for all."""
    keyspace: str = "recrawl"
    """Keyspace; made by `recrawl migrate` if it is missing."""
    datacenter: str | None = None
    """Local datacentre for token-aware routing; None takes that of the first contact point."""
    replication: int = Field(default=1, ge=1)
    """Replication factor of a keyspace that we create; use 3 in production."""
    username: str | None = None
    """User for password authentication."""
    password: str | None = None
    """Password for `username`."""
    in_flight: int = Field(default=64, ge=1)
    """Requests under way at once from one process."""
    timeout: float = Field(default=10.0, gt=0)
    """Seconds until one request counts as failed and is tried again."""


class Frontier(_Group):
    """What may be crawled."""

    default_scope: Scope = "host"
    """Scope of seeds that name none."""
    schemes: list[str] = ["http", "https"]
    """URL schemes admitted, as a JSON list: those of the protocols that the fetchers have
    (docs/protocols.md). Others are refused (`scheme`)."""
    rules_file: Path | None = None
    """TOML file of identity rules by host (docs/identity.md); none: the standard alone. Who
    looks pages up by URL (`recrawl page`, `recrawl explain`) needs the same file."""
    max_url_length: int = Field(default=2048, ge=64)
    """Longer URLs are refused (reason `too-long`)."""
    max_segments: int = Field(default=20, ge=0)
    """Links with more path segments are refused (`trap-depth`); 0 for no limit, as below."""
    max_repeats: int = Field(default=3, ge=0)
    """Links whose path repeats a segment or a run of them more often are refused
    (`trap-repeat`), as are those that hold one segment more than twice this often anywhere."""
    max_redirects: int = Field(default=10, ge=0, le=50)
    """URLs that redirect in a row; where the last of them leads is refused
    (`too-many-redirects`)."""
    max_parameters: int = Field(default=30, ge=0)
    """Links with more query parameters are refused (`trap-parameters`)."""
    years_ahead: int = Field(default=3, ge=0)
    """Links with a date farther in the future are refused (`trap-calendar`)."""
    years_back: int = Field(default=100, ge=0)
    """Links with a date farther in the past are refused (`trap-calendar`)."""
    max_combinations: int = Field(default=50, ge=0)
    """Combinations of filters that one path may be asked for (`trap-facets`), and URLs of one
    host that carry a session's id in the path (`trap-session`)."""
    trap_memory: int = Field(default=10_000, ge=1)
    """Paths whose combinations are remembered, at most about 5 KiB each."""
    cache_size: int = Field(default=1_000_000, ge=0)
    """Recently admitted URLs remembered, about 120 octets each; repeats cost nothing."""
    host_mappings: int = Field(default=1_000_000, ge=0)
    """Hosts with a mapping to another host that are kept in memory, about 350 octets each; more
    are left out and counted (`recrawl_table_left_out_total`). 0 maps nothing."""
    concurrency: int = Field(default=64, ge=1)
    """Records handled at once."""


class Scheduler(_Group):
    """When a URL is crawled. Durations in seconds."""

    policy: str = "optimal"
    """Recrawl policy by name (docs/policies.md): `optimal`, `adaptive`, `fixed`, or your own."""
    policies_file: Path | None = None
    """TOML file with policies and their constants for some hosts or jobs (docs/policies.md)."""
    budget: float = Field(default=0, ge=0)
    """`optimal`: recrawls a day, over all partitions, that the price is steered to. 0: as many as
    `first_interval` asks for, or fewer where they are late, down to what is handed out."""
    first_interval: float = Field(default=14 * 86_400, gt=0)
    """From a page's first fetch to the next."""
    factor: float = Field(default=2.0, gt=1)
    """`adaptive`: changed -> interval / factor, unchanged -> interval x factor."""
    min_interval: float = Field(default=3600, gt=0)
    """No page is fetched more often than this."""
    max_interval: float = Field(default=365 * 86_400, gt=0)
    """No page is left alone longer than this."""
    prior_shape: float = Field(default=0.4, gt=0)
    """Shape of the belief about the change rate of a page that nothing is known of: how much it
    takes to change that belief, in changes seen."""
    prior_time: float = Field(default=2 * 86_400, gt=0)
    """The belief's other constant: `prior_shape` changes in so many seconds."""
    max_shape: float = Field(default=20, ge=1)
    """What a page did longer ago than about this many changes is forgotten."""
    host_prior_after: int = Field(default=20, ge=1)
    """Comparisons after which a host's pages together say what to believe of a new one."""
    host_prior_shape: float = Field(default=0.8, gt=0)
    """`prior_shape` of a page whose host is known so well."""
    host_max_shape: float = Field(default=100, ge=1)
    """`max_shape` of the belief about a host."""
    use_hints: bool = True
    """Believe a sitemap's lastmod and changefreq, and how long an answer may be cached."""
    max_age_limit: float = Field(default=86_400, ge=0)
    """Cache-Control and Expires hold a page back no longer than this."""
    sleep: float = Field(default=86_400, gt=0)
    """`optimal`: a page is looked at again half way to its due time, or after this if that is
    later, because prices change."""
    price_period: float = Field(default=60, gt=0)
    """How often partitions report their plans, and the price of a fetch is set anew."""
    bucket_width: float = Field(default=60, gt=0)
    """Width of the timeline's buckets near now; farther ones are wider in proportion. What
    waits comes due up to this much later, or up to a sixteenth of its wait."""
    recrawl_share: float = Field(default=0.6, ge=0, le=1)
    """Share of fetches for recrawls while new URLs wait too; what one side cannot use the
    other gets."""
    max_lag: float = Field(default=3600, gt=0)
    """Recrawls handed out later than this take from the share of new URLs (`sacrifice`): all of
    it from twice this on, but for `new_floor`."""
    new_floor: float = Field(default=0.1, ge=0, le=1)
    """Share of fetches that new URLs keep while recrawls are late."""
    sacrifice: Literal["new", "recrawls"] = "new"
    """What goes short while recrawls are late: `new` URLs, or the `recrawls` themselves, whose
    share then stays as it is."""
    lease: float = Field(default=600, gt=0)
    """A request not reported back within this time is emitted again."""
    min_gap: float = Field(default=1.0, ge=0)
    """Politeness floor: seconds between two requests to a host."""
    max_crawl_delay: float = Field(default=300, gt=0)
    """A robots.txt Crawl-delay above this counts as this."""
    host_window: int = Field(default=8, ge=1)
    """Requests of one host under way at once, at most; they still run one after another."""
    partition_window: int = Field(default=512, ge=1)
    """Requests under way at once in one partition. Those of hosts that have not answered yet,
    or hang, take no place from the others': so it may be up to twice as many while hosts hang."""
    max_waiting: int = Field(default=20_000_000, ge=0)
    """Never-fetched URLs that wait on one worker; with so many it takes no new ones until there
    are a tenth fewer. They stay in Kafka (docs/decisions.md). 0 for no limit."""
    quarantine_after: int = Field(default=5, ge=0)
    """A host that gave no answer this often in a row is asked by one probe at a time, at
    doubling waits, until it answers; 0 for never."""
    quarantine_max: float = Field(default=86_400, gt=0)
    """Longest wait between two probes."""
    quarantine_give_up: float = Field(default=30 * 86_400, gt=0)
    """A host that has been silent for this long is probed once per `quarantine_max`."""
    max_attempts: int = Field(default=5, ge=1)
    """A URL that fails in passing this often in a row waits for `give_up_interval`."""
    retry_base: float = Field(default=60, gt=0)
    """Wait before the first retry; doubles with each."""
    max_urls_per_host: int = Field(default=1_000_000, ge=0)
    """URLs of one host that are known at most; more are left out and counted as `host-full`. 0
    for no limit."""
    max_new_per_host: int = Field(default=0, ge=0)
    """Never-fetched URLs of one host that wait for their turn now; more are due on later days, as
    many on each (docs/operations.md). 0 for no limit."""
    give_up_interval: float = Field(default=30 * 86_400, gt=0)
    """Wait before a URL that was given up, gone or disallowed is tried again."""
    host_mapping_confirmations: int = Field(default=2, ge=0, le=16)
    """Permanent redirects (301, 308) of different URLs of a host, all to the same path and query
    of one other host and none that says otherwise, that make a mapping; 0 for none ever."""
    host_mapping_ttl: float = Field(default=30 * 86_400, gt=0)
    """A mapping holds for this long after the last redirect that confirmed it."""
    recrawl_when_idle: bool = False
    """With nothing due, fetch what was fetched longest ago."""
    tick: float = Field(default=0.5, gt=0)
    """How often the scheduler looks for work that came due."""
    data_dir: Path = Path(".recrawl/scheduler")
    """Where the RocksDB tables live; losing it costs a replay of the changelog topics."""


class Fetcher(_Group):
    """How pages are fetched. Durations in seconds, sizes in octets."""

    slots: int = Field(default=10, ge=1)
    """Downloads at once in one process; never two from one host."""
    machine: str = ""
    """First part of the addresses machine/process/slot under which downloads are reported;
    empty: the host name."""
    ip_slots: int = Field(default=2, ge=1)
    """Downloads at once from one IP address, by all fetchers together."""
    ip_gap: float = Field(default=0.5, ge=0)
    """Least time between two starts at one IP address, by all fetchers together; never more than
    the gap of the host."""
    agent: str = "Recrawl"
    """Product token, matched against robots.txt user-agent lines (RFC 9309)."""
    contact: str = "https://example.org/recrawl"
    """URL or mail address in the User-Agent, so that site owners can reach you. Set it."""
    connect_timeout: float = Field(default=10, gt=0)
    """TCP and TLS connection."""
    read_timeout: float = Field(default=20, gt=0)
    """First octet, and each wait between octets."""
    total_timeout: float = Field(default=60, gt=0)
    """The whole request, body included."""
    max_body: int = Field(default=10 * 1024 * 1024, ge=1024)
    """Decoded body octets kept; the rest is cut off and the page marked truncated."""
    max_headers: int = Field(default=64 * 1024, ge=1024, le=100 * 1024)
    """Header octets accepted."""
    head_above: int = Field(default=1024 * 1024, ge=0)
    """A page whose stored body has more octets than this, and that came without validators, is
    asked for by HEAD first; 0 for never."""
    allow_private: list[str] = []
    """Networks (CIDR) exempt from the private-address guard, as a JSON list; for the demo."""
    addresses: dict[str, str] = {}
    """Host names with an address of their own instead of DNS's, as a JSON object; the guard
    against private addresses still holds."""
    rules_file: Path | None = None
    """TOML file with options per host (docs/fetching.md): proxy, egress address, TLS, cookies,
    headers, size, media types, ports, browser. Read once, at the start."""
    robots_ttl: float = Field(default=86_400, gt=0)
    """How long a robots.txt is used before it is read again."""
    robots_cache: int = Field(default=10_000, ge=1)
    """Hosts whose robots.txt is kept in memory."""
    robots_retry: float = Field(default=300, gt=0)
    """How long an unreachable robots.txt keeps its host closed before another try."""


class Browser(_Group):
    """How pages are rendered whose rule says `module = "browser"`. Durations in seconds."""

    path: Path | None = None
    """Chromium's program; None takes `chromium` from the PATH. None is ever downloaded."""
    pages: int = Field(default=2, ge=1)
    """Pages at once in one fetcher, each in a process of its own, besides the fetcher's slots."""
    timeout: float = Field(default=20, gt=0)
    """From the document to the end of its scripts' work; what is there then is the page."""
    quiet: float = Field(default=0.5, ge=0)
    """Once loaded, a page is done when it has asked for nothing for this long."""
    requests: int = Field(default=60, ge=0)
    """Scripts, styles and data that one page may ask for."""
    octets: int = Field(default=20 * 1024 * 1024, ge=0)
    """Octets of them together, decoded."""
    memory: int = Field(default=1 << 30, ge=128 << 20)
    """Octets that one page's process may have resident; at more it is killed."""
    recycle: int = Field(default=200, ge=1)
    """Pages after which the browser is replaced by a new one."""


class Parser(_Group):
    """What is read from a page."""

    workers: int = Field(default=1, ge=1)
    """Processes that parse; each uses one core."""
    page_timeout: float = Field(default=20, gt=0)
    """Seconds after which a page's parse is killed and the page kept without its text."""
    max_links: int = Field(default=5000, ge=0)
    """Links taken from one page; the rest is counted as `too-many`."""
    sitemaps: bool = True
    """Follow the sitemaps that robots.txt names, and read the links of sitemaps."""
    feeds: bool = True
    """Follow the feeds that pages name, and read the links of feeds (RSS, Atom, JSON Feed)."""
    max_text: int = Field(default=500_000, ge=1000)
    """Characters of text kept."""
    max_memory: int = Field(default=2 << 30, ge=256 << 20)
    """Octets of address space that one parsing process may have."""
    retention: int = Field(default=90 * 86_400, ge=0)
    """Seconds that superseded page versions, failures and rows of unchanged fetches are kept
    in Cassandra; 0 for ever. The newest version of a page always stays."""


class Health(_Group):
    """Where a service answers `/metrics`, `/livez` and `/readyz`."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` in a container."""
    port: int = Field(default=0, ge=0, le=65535)
    """Port; 0 takes a free one and logs it."""


class Runtime(_Group):
    """How every service works through its records. Durations in seconds."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is logged."""
    log_format: Literal["text", "json"] = "text"
    """One line per event: `key=value` text, or a JSON object."""
    drain: float = Field(default=15.0, ge=0)
    """When asked to stop: time for the records in hand; the rest is done again after a start.
    Give the process 15 seconds more than this before killing it."""
    retry_first: float = Field(default=0.5, gt=0)
    """Wait before a record is tried again when the outside failed; doubles with each try."""
    retry_most: float = Field(default=30.0, gt=0)
    """Longest such wait."""
    fatal_most: int = Field(default=3, ge=1)
    """A record that killed the process this often while it was handled alone goes to
    `dead-letters` (reason `kills-the-service`)."""
    stuck_after: float = Field(default=60.0, gt=0)
    """Without progress for this long, `/livez` says that the process should be restarted."""


class Local(_Group):
    """The local engines that `recrawl up` and `recrawl crawl` start when none are given."""

    data_dir: Path = Path(".recrawl")
    """Engines, tables and logs live here."""
    engine: Literal["auto", "docker", "java"] = "auto"
    """`auto` (Docker if its images are there, else Java), `docker` or `java`."""
    jars_dir: Path | None = None
    """Where the engines' jars are kept; None is `jars` in `data_dir`."""
    kafka_port: int = Field(default=9092, ge=0, le=65535)
    """Port of the local Kafka; 0, or a port that is taken, means a free one."""
    cassandra_port: int = Field(default=9042, ge=0, le=65535)
    """Port of the local Cassandra; 0, or a port that is taken, means a free one."""
    fast_start: bool = True
    """Engines tuned to start fast (light compiler, class data kept); off for benchmarks."""
    start_timeout: float = Field(default=180.0, gt=0)
    """Seconds until an engine that does not answer counts as failed."""


class Settings(BaseSettings):
    """All settings of all services."""

    model_config = SettingsConfigDict(
        env_prefix="RECRAWL_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    kafka: Kafka = Kafka()
    cassandra: Cassandra = Cassandra()
    frontier: Frontier = Frontier()
    scheduler: Scheduler = Scheduler()
    fetcher: Fetcher = Fetcher()
    browser: Browser = Browser()
    parser: Parser = Parser()
    health: Health = Health()
    runtime: Runtime = Runtime()
    local: Local = Local()


def load() -> Settings:
    """Settings from the environment.

    Raises:
        Stop: naming each bad variable and what it should be.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = "\n".join(
            f"  RECRAWL_{'__'.join(str(part) for part in problem['loc']).upper()}: {problem['msg']}"
            for problem in error.errors()
        )
        raise Stop(f"these settings are wrong:\n{lines}") from error
