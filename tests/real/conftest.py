"""Debian's nginx shows Debian's manuals on loopback; the whole pipeline crawls them once.

What is missing fails with the command that installs it. Everything started here ends with the
tests, however they end. All of it is in this file, since tests are no package to import from.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import psutil
import pytest
import zstandard
from rich.console import Console

from services.common.cassandra import connect
from services.common.cql import Statement
from services.common.records import Seed
from services.common.settings import Cassandra, Fetcher, Kafka, Local, Scheduler, Settings
from services.local.crawl import crawl
from services.local.engines import Endpoints
from services.local.live import Progress, line, summary
from services.local.ports import choose_ports
from services.local.processes import Child, last_lines
from services.local.supervisor import Pipeline, pipeline

TRUTH = Path(__file__).with_name("truth.py")
NGINX = "/usr/sbin/nginx"
JOB = "manuals"
LISTED = 30
GAP = 0.01
"""Seconds between two requests to a host."""
MANUALS = {
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
}
MORE = {"openjdk-17-doc": "/usr/share/doc/openjdk-17-jre-headless/api"}
"""Thousands of pages more, if RECRAWL_TEST_MORE is set."""

_CONFIGURATION = """\
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  log_format times '$msec $request_time $connection $status $request_uri';
  gzip on;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
%s}
"""
_SERVER = """\
  server {
    listen %s;
    root %s;
    access_log %s times;
    location / { index index.html; }
  }
"""
_SAMPLE = re.compile(r"^recrawl_(\w+?)_total(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_WATCHED = (
    *("fetches", "pages_parsed", "parse_failures", "links_cut", "retries", "leases_expired"),
    *("dead_letters", "emitted", "urls_refused", "events_without_effect"),
)
_ROLES = {
    "run frontier": "frontier",
    "run scheduler": "scheduler",
    "run fetcher": "fetcher",
    "run parser": "parser",
    "kafka.Kafka": "Kafka",
    "CassandraDaemon": "Cassandra",
    "nginx": "nginx",
}


_console = Console(soft_wrap=True, highlight=False)


def _say(text: str) -> None:
    _console.print(text, markup=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """A manual as it is shown: where its files are, its first URL, the server's log."""

    root: Path
    seed: str
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A line of the server's log; times in seconds since the epoch."""

    begun: float
    ended: float
    connection: int
    status: int
    path: str


@dataclass(slots=True)
class Crawled:
    """What is known when the crawl is over."""

    truth: dict[str, dict[str, Any]]
    """URL -> what is there, as truth.py says."""
    rows: list[Any] = field(default_factory=list)
    """The job's rows of `pages`."""
    texts: dict[bytes, str] = field(default_factory=dict)
    links: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    bodies: dict[bytes, bytes] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    logs: dict[str, list[Request]] = field(default_factory=dict)
    """Seed -> requests to its host, in the order in which they began."""


@pytest.fixture(scope="session")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Manual]]:
    """The manuals, each on a loopback address of its own."""
    wanted = MANUALS | (MORE if os.environ.get("RECRAWL_TEST_MORE") else {})
    missing = [package for package, root in wanted.items() if not Path(root).is_dir()]
    missing += [] if Path(NGINX).exists() else ["nginx-light"]
    if missing:
        pytest.fail(f"apt-get install --no-install-recommends {' '.join(missing)}")
    home = tmp_path_factory.mktemp("nginx")
    (port,) = choose_ports([0])
    shown = [
        Manual(
            root=Path(root),
            seed=f"http://127.0.2.{number}:{port}/",
            log=home / f"{package}.log",
        )
        for number, (package, root) in enumerate(wanted.items(), 1)
    ]
    servers = "".join(
        _SERVER % (manual.seed.split("/")[2], manual.root, manual.log) for manual in shown
    )
    configuration = home / "nginx.conf"
    configuration.write_text(_CONFIGURATION % servers)
    command = [NGINX, "-e", "stderr", "-p", str(home), "-c", str(configuration)]
    nginx = Child(command, log=home / "nginx.out", cwd=home, grace=5)
    try:
        for manual in shown:
            _await_answer(manual.seed, nginx, home / "nginx.out")
        yield shown
    finally:
        nginx.stop()


