"""The whole pipeline against a bare loop of httpx GET and trafilatura, on the same pages.

    python -m benchmarks.pipeline --pages 1000 --hosts 20

Both crawl a demo web on loopback in one run, so the ratios hold whatever the machine is busy
with. CPU is what the kernel counted for each process between the first seed and the moment when
nothing was left to do; the demo web's own is left out.
"""

import asyncio
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import psutil
import trafilatura
import typer

from services.common.records import Outcome, Seed
from services.common.settings import Settings, load
from services.local.crawl import crawl
from services.local.demo import DemoWeb, Running, expected, serve
from services.local.live import Progress
from services.local.whole import Whole, whole

AT_ONCE = 10
ROLES = {
    "run frontier": "frontier",
    "run scheduler": "scheduler",
    "run fetcher": "fetcher",
    "run parser": "parser",
    "kafka.Kafka": "Kafka",
    "CassandraDaemon": "Cassandra",
}
JVMS = ("Kafka", "Cassandra")


def main(
    pages: Annotated[int, typer.Option(help="Articles of the demo web.")] = 1000,
    hosts: Annotated[int, typer.Option(help="Its hosts.")] = 20,
    workers: Annotated[int, typer.Option(help="Parser processes.")] = 1,
    jars: Annotated[Path | None, typer.Option(help="Where the engines' jars are kept.")] = None,
) -> None:
    """Run both and print the table."""
    plain = DemoWeb(hosts=hosts, pages=pages, odd=False, trap=False)
    with serve(plain) as web, TemporaryDirectory() as data:
        urls = [u for u, e in expected(web.web).items() if e.outcome is Outcome.OK]
        asyncio.run(get_all(urls, extract=False))
        settings = chosen(load(), web, Path(data), workers=workers, jars=jars)
        with whole(settings, lambda _: None) as ours:
            first = bare(urls)
            took, spent, stored = pipeline(ours, web)
            second = bare(urls)
    if stored != len(urls):
        raise SystemExit(f"stored {stored} of {len(urls)} pages: no fair comparison")
    show(len(urls), min(first[0], second[0]), (first[1] + second[1]) / 2, took, spent)


def chosen(
    settings: Settings, web: Running, data: Path, *, workers: int, jars: Path | None
) -> Settings:
    """As little waiting as the pipeline allows, engines as they run in production."""
    kept = jars or settings.local.jars_dir or settings.local.data_dir / "jars"
    local = {"data_dir": data, "jars_dir": kept.absolute(), "fast_start": False}
    return settings.model_copy(
        update={
            "local": settings.local.model_copy(update=local),
            "scheduler": settings.scheduler.model_copy(update={"min_gap": 0.0}),
            "fetcher": settings.fetcher.model_copy(
                update={"allow_private": web.networks, "slots": AT_ONCE}
            ),
            "parser": settings.parser.model_copy(update={"workers": workers}),
        }
    )


def bare(urls: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process that does no more than GET and extract."""
    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(get_all(urls, extract=True))
    return time.perf_counter() - began, time.process_time() - cpu


async def get_all(urls: list[str], *, extract: bool) -> None:
    """GET every URL, `AT_ONCE` at once, and extract its text."""
    queue = iter(urls)

    async def work(client: httpx.AsyncClient) -> None:
        for url in queue:
            response = await client.get(url)
            if extract and "html" in response.headers["content-type"]:
                trafilatura.extract(response.content, fast=True, include_comments=False)

    async with httpx.AsyncClient() as client:
        await asyncio.gather(*(work(client) for _ in range(AT_ONCE)))


def pipeline(ours: Whole, web: Running) -> tuple[float, Counter[str], int]:
    """Seconds to the last stored page, CPU seconds by role, pages stored."""
    seeds = [Seed(url=url, scope="any", job="benchmark") for url in web.seeds]
    curve: list[tuple[float, int]] = []

    def note(progress: Progress) -> None:
        curve.append((progress.elapsed, progress.tally.stored))

    before = cpu_by_role()
    done = crawl(
        ours.settings.kafka,
        seeds,
        ports=ours.pipeline.ports.values(),
        show=note,
        check=ours.pipeline.check,
    )
    spent = cpu_by_role()
    spent.subtract(before)
    stored = done.tally.stored
    return next(at for at, count in curve if count == stored), spent, stored


def cpu_by_role() -> Counter[str]:
    """User and system seconds of our descendants, dead children of theirs included."""
    spent: Counter[str] = Counter()
    for process in psutil.Process().children(recursive=True):
        role = role_of(process)
        if role:
            times = process.cpu_times()
            spent[role] += times.user + times.system  # type: ignore[assignment]  # seconds
    return spent


def role_of(process: psutil.Process) -> str | None:
    """The part that a process, or the process it belongs to, plays."""
    for one in (process, *process.parents()):
        command = " ".join(one.cmdline())
        if "keeper.py" in command:
            continue
        for mark, role in ROLES.items():
            if mark in command:
                return role
    return None


def show(pages: int, wall: float, cpu: float, took: float, spent: Counter[str]) -> None:
    """The table, per page, and the ratios to the bare loop."""
    print(f"{pages} pages, each stored once; CPU in ms a page")
    print(f"{'bare loop':22}{cpu / pages * 1000:8.1f}{'':10}{pages / wall:8.1f} pages/s")
    for role in ROLES.values():
        print(f"  {role:20}{spent[role] / pages * 1000:8.1f}")
    services = sum(value for role, value in spent.items() if role not in JVMS)
    jvms = sum(spent[role] for role in JVMS)
    for name, total in (("services", services), ("JVMs", jvms), ("together", services + jvms)):
        ratio = f"{total / cpu:.2f} x bare"
        print(f"{name:22}{total / pages * 1000:8.1f}{ratio:>14}")
    print(f"{'pipeline':40}{pages / took:8.1f} pages/s, {wall / took:.2f} x bare")


if __name__ == "__main__":
    typer.run(main)
