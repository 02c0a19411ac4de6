"""How long from a seed on the topic until its page can be read from Cassandra, with nothing to do.

    python -m benchmarks.latency --seeds 100

One seed at a time, to hosts whose robots.txt is known. (A host never met before waits one gap
between its robots.txt and its first page.) The page is asked for every few milliseconds.
"""

import asyncio
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.pipeline import chosen
from services.common.cassandra import Cassandra, connect
from services.common.kafka import Producer
from services.common.records import Outcome, Seed
from services.common.settings import Settings, load
from services.common.topics import SEEDS
from services.local.demo import DemoWeb, expected, serve
from services.local.whole import whole
from services.parser.store import latest_page

POLL = 0.005
PATIENCE = 30.0
WARM = 10


def main(
    seeds: Annotated[int, typer.Option(help="Seeds to measure.")] = 100,
    jars: Annotated[Path | None, typer.Option(help="Where the engines' jars are kept.")] = None,
) -> None:
    """Measure and print the quantiles."""
    plain = DemoWeb(hosts=4, pages=seeds + WARM + 4, odd=False, trap=False)
    with serve(plain) as web, TemporaryDirectory() as data:
        urls = [u for u, e in expected(web.web).items() if e.outcome is Outcome.OK]
        settings = chosen(load(), web, Path(data), workers=1, jars=jars)
        with whole(settings, lambda _: None) as ours:
            took = asyncio.run(measure(ours.settings, urls[: seeds + WARM]))[WARM:]
    cuts = statistics.quantiles(took, n=100)
    print(f"{len(took)} seeds, ms from topic to readable page")
    print(f"p50 {cuts[49] * 1000:.0f}  p90 {cuts[89] * 1000:.0f}  p99 {cuts[98] * 1000:.0f}")


async def measure(settings: Settings, urls: list[str]) -> list[float]:
    """Seconds for each URL, one after another."""
    async with Producer(settings.kafka) as producer, await connect(settings.cassandra) as store:
        return [await one(producer, store, url) for url in urls]


async def one(producer: Producer, store: Cassandra, url: str) -> float:
    """Seconds from the seed's send to the page's first successful read."""
    began = time.perf_counter()
    await producer.send(SEEDS, Seed(url=url, max_depth=0, job="latency"), key=url)
    while await latest_page(store, url) is None:
        if time.perf_counter() - began > PATIENCE:
            raise SystemExit(f"{url} was not stored within {PATIENCE:.0f} s")
        await asyncio.sleep(POLL)
    return time.perf_counter() - began


if __name__ == "__main__":
    typer.run(main)
