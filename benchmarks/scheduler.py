"""What the scheduler costs a page: its process alone on a real Kafka, answered at full speed.

    python -m benchmarks.scheduler --urls 5000 [--profile] [--against OTHER_CHECKOUT]

The benchmark is the frontier (URLs in lists), the fetcher and the parser (a report for each
request, at once). With `--against`, the scheduler of another checkout runs in turns with ours, on
the same Kafka, so that the ratio holds whatever the machine is busy with.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple
from uuid import uuid4

import confluent_kafka
import psutil
import typer

from benchmarks.scheduler_profile import shares
from services.common import codec, topics
from services.common.kafka import create_topics, options
from services.common.records import AdmittedUrl, CrawlReported, Outcome, Rules, UrlAdmitted
from services.common.settings import Kafka, Settings, load
from services.common.topics import Topic
from services.common.urls import fingerprint
from services.local.engines import engines
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.supervisor import readiness

HOSTS = 50
LINKS = 20
"""URLs in a record of `url-admitted`."""
PARTITIONS = 4
PATIENCE = 120.0
WARM = 200
"""URLs before the clock starts."""
HERE = Path(__file__).parents[1]


class Cost(NamedTuple):
    """Of one run: seconds by clock and by CPU, MiB at the end, the longest silence in seconds."""

    wall: float
    cpu: float
    main: float
    memory: float
    gap: float


class Robot:
    """Everything around the scheduler."""

    def __init__(self, settings: Settings) -> None:
        self._kafka = settings.kafka
        self._producer = confluent_kafka.Producer(options.client(settings.kafka))
        self._consumer = confluent_kafka.Consumer(
            options.client(settings.kafka, {"group.id": "robot", "enable.auto.commit": False})
        )
        name = options.physical(settings.kafka, topics.FETCH_REQUESTED)
        self._consumer.assign(
            [confluent_kafka.TopicPartition(name, n, 0) for n in range(PARTITIONS)]
        )

    def admit(self, first: int, count: int) -> None:
        """So many URLs, of all hosts in turn."""
        for number in range(first, first + count, LINKS):
            host = f"host-{number // LINKS % HOSTS}.test"
            urls = [f"http://{host}/articles/{n}" for n in range(number, number + LINKS)]
            admitted = [AdmittedUrl(url=url, fingerprint=fingerprint(url)) for url in urls]
            self._send(topics.URL_ADMITTED, UrlAdmitted(host=host, rules=Rules(), urls=admitted))

    def answer(self, count: int) -> float:
        """Report so many requests; the longest time in seconds between two of them."""
        longest, last = 0.0, time.monotonic()
        deadline = last + PATIENCE
        while count > 0:
            for message in self._consumer.consume(200, 0.05):
                if message.error() is not None:
                    continue  # the topic is new
                now = time.monotonic()
                longest, last = max(longest, now - last), now
                self._report(message.value() or b"")
                count -= 1
            self._producer.poll(0)
            if time.monotonic() > deadline:
                raise SystemExit(f"{count} requests did not come within {PATIENCE:.0f} s")
        self._producer.flush(PATIENCE)
        return longest

    def close(self) -> None:
        """Leave Kafka."""
        self._consumer.close()

    def _report(self, value: bytes) -> None:
        request = codec.decode(topics.FETCH_REQUESTED, value)
        report = CrawlReported(
            host=request.host,
            fingerprint=request.fingerprint,
            scheduled_at=request.scheduled_at,
            url=request.url,
            job=request.rules.job,
            outcome=Outcome.OK,
            reason="ok",
            fetched_at=time.time(),
            elapsed=0.1,
            group=request.group or request.host,
        )
        self._send(topics.CRAWL_REPORTED, report)

    def _send(self, topic: Topic, record: UrlAdmitted | CrawlReported) -> None:
        value = codec.encode(topic, record)
        self._producer.produce(options.physical(self._kafka, topic), value, record.host)


def main(
    urls: Annotated[int, typer.Option(help="Pages of one run.")] = 5000,
    rounds: Annotated[int, typer.Option(help="Runs of each scheduler.")] = 1,
    against: Annotated[Path | None, typer.Option(help="Another checkout to compare with.")] = None,
    *,
    profile: Annotated[bool, typer.Option(help="One more run under cProfile.")] = False,
) -> None:
    """Run and print one line for each run."""
    trees = [HERE] if against is None else [against.absolute(), HERE]
    costs: dict[Path, list[Cost]] = {tree: [] for tree in trees}
    with TemporaryDirectory() as data:
        own = load()
        local = own.local.model_copy(update={"data_dir": Path(data), "fast_start": False})
        jars = own.local.jars_dir or own.local.data_dir / "jars"
        local = local.model_copy(update={"jars_dir": jars.absolute(), "kafka_port": 0})
        # Cassandra is not used; an address that is given is not started.
        cassandra = own.cassandra.model_copy(update={"contact_points": "127.0.0.1:9"})
        start = own.model_copy(update={"local": local, "cassandra": cassandra})
        start.cassandra.model_fields_set.add("contact_points")
        with engines(start, lambda _: None) as endpoints:
            for _ in range(rounds):
                for tree in trees:
                    cost = run(endpoints.kafka, tree, urls, None)
                    costs[tree].append(cost)
                    show("ours" if tree == HERE else "theirs", urls, cost)
            if profile:
                file = Path(data, "profile")
                show("under cProfile", urls, run(endpoints.kafka, HERE, urls, file))
                for line in shares(file, urls):
                    print(line)
    if against is not None:
        theirs, ours = (median(cost.cpu for cost in costs[tree]) for tree in trees)
        print(f"CPU against theirs: {ours / theirs:.2f}")


def run(bootstrap: str, tree: Path, urls: int, profile: Path | None) -> Cost:
    """One scheduler process with fresh topics and tables, from start to end."""
    with TemporaryDirectory() as data:
        settings = Settings(
            kafka=Kafka(bootstrap=bootstrap, prefix=f"b{uuid4().hex[:8]}-", partitions=PARTITIONS),
        )
        scheduler = {"min_gap": 0.0, "data_dir": Path(data, "tables")}
        (port,) = choose_ports([0])
        settings = settings.model_copy(
            update={
                "scheduler": settings.scheduler.model_copy(update=scheduler),
                "health": settings.health.model_copy(update={"port": port}),
            }
        )
        create_topics(settings)
        profiler = [] if profile is None else ["-m", "cProfile", "-o", str(profile)]
        log = Path(data, "log")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *profiler, "-m", "services", "run", "scheduler"],
                env={**os.environ, **environment(settings), "PYTHONPATH": str(tree)},
                cwd=tree,
                stdout=out,
                stderr=out,
            )
        try:
            return measured(settings, process, port, urls)
        except SystemExit:
            print(log.read_text()[-3000:])
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def measured(settings: Settings, process: "subprocess.Popen[bytes]", port: int, urls: int) -> Cost:
    """The cost of so many pages, after some to warm up."""
    deadline = time.monotonic() + PATIENCE
    while readiness(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the scheduler does not start")
        time.sleep(0.2)
    robot = Robot(settings)
    robot.admit(0, WARM)
    robot.answer(WARM)
    watched = psutil.Process(process.pid)
    robot.admit(WARM, urls)
    began, before, main = time.monotonic(), cpu(watched), main_thread(watched)
    gap = robot.answer(urls)
    wall = time.monotonic() - began
    time.sleep(2)  # the last reports, and the commit after them
    robot.close()
    return Cost(
        wall,
        cpu(watched) - before,
        main_thread(watched) - main,
        watched.memory_info().rss / 2**20,
        gap,
    )


def cpu(process: psutil.Process) -> float:
    """Seconds of user and system CPU so far."""
    times = process.cpu_times()
    return times.user + times.system


def main_thread(process: psutil.Process) -> float:
    """The same of the thread that runs Faust's event loop; the rest is the consumer's thread."""
    found = {thread.id: thread for thread in process.threads()}[process.pid]
    return found.user_time + found.system_time


def show(name: str, urls: int, cost: Cost) -> None:
    """One line."""
    print(
        f"{name}: {urls / cost.wall:,.0f} pages/s, {cost.cpu / urls * 1000:.2f} ms CPU a page "
        f"(main thread {cost.main / urls * 1000:.2f}), {cost.memory:.0f} MiB, "
        f"longest silence {cost.gap:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    typer.run(main)