def _await_answer(seed: str, nginx: Child, log: Path) -> None:
    host, port = seed.split("/")[2].split(":")
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            if nginx.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"nginx does not answer at {seed}\n{last_lines(log)}")
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="session")
def crawled(
    manuals: list[Manual], engines: Endpoints, tmp_path_factory: pytest.TempPathFactory
) -> Crawled:
    """The manuals, crawled from nothing to the end by the services as they run in production."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = Crawled({url: at for part in threads.map(_truth, manuals) for url, at in part})
    home = tmp_path_factory.mktemp("crawl")
    name = f"t{uuid4().hex[:12]}"
    settings = Settings(
        kafka=Kafka(bootstrap=engines.kafka, prefix=f"{name}-", partitions=2),
        cassandra=Cassandra(contact_points=engines.cassandra, keyspace=name),
        scheduler=Scheduler(data_dir=home / "scheduler", min_gap=GAP),
        fetcher=Fetcher(allow_private=["127.0.2.0/24"], contact=manuals[0].seed),
        local=Local(data_dir=home / "local"),
    )
    with pipeline(settings, _say) as running:
        watch = Watch()
        seeds = [Seed(url=manual.seed, job=JOB, scope="host") for manual in manuals]
        done = crawl(
            settings.kafka,
            seeds,
            ports=running.ports.values(),
            show=watch.show,
            check=running.check,
        )
        watch.report(done)
        found.counters = _counters(running)
    for key, count in sorted(found.counters.items()):
        _say(f"  {key} {count:,}")
    asyncio.run(_read(settings.cassandra, found))
    found.logs = {manual.seed: _requests(manual.log) for manual in manuals}
    return found


def _truth(manual: Manual) -> list[tuple[str, dict[str, Any]]]:
    command = [sys.executable, str(TRUTH), str(manual.root), manual.seed]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return list(msgspec.json.decode(output, type=dict[str, dict[str, Any]]).items())


class Watch:
    """Shows the crawl, and what each process costs, in CPU and memory."""

    def __init__(self) -> None:
        self._before = _cost()
        self._memory: dict[str, list[int]] = {}
        self._due = 0.0
        self._curve: list[tuple[float, int]] = []

    def show(self, progress: Progress) -> None:
        self._curve.append((progress.elapsed, progress.tally.stored))
        if progress.elapsed < self._due:
            return
        self._due = progress.elapsed + 5
        _say(line(progress))
        for role, (_, memory) in _cost().items():
            self._memory.setdefault(role, []).append(memory)

    def report(self, done: Progress) -> None:
        """Print the summary: the rate up to the last stored page, and each process's cost."""
        _console.print(summary(done))
        stored = done.tally.stored
        took = next(at for at, count in self._curve if count == stored)
        _say(f"{stored:,} pages stored in {took:.1f} s: {stored / took:.1f} pages/s")
        _say(f"{'':12}{'CPU s':>8}{'ms/page':>9}{'RSS MiB: first, middle, last':>32}")
        for role, (spent, _) in _cost().items():
            seconds = spent - self._before.get(role, (0.0, 0))[0]
            seen = [size >> 20 for size in self._memory[role]]
            memory = f"{seen[0]:,} {seen[len(seen) // 2]:,} {seen[-1]:,}"
            _say(f"{role:12}{seconds:8.1f}{seconds / stored * 1000:9.1f}{memory:>32}")


def _cost() -> dict[str, tuple[float, int]]:
    """Role -> CPU seconds and resident octets of its processes, dead children included."""
    found: dict[str, tuple[float, int]] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            role = _role(process)
            times, memory = process.cpu_times(), process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
        if role:
            seconds, octets = found.get(role, (0.0, 0))
            spent = times.user + times.system + times.children_user + times.children_system
            found[role] = (seconds + spent, octets + memory)
    return found


def _role(process: psutil.Process) -> str | None:
    """The part that a process, or the one it was started by, plays; keepers play none."""
    for one in (process, *process.parents()):
        command = " ".join(one.cmdline())
        if "keeper.py" in command:
            return None
        for mark, role in _ROLES.items():
            if mark in command:
                return role
    return None


def _counters(running: Pipeline) -> Counter[str]:
    found: Counter[str] = Counter()
    for port in running.ports.values():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        for name, labels, value in _SAMPLE.findall(text):
            if name in _WATCHED and float(value):
                values = " ".join(re.findall(r'"([^"]*)"', labels))
                found[f"{name} {values}".strip()] += int(float(value))
    return found


async def _read(settings: Cassandra, found: Crawled) -> None:
    async with await connect(settings) as cassandra:
        every = Statement("every_page", "SELECT * FROM pages")
        found.rows = [row for row in await cassandra.execute(every) if row.job == JOB]
        texts = Statement("every_text", "SELECT digest, text FROM texts")
        found.texts = {row.digest: row.text for row in await cassandra.execute(texts)}
        chunks = Statement("every_chunk", "SELECT digest, chunk, data FROM contents")
        for row in sorted(await cassandra.execute(chunks), key=lambda row: row.chunk):
            octets = zstandard.ZstdDecompressor().decompressobj().decompress(row.data)
            found.bodies[row.digest] = found.bodies.get(row.digest, b"") + octets
        links = Statement("every_outlinks", "SELECT url, links FROM outlinks")
        found.links = {row.url: row.links or [] for row in await cassandra.execute(links)}


def _requests(log: Path) -> list[Request]:
    found = []
    for entry in log.read_text().splitlines():
        ended, took, connection, status, path = entry.split(" ", 4)
        end = float(ended)
        found.append(
            Request(
                begun=end - float(took),
                ended=end,
                connection=int(connection),
                status=int(status),
                path=path,
            )
        )
    return sorted(found, key=lambda request: request.begun)


@pytest.fixture
def truth(crawled: Crawled) -> dict[str, dict[str, Any]]:
    """URL -> what is there."""
    return crawled.truth


@pytest.fixture
def rows(crawled: Crawled) -> list[Any]:
    """The job's rows of `pages`."""
    return crawled.rows


@pytest.fixture
def texts(crawled: Crawled) -> dict[bytes, str]:
    """Digest -> text."""
    return crawled.texts


@pytest.fixture
def bodies(crawled: Crawled) -> dict[bytes, bytes]:
    """Digest -> body, put together from its chunks."""
    return crawled.bodies


@pytest.fixture
def links(crawled: Crawled) -> dict[str, list[tuple[str, str, str]]]:
    """URL -> its outlinks."""
    return crawled.links


@pytest.fixture
def counters(crawled: Crawled) -> Counter[str]:
    """What the services counted."""
    return crawled.counters


@pytest.fixture
def requests(crawled: Crawled) -> dict[str, list[Request]]:
    """Seed -> what the server's log has of its host, in order of beginning."""
    return crawled.logs


@pytest.fixture
def gap() -> float:
    """Seconds that were asked for between two requests to a host."""
    return GAP


@pytest.fixture
def say() -> Callable[[str], None]:
    """Prints a line."""
    return _say


@pytest.fixture
def listed() -> Callable[[list[str]], str]:
    """Makes an assertion's message of the faults: how many, and the first of them."""

    def show(faults: list[str]) -> str:
        return "\n".join([f"{len(faults)} in all:", *sorted(faults)[:LISTED]])

    return show
