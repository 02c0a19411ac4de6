"""NET-01: hosts of one IP address share its pace over all fetchers, and others do not wait."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import confluent_kafka
import pytest

from services.common import codec, topics
from services.common.kafka import options
from services.common.records import FetchCompleted, Record, Seed
from services.common.settings import Settings
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.supervisor import Pipeline, pipeline, readiness

FARM = "127.0.0.2"
FARM_HOSTS, FARM_PAGES = 40, 2
OTHERS = {f"own{n}.test": f"127.0.0.{n}" for n in (3, 4, 5)}
OTHER_PAGES = 5
SLOTS, SPACING, GAP = 2, 0.2, 0.5
ANSWER = 0.3
"""Seconds that the servers take: at an address two are at work at once."""
RUN = 10
JITTER = 0.4
"""Seconds by which the first of RUN requests may reach the server later than the last."""
PARTITIONS = 6
PATIENCE = 150.0
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Access:
    """One request, as its server saw it; monotonic seconds."""

    host: str
    path: str
    start: float
    end: float


@contextmanager
def server(address: str, log: list[Access]) -> Iterator[int]:
    """A server on its own address that writes down who came when; yields its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            start = time.monotonic()
            time.sleep(ANSWER)
            host = self.headers["host"].partition(":")[0]
            body = f"<title>{host}</title><p>{self.path} of {host}".encode()
            found = not self.path.startswith("/robots")
            # Before the answer: its reader may send the next request at once.
            log.append(Access(host, self.path, start, time.monotonic()))
            self.send_response(200 if found else 404)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    with Server((address, 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield made.server_address[1]
        finally:
            made.shutdown()


@pytest.fixture
def crawling(settings: Settings) -> Settings:
    """The test's settings: more partitions than fetchers, names with addresses of our own."""
    farm = {f"h{n:03}.farm.test": FARM for n in range(FARM_HOSTS)}
    update = {
        "kafka": settings.kafka.model_copy(update={"partitions": PARTITIONS}),
        "scheduler": settings.scheduler.model_copy(update={"min_gap": GAP}),
        "fetcher": settings.fetcher.model_copy(
            update={
                "addresses": farm | OTHERS,
                "allow_private": ["127.0.0.0/8"],
                "contact": "http://localhost/",
                "ip_slots": SLOTS,
                "ip_gap": SPACING,
            }
        ),
    }
    return settings.model_copy(update=update)


@contextmanager
def another_fetcher(running: Pipeline, place: Path) -> Iterator[int]:
    """One more fetcher beside the pipeline's own; yields the port of its health server."""
    (port,) = choose_ports([0])
    with place.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "services", "run", "fetcher"],
            env={
                **os.environ,
                **environment(running.settings),
                "RECRAWL_HEALTH__PORT": str(port),
                "PYTHONPATH": str(ROOT),
            },
            stdout=log,
            stderr=log,
        )
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def forwarded(port: int) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    name = "recrawl_requests_forwarded_total "
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def most_at_once(log: list[Access]) -> int:
    """The most requests under way together; one that ends as another starts is over."""
    steps = [step for a in log for step in ((a.start, 1), (a.end, -1))]
    running = most = 0
    for _, change in sorted(steps):
        running += change
        most = max(most, running)
    return most


def test_an_address_is_asked_at_its_pace_by_three_fetchers(
    crawling: Settings,
    tmp_path: Path,
    eventually: Callable[..., None],
    read_topic: Callable[[Settings, topics.Topic], list[Record]],
) -> None:
    """D6: slots and gap hold at the shared address, its hosts take turns, others finish early."""
    logs: dict[str, list[Access]] = {address: [] for address in (FARM, *OTHERS.values())}
    with ExitStack() as stack:
        ports = {
            address: stack.enter_context(server(address, log)) for address, log in logs.items()
        }
        running = stack.enter_context(pipeline(crawling, print))
        extra = [
            stack.enter_context(another_fetcher(running, tmp_path / f"fetcher{n}.log"))
            for n in (1, 2)
        ]
        eventually(lambda: not any(map(readiness, extra)), "all fetchers are ready", PATIENCE)
        fetchers = (running.ports["fetcher"], *extra)

        producer = confluent_kafka.Producer(options.client(crawling.kafka))
        for host, address in crawling.fetcher.addresses.items():
            for page in range(FARM_PAGES if address == FARM else OTHER_PAGES):
                seed = Seed(url=f"http://{host}:{ports[address]}/{page}", scope="host")
                name = options.physical(crawling.kafka, topics.SEEDS)
                producer.produce(name, codec.encode(topics.SEEDS, seed))
        assert producer.flush(PATIENCE) == 0

        def wanted(address: str) -> int:
            """Pages, and a robots.txt for each host."""
            return FARM_HOSTS * (FARM_PAGES + 1) if address == FARM else OTHER_PAGES + 1

        def done() -> bool:
            running.check()
            return all(len(log) >= wanted(address) for address, log in logs.items())

        eventually(done, "every page was asked for", PATIENCE)
        eventually(
            lambda: len(read_topic(crawling, topics.FETCH_COMPLETED)) >= len(seeds_of(logs)),
            "every page was reported",
            PATIENCE,
        )
        reports = read_topic(crawling, topics.FETCH_COMPLETED)
        assert sum(map(forwarded, fetchers)) > 0

    farm = sorted(logs[FARM], key=lambda access: access.start)
    assert most_at_once(farm) <= SLOTS
    starts = [access.start for access in farm]
    assert min(late - soon for soon, late in zip(starts, starts[RUN:], strict=False)) > (
        RUN * SPACING - JITTER
    )
    assert {access.host for access in farm} == {
        host for host, address in crawling.fetcher.addresses.items() if address == FARM
    }
    for log in logs.values():
        for host in {access.host for access in log}:
            own = sorted((a for a in log if a.host == host), key=lambda access: access.start)
            assert all(after.start >= before.end for before, after in pairwise(own))
            assert len({access.path for access in own}) == len(own)

    # Each host of the farm has begun before one of them has everything.
    begun = max(min(a.start for a in farm if a.host == host) for host in {a.host for a in farm})
    first_done = min(a.start for a in pages(farm, FARM_PAGES - 1))
    assert begun < first_done
    halfway = farm[len(farm) // 2].start
    for address in OTHERS.values():
        assert max(access.end for access in logs[address]) < halfway

    # One fetcher asked at the shared address.
    processes = {
        report.fetcher.rpartition("/")[0]
        for report in reports
        if isinstance(report, FetchCompleted) and report.address == FARM
    }
    assert len(processes) == 1


def seeds_of(logs: dict[str, list[Access]]) -> set[tuple[str, str]]:
    """Host and path of every page that was asked for."""
    return {(a.host, a.path) for log in logs.values() for a in log if "robots" not in a.path}


def pages(log: list[Access], number: int) -> list[Access]:
    """What is the host's page after `number` others."""
    found: list[Access] = []
    seen: dict[str, int] = {}
    for access in log:
        if "robots" not in access.path:
            if seen.get(access.host, 0) == number:
                found.append(access)
            seen[access.host] = seen.get(access.host, 0) + 1
    return found
