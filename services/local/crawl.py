"""One crawl from its seeds to the moment when nothing is left to do."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from services.common import quiet, records, topics
from services.common.errors import Retry
from services.common.kafka import Producer
from services.common.kafka.commands import Commander
from services.common.kafka.offsets import Offsets
from services.common.quiet import READS, Reading
from services.common.settings import Kafka
from services.local.live import Progress
from services.local.scrape import Tally, scrape

_PACE = 0.5
_LATELY = 10


async def _send(settings: Kafka, seeds: Sequence[records.Seed]) -> None:
    async with Producer(settings) as producer:
        sent = (producer.send(topics.SEEDS, seed, key=seed.url.encode()[:200]) for seed in seeds)
        await asyncio.gather(*sent)


def crawl(
    settings: Kafka,
    seeds: Sequence[records.Seed],
    *,
    ports: Iterable[int],
    show: Callable[[Progress], None],
    check: Callable[[], None],
    pending: Sequence[str] = quiet.PENDING,
) -> Progress:
    """Give the seeds to the pipeline and follow it until it is quiet.

    `ports` are the health servers of its services, `show` gets each progress, `check` raises
    what should end this early, `pending` are the scheduler's counters that must come to nought;
    retries that waited before do not count.

    Raises:
        Retry, Stop: Kafka does not take the seeds, or refuses us.
    """
    tally = Tally()
    ports = list(ports)
    tally.add(scrape(ports))
    rates: deque[float] = deque(maxlen=_LATELY)
    with Commander(settings) as commander, Offsets(settings) as offsets:
        left = _status(commander)
        begun = time.monotonic()
        asyncio.run(_send(settings, seeds))
        while True:
            check()
            seen = _look(commander, offsets)
            stored, at = tally.stored, time.monotonic()
            tally.add(scrape(ports))
            progress = Progress(
                tally=tally,
                status=seen.status if seen else {},
                lag=seen.after.lag if seen else 0,
                elapsed=at - begun,
                rates=list(rates),
            )
            show(progress)
            if seen and quiet.is_quiet(
                seen.before, quiet.beyond(seen.status, left), seen.after, pending
            ):
                return progress
            time.sleep(_PACE)
            rates.append((tally.stored - stored) / max(time.monotonic() - at, 0.001))


class _Look(NamedTuple):
    before: Reading
    status: dict[str, int]
    after: Reading


def _look(commander: Commander, offsets: Offsets) -> _Look | None:
    """Two readings and the scheduler's counters between them; None if an engine is away."""
    try:
        before = Reading(offsets.read(READS))
        status = quiet.total(result.result for result in commander.status(timeout=5))
        return _Look(before, status, Reading(offsets.read(READS)))
    except Retry:
        return None


def _status(commander: Commander) -> dict[str, int]:
    """The scheduler's counters; empty if it does not answer."""
    try:
        return quiet.total(result.result for result in commander.status())
    except Retry:
        return {}
