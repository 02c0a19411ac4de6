"""How fast known URLs come in by `recrawl import`: the tool alone, then the scheduler with them.

    python -m benchmarks.known_urls --urls 200000 --hosts 200

One scheduler process on a real Kafka; nothing is due, so it does nothing else.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from uuid import uuid4

import msgspec
import psutil
import typer

from benchmarks.scheduler import HERE, PARTITIONS, cpu
from services.common import quiet
from services.common.kafka import create_topics
from services.common.kafka.commands import Commander
from services.common.settings import Kafka, Settings, load
from services.local.engines import engines
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.supervisor import readiness

PATIENCE = 600.0


def main(
    urls: Annotated[int, typer.Option(help="Known URLs.")] = 200_000,
    hosts: Annotated[int, typer.Option(help="Hosts that they are of, sorted by host.")] = 200,
) -> None:
    """Measure and print."""
    with TemporaryDirectory() as data:
        own = load()
        local = own.local.model_copy(
            update={
                "data_dir": Path(data),
                "jars_dir": (own.local.jars_dir or own.local.data_dir / "jars").absolute(),
                "kafka_port": 0,
            }
        )
        cassandra = own.cassandra.model_copy(update={"contact_points": "127.0.0.1:9"})
        start = own.model_copy(update={"local": local, "cassandra": cassandra})
        start.cassandra.model_fields_set.add("contact_points")
        file = Path(data, "known.jsonl")
        write(file, urls, hosts)
        with engines(start, lambda _: None) as endpoints:
            run(endpoints.kafka, file, urls)


def write(file: Path, urls: int, hosts: int) -> None:
    """A file of URLs fetched today, as another crawler might give it."""
    today = time.time()
    with file.open("wb") as out:
        for number in range(urls):
            host = number * hosts // urls
            url = f"https://host-{host}.test/articles/{number}-a-title-of-usual-length"
            line = {"url": url, "fetched_at": today, "interval": 30 * 86_400, "etag": f'"{number}"'}
            out.write(msgspec.json.encode(line) + b"\n")


def run(bootstrap: str, file: Path, urls: int) -> None:
    """Import with no scheduler, then let one take them in."""
    with TemporaryDirectory() as data:
        kafka = Kafka(bootstrap=bootstrap, prefix=f"b{uuid4().hex[:8]}-", partitions=PARTITIONS)
        settings = Settings(kafka=kafka)
        (port,) = choose_ports([0])
        tables = settings.scheduler.model_copy(update={"data_dir": Path(data, "tables")})
        health = settings.health.model_copy(update={"port": port})
        settings = settings.model_copy(update={"scheduler": tables, "health": health})
        create_topics(settings)
        process = started(settings, "import", str(file))
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        print(
            f"tool: {used.ru_utime + used.ru_stime:.1f} s CPU with its start,"
            f" {used.ru_maxrss / 1024:.0f} MiB"
        )
        process = started(settings, "run", "scheduler")
        try:
            taken(settings, process, port, urls)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        size = sum(path.stat().st_size for path in Path(data).rglob("*") if path.is_file())
        print(f"tables on disk: {size / 2**20:.0f} MiB, {size / urls:.0f} octets a URL")


def started(settings: Settings, *command: str) -> "subprocess.Popen[bytes]":
    """A command of this checkout."""
    return subprocess.Popen(
        [sys.executable, "-m", "services", *command],
        env={**os.environ, **environment(settings), "PYTHONPATH": str(HERE)},
    )


def taken(settings: Settings, process: "subprocess.Popen[bytes]", port: int, urls: int) -> None:
    """Wait until the scheduler knows them all."""
    began = time.monotonic()
    deadline = began + PATIENCE
    while readiness(port):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    watched = psutil.Process(process.pid)
    with Commander(settings.kafka) as commander:
        while (found := known(commander)) < urls:
            assert time.monotonic() < deadline, f"{found} of {urls}"
            time.sleep(0.2)
    wall, used = time.monotonic() - began, cpu(watched)
    print(
        f"scheduler, its start included: {urls / wall:,.0f} URLs/s, {used / urls * 1e6:.0f} us CPU"
        f" a URL, {watched.memory_info().rss / 2**20:.0f} MiB at the end"
    )


def known(commander: Commander) -> int:
    """URLs in the scheduler's tables."""
    return quiet.total(result.result for result in commander.status(PATIENCE))["known"]


if __name__ == "__main__":
    typer.run(main)
