"""Reads Cassandra by parts of the token ring, and tells the scheduler what is stored there.

Two passes: first every URL's history, so that all are known; then the links of the pages, so that
what was found and never fetched is known too. Order within a partition of `url-admitted` makes
the first come first.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import groupby
from operator import attrgetter

from services.cli.recovery.batches import Batches
from services.cli.recovery.job_rules import JobRules
from services.cli.recovery.outlinks import discovered
from services.cli.recovery.sink import Sink
from services.cli.recovery.stored_url import Row, StoredUrl, stored_url
from services.common import topics
from services.common.cassandra import Cassandra
from services.common.errors import DeadLetter
from services.common.kafka import admin, options, whole
from services.common.records import AdmittedUrl, Link, Rules, UrlAdmitted
from services.common.settings import Settings
from services.common.urls import KNOWN, parse
from services.frontier.core import admit_seed
from services.frontier.service import limits_of
from services.parser import store, tables
from services.scheduler import policies

SLICES = 64
"""Parts of the token ring; each pass goes through all of them."""
_READS = 32
"""Reads of out-links at once."""

Tell = Callable[[str], None]


class Rebuild:
    """One run; counts what it told."""

    def __init__(self, settings: Settings, cassandra: Cassandra, sink: Sink, tell: Tell) -> None:
        self.told: Counter[str] = Counter()
        """`pages`, `links`, `seeds`."""
        self.rules = JobRules()
        self._settings = settings
        self._cassandra = cassandra
        self._sink = sink
        self._tell = tell
        self._policy = policies.load(settings.scheduler)
        self._seeds: dict[bytes, UrlAdmitted] = {}

    def read_seeds(self) -> None:
        """Learn what each job allows, from the seeds that the topic still holds."""
        limits = limits_of(self._settings)
        name = options.physical(self._settings.kafka, topics.SEEDS)
        count = admin.partition_counts(self._settings.kafka).get(name, 0)
        for seed in whole.read(self._settings.kafka, {(name, n): 0 for n in range(count)}):
            try:
                admission = admit_seed(seed.value, limits)
            except DeadLetter:
                continue  # the frontier has answered it
            for record in admission.admitted:
                self.rules.add(record.rules)
                self._seeds[record.urls[0].fingerprint] = record

    async def pages(self, start: int) -> None:
        """Tell every URL's history, from slice `start` on; then the seeds never fetched."""
        batches = Batches(self._settings.kafka.max_record)
        for number in range(start, SLICES):
            async for known in self._known(number):
                rules = self._rules(known)
                self._seeds.pop(known.fingerprint, None)
                url = AdmittedUrl(
                    url=known.url,
                    fingerprint=known.fingerprint,
                    depth=known.depth,
                    priority=round(rules.priority / (1 + known.depth), 3),
                    past=known.past,
                )
                self.told["pages"] += 1
                for record in batches.add(known.host, rules, url):
                    await self._sink.send(topics.URL_ADMITTED, record, record.host)
            for record in batches.rest():
                await self._sink.send(topics.URL_ADMITTED, record, record.host)
            await self._sink.drain()
            self._tell(f"pages: {number + 1} of {SLICES} parts, {self.told['pages']:,} URLs")
        for record in self._seeds.values():
            await self._sink.send(topics.URL_ADMITTED, record, record.host)
            self.told["seeds"] += 1
        await self._sink.drain()

    async def links(self, start: int) -> None:
        """Give the frontier the links of every page once more, from slice `start` on."""
        for number in range(start, SLICES):
            waiting: list[StoredUrl] = []
            async for known in self._known(number):
                waiting.append(known)
                if len(waiting) == _READS:
                    await self._link(waiting)
                    waiting.clear()
            await self._link(waiting)
            await self._sink.drain()
            self._tell(f"links: {number + 1} of {SLICES} parts, {self.told['links']:,} links")

    async def _link(self, pages: list[StoredUrl]) -> None:
        await asyncio.gather(*map(self._links_of, pages))

    async def _links_of(self, known: StoredUrl) -> None:
        rules = self._rules(known)
        depth = known.depth if known.target else known.depth + 1
        if not known.past.fetched_at or (rules.max_depth is not None and depth > rules.max_depth):
            return
        if known.target:
            links = [Link(url=known.target, rel="redirect")]
        else:
            key = known.host, known.fingerprint
            links = await store.latest_links(self._cassandra, *key) or []
        at = known.past.fetched_at
        found = discovered(links, source=known.url, rules=rules, depth=depth, found_at=at)
        for record in found:
            self.told["links"] += len(record.links)
            await self._sink.send(topics.URL_DISCOVERED, record, record.host)

    def _rules(self, known: StoredUrl) -> Rules:
        return self.rules.of(known.job, parse(known.url, schemes=KNOWN), known.host)

    async def _known(self, number: int) -> AsyncIterator[StoredUrl]:
        """The URLs of a slice; at most one URL's rows are held beside what is read at once."""
        held: list[Row] = []
        edges = tables.token_slices(SLICES)[number]
        async for rows in self._cassandra.pages(tables.SCAN_PAGES, edges):
            for _, found in groupby(rows, key=attrgetter("host", "fingerprint")):
                versions = list(found)
                if held and held[0].fingerprint != versions[0].fingerprint:
                    yield stored_url(held, self._policy)
                    held = []
                held += versions
        if held:
            yield stored_url(held, self._policy)
