"""What the demo web is: hosts, pages, paths, links and versions, each derived from a hash.

Decides everything that the truth and the server must agree on, for one page at a time: a web of
100,000 pages costs no more memory than one of 10. Never renders, never looks at a clock.
"""

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from random import Random
from typing import Literal
from urllib.parse import quote, unquote

from services.local.demo.words import LANGUAGES, SECTIONS, SLUGS, Language

Role = Literal["plain", "odd", "closed", "delay", "robots-moved", "robots-missing", "slow"]
Change = Literal["never", "period", "random", "noise"]

ROLES: tuple[Role, ...] = ("odd", "closed", "delay", "robots-moved", "robots-missing", "slow")
"""Given out from the last (smallest) host backwards; host 0 stays plain."""
CHILDREN = 8
"""Page p > 0 of a host is linked from page (p - 1) // CHILDREN, which makes all reachable."""
NAV = 9
DIRECTORY_PAGE = 50
"""Hosts listed on one page of host 0's directory."""
HOSTS_PER_NET = 250
BURST = 16
"""A `random` page changes this often in a window of as many mean periods."""

FEEDS = {0: "/news.rss", 1: "/news.atom"}
"""Hosts that have a feed, and where; see lists.py."""

_NUMBER = re.compile(r"-(\d{1,9})\.html$")
# One row per percent of pages.
_CHANGES: tuple[Change, ...] = (
    *("never",) * 50,
    *("period",) * 25,
    *("random",) * 15,
    *("noise",) * 10,
)


@dataclass(frozen=True, slots=True)
class Version:
    """Which text a page has, and the second (since the epoch) it has had it from."""

    number: int
    since: int


@dataclass(frozen=True, slots=True)
class Targets:
    """Where a page's followable links go, by place on the page: canonical URLs."""

    nav: tuple[str, ...]
    children: tuple[str, ...]
    inline: tuple[str, ...]
    related: tuple[str, ...]
    elsewhere: tuple[str, ...]
    extra: tuple[str, ...] = ()
    feed: tuple[str, ...] = ()
    """Named in the head of the page only."""

    def all(self) -> frozenset[str]:
        """Each target once."""
        parts = (self.nav, self.children, self.inline, self.related, self.elsewhere)
        return frozenset().union(*parts, self.extra, self.feed)


