"""The frontier as a process: takes seeds and found links, produces admitted URLs by host.

All decisions are core.py's. A URL is remembered as passed only once the broker has it.
"""

import asyncio
import time
from typing import ClassVar

from services.common import metrics, rules_file
from services.common.codec import decode
from services.common.errors import Retry
from services.common.kafka import Incoming, Producer, Table, check_topics
from services.common.settings import Settings
from services.common.topics import (
    CRAWL_REPORTED,
    HOST_UPDATED,
    SEEDS,
    URL_ADMITTED,
    URL_DISCOVERED,
    Topic,
)
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed
from services.frontier.core import Admission, Limits, Memory, admit_links, admit_seed
from services.frontier.host_mapping import place_of
from services.frontier.traps import Thresholds


class Frontier:
    """A `runtime.Service`; it has a bounded memory of what passed lately, and of hosts that moved.

    Each worker knows all of the latter, since it may meet links to any host.
    """

    name: ClassVar[str] = "frontier"
    inputs: ClassVar[tuple[Topic, ...]] = (SEEDS, URL_DISCOVERED)

    def __init__(self, settings: Settings, producer: Producer) -> None:
        self.concurrency = settings.frontier.concurrency
        self._settings = settings
        self._producer = producer
        frontier = settings.frontier
        self._hosts = Table(settings.kafka, HOST_UPDATED, place_of, frontier.host_mappings)
        self._memory = Memory(
            passed=Passed(frontier.cache_size),
            budgets=Budgets(frontier.trap_memory, frontier.max_combinations),
            hosts=self._hosts,
        )
        self._limits = limits_of(settings)

    async def open(self) -> None:
        """Read which hosts have moved, all of it: no link is judged before."""
        problems = await asyncio.to_thread(check_topics, self._settings, (HOST_UPDATED,))
        if problems:
            raise Retry("; ".join(problems))
        await asyncio.to_thread(self._hosts.open)
        while not self._hosts.complete:
            self._hosts.check()
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Stop following the hosts."""
        await asyncio.to_thread(self._hosts.close)

    async def handle(self, message: Incoming) -> None:
        """Admit what a record holds; one bad link never harms its neighbours.

        Raises:
            DeadLetter: the record is no seed, or no list of links.
            Retry: the broker did not take what came of it.
            Stop: it is not known any more which hosts have moved.
        """
        self._hosts.check()
        admission = self._decide(message)
        for record in admission.admitted:
            await self._producer.send(URL_ADMITTED, record, key=record.host)
        for report in admission.reported:
            await self._producer.send(CRAWL_REPORTED, report, key=report.host)
        self._memory.passed.remember(admission.passed)
        metrics.urls_admitted.inc(len(admission.passed))
        metrics.urls_repeated.inc(admission.repeated)
        metrics.urls_mapped.inc(admission.mapped)
        for rule, count in admission.merged.items():
            metrics.urls_merged.labels(rule).inc(count)
        for reason, count in admission.refused.items():
            metrics.urls_refused.labels(reason).inc(count)

    def problems(self) -> list[str]:
        """See `Service.problems`."""
        return self._hosts.problems()

    def _decide(self, message: Incoming) -> Admission:
        now = time.time()
        if message.topic == SEEDS:
            return admit_seed(message.value, self._limits, self._hosts, now)
        discovered = decode(URL_DISCOVERED, message.value or b"")
        return admit_links(discovered, self._memory, self._limits, now)


def limits_of(settings: Settings) -> Limits:
    """What decisions need of the settings, with the rules file read.

    Raises:
        Stop: the rules file cannot be used.
    """
    frontier = settings.frontier
    return Limits(
        default_scope=frontier.default_scope,
        schemes=frontier.schemes,
        max_url_length=frontier.max_url_length,
        max_record=settings.kafka.max_record,
        identity=rules_file.load(frontier.rules_file),
        max_redirects=frontier.max_redirects,
        traps=Thresholds(
            max_segments=frontier.max_segments,
            max_repeats=frontier.max_repeats,
            max_parameters=frontier.max_parameters,
            years_ahead=frontier.years_ahead,
            years_back=frontier.years_back,
        ),
    )