@dataclass(frozen=True, kw_only=True)
class DemoWeb:
    """A whole web in a handful of numbers; equal numbers give an equal web."""

    hosts: int = 10
    pages: int = 300
    """Article pages over all hosts, at least one a host; odd pages come on top."""
    seed: int = 1
    port: int = 8600
    skew: float = 0.8
    """Exponent of the power law that host sizes follow; 0 makes them equal."""
    odd: bool = True
    """Give the last hosts their roles (see `ROLES`) and the `odd` one its pages."""
    trap: bool = True
    """Link to a calendar without end on the odd host."""
    sitemaps: bool = True
    """Name sitemaps in robots.txt and feeds on home pages, with pages that only they lead to."""
    crawl_delay: float = 0.2
    """What the `delay` host's robots.txt asks for, seconds."""
    slow: float = 0.5
    """How long the `slow` host takes for each answer, seconds."""
    change_period: float = 0.0
    """Seconds between the changes of the liveliest pages, at least 1; 0: nothing changes."""
    epoch: float = 1_750_000_000.0
    """When changes begin; before it every page is at version 0."""

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that describe no web."""
        if not 1 <= self.hosts <= HOSTS_PER_NET**2:
            raise ValueError(f"hosts must be 1 to {HOSTS_PER_NET**2}")
        if self.pages < self.hosts:
            raise ValueError("a web needs at least one page a host")
        if 0 < self.change_period < 1 or self.change_period < 0:
            raise ValueError("change_period must be 0 or at least 1 second")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Pages of each host; they sum up to `pages`."""
        weights = [(host + 1) ** -self.skew for host in range(self.hosts)]
        spare = self.pages - self.hosts
        ends = [round(spare * end / sum(weights)) for end in accumulate(weights)]
        return tuple(1 + end - start for start, end in zip([0, *ends], ends, strict=False))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *accumulate(self.sizes))

    @cached_property
    def seeds(self) -> tuple[str, ...]:
        """One URL from which every other can be reached (with scope `any`)."""
        return (self.home(0),)

    @cached_property
    def directory_pages(self) -> int:
        """Pages of host 0's directory of hosts."""
        return math.ceil(self.hosts / DIRECTORY_PAGE)

    def role(self, host: int) -> Role:
        """What is special about a host."""
        back = self.hosts - 1 - host
        return ROLES[back] if self.odd and host > 0 and back < len(ROLES) else "plain"

    def address(self, host: int) -> str:
        """The loopback address a host listens on."""
        return f"127.0.{1 + host // HOSTS_PER_NET}.{1 + host % HOSTS_PER_NET}"

    def host_at(self, address: str) -> int | None:
        """The host that listens on `address`; None if it is none of ours."""
        parts = address.partition(":")[0].split(".")
        host = (int(parts[2]) - 1) * HOSTS_PER_NET + int(parts[3]) - 1 if len(parts) == 4 else -1  # noqa: PLR2004 - octets of an IPv4 address
        return host if 0 <= host < self.hosts and self.address(host) == ".".join(parts) else None

    def authority(self, host: int) -> str:
        """Address and port, as `host` is written in records."""
        return self.address(host) if self.port == 80 else f"{self.address(host)}:{self.port}"  # noqa: PLR2004 - http's default port

    def url(self, host: int, path: str) -> str:
        """The canonical URL of a path on a host."""
        return f"http://{self.authority(host)}{path}"

    def home(self, host: int) -> str:
        """The URL of a host's first page."""
        return self.url(host, "/")

    def place(self, number: int) -> tuple[int, int]:
        """Host and page of the web's `number`-th article page."""
        host = bisect_right(self._starts, number) - 1
        return host, number - self._starts[host]

    def path(self, host: int, page: int) -> str:
        """A page's path, percent-encoded the canonical way."""
        if page == 0:
            return "/"
        dice = self.dice(host, page, "path")
        section = SECTIONS[dice % len(SECTIONS)]
        words = [SLUGS[dice >> shift & 31] for shift in (8, 16, 24)]
        if dice >> 32 & 7 == 0:  # one page in eight has letters that must be percent-encoded
            words[1] = quote(self.language(host, page).words[dice >> 40 & 63].lower())
        return f"/{section}/{'-'.join(words)}-{page}.html"

    def page_url(self, host: int, page: int) -> str:
        """A page's canonical URL."""
        return self.url(host, self.path(host, page))

    def find(self, host: int, path: str) -> int | None:
        """The page at a path, however it is percent-encoded; None if there is none."""
        if path == "/":
            return 0
        match = _NUMBER.search(path)
        page = int(match[1]) if match else 0
        if not 0 < page < self.sizes[host]:
            return None
        return page if unquote(path) == unquote(self.path(host, page)) else None

    def language(self, host: int, page: int) -> Language:
        """Hosts have a language; one page in sixteen is in another."""
        dice = self.dice(host, page, "language")
        return LANGUAGES[(host + (dice % 16 == 0) * (dice >> 8)) % len(LANGUAGES)]

    def charset(self, host: int, page: int) -> str:
        """The encoding a page is served in."""
        charsets = self.language(host, page).charsets
        return charsets[self.dice(host, page, "charset") % len(charsets)]

    def dice(self, host: int, page: int, salt: str) -> int:
        """64 random bits that are always the same for the same arguments."""
        key = f"{self.seed}/{host}/{page}/{salt}".encode()
        return int.from_bytes(blake2b(key, digest_size=8).digest())

    def random(self, host: int, page: int, salt: str) -> Random:
        """A generator that always runs the same for the same arguments."""
        return Random(self.dice(host, page, salt))  # noqa: S311 - repeatable by design

    def targets(self, host: int, page: int) -> Targets:
        """Where the links of an article page go."""
        rng = self.random(host, page, "links")
        size = self.sizes[host]
        near = [self.page_url(host, rng.randrange(size)) for _ in range(12)]
        first = page * CHILDREN + 1
        return Targets(
            nav=tuple(self.page_url(host, n) for n in range(min(NAV, size))),
            children=tuple(
                self.page_url(host, n) for n in range(first, min(first + CHILDREN, size))
            ),
            inline=tuple(near[:4]),
            related=tuple(near[4:]),
            elsewhere=tuple(self._elsewhere(rng, host) for _ in range(3 * (self.hosts > 1))),
            extra=self._extra(host, page),
            feed=self._feed(host, page),
        )

    def _elsewhere(self, rng: Random, host: int) -> str:
        """A page of another host; never of the odd one, whose depths must not depend on luck."""
        other = (host + rng.randrange(1, self.hosts)) % self.hosts
        if self.role(other) == "odd":
            other = 0
        return self.page_url(other, rng.randrange(self.sizes[other]))

    def _extra(self, host: int, page: int) -> tuple[str, ...]:
        """Links that only a home page has."""
        if page > 0:
            return ()
        extra = [self.url(host, "/private/staff.html")]
        if host == 0:
            extra.append(self.url(0, directory_path(0)))
        if self.role(host) == "odd":
            extra.append(self.url(host, "/odd/"))
        return tuple(extra)

    def _feed(self, host: int, page: int) -> tuple[str, ...]:
        named = page == 0 and self.sitemaps and host in FEEDS
        return (self.url(host, FEEDS[host]),) if named else ()

    def directory(self, index: int) -> tuple[str, ...]:
        """What page `index` of host 0's directory links to."""
        first = index * DIRECTORY_PAGE
        homes = [self.home(host) for host in range(first, min(first + DIRECTORY_PAGE, self.hosts))]
        if index + 1 < self.directory_pages:
            homes.append(self.url(0, directory_path(index + 1)))
        return tuple(homes)

    def directory_index(self, host: int, path: str) -> int | None:
        """The page of the directory at a path; None if there is none."""
        if host != 0 or not path.startswith("/all-hosts/"):
            return None
        paths = map(directory_path, range(self.directory_pages))
        return next((index for index, known in enumerate(paths) if known == path), None)

    def change(self, host: int, page: int) -> Change:
        """How a page changes; `noise` changes at every request, but only outside its text."""
        return _CHANGES[self.dice(host, page, "change") % len(_CHANGES)]

    def version(self, host: int, page: int, at: float) -> Version:
        """The version a page shows at a time; changes fall on whole seconds."""
        start = math.floor(self.epoch)
        change = self.change(host, page)
        dice = self.dice(host, page, "period")
        first = Version(0, start - 3600 - dice % 10_000_000)
        if self.change_period == 0 or at < start or change in {"never", "noise"}:
            return first
        mean = self.change_period * (1, 2, 4, 8)[dice % 4]
        elapsed = math.floor(at) - start
        if change == "period":
            step = max(1, round(mean))
            phase = (dice >> 8) % step
            number = (elapsed + phase) // step
            return Version(number, start + number * step - phase) if number else first
        return self._burst(host, page, elapsed, math.ceil(BURST * mean)) or first

    def _burst(self, host: int, page: int, elapsed: int, length: int) -> Version | None:
        """Changes as of a Poisson process: `BURST` of them anywhere in each window."""
        window = elapsed // length
        begin = math.floor(self.epoch) + window * length
        times = sorted(self._burst_times(host, page, window, length))
        done = bisect_right(times, elapsed - window * length)
        if done:
            return Version(window * BURST + done, begin + times[done - 1])
        if window == 0:
            return None
        last = max(self._burst_times(host, page, window - 1, length))
        return Version(window * BURST, begin - length + last)

    def _burst_times(self, host: int, page: int, window: int, length: int) -> list[int]:
        return self.random(host, page, f"burst{window}").choices(range(length), k=BURST)


def directory_path(index: int) -> str:
    """The path of a page of host 0's directory of hosts."""
    return "/all-hosts/" if index == 0 else f"/all-hosts/{index + 1}.html"
