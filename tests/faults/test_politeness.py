"""Politeness as the sites see it, with three fetchers that come, go and die (D6, E3).

Judged by the web server's own log alone: what the fetchers believe does not count.
"""

import asyncio
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from services.common import quiet, records
from services.common.records import Outcome
from services.common.settings import Settings
from services.local import stored
from services.local.crawl import crawl
from services.local.engines import Endpoints
from services.local.environment import environment
from services.local.live import Progress
from services.local.ports import choose_ports
from services.local.processes import Child, last_lines
from services.local.supervisor import Pipeline, pipeline, readiness

JOB = "politeness"
HOSTS = 30
PAGES = 60
"""On each host; at one request in GAP and a little it outlives all that is done to the fetchers."""
GAP = 0.5
TOLERANCE = 0.02
"""An answer's end is noted before its last octets are sent and a start when it has arrived, so
those can only seem further apart than they were. The end of an aborted request is noted when we
hear of it, a little after the client's abort."""
REPEATED = 0.1
"""Share of the pages that may be asked for twice: at least once, but not wildly."""
PATIENCE = 120.0
ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Request:
    """One line of the log; times by the monotonic clock."""

    host: str
    path: str
    began: float
    ended: float
    status: int = 0
    """0: the client went away before its answer."""
    stay_away: float = 0.0
    """Seconds of Retry-After."""
    port: int = 0


@dataclass
class Web:
    """Hosts on loopback addresses of their own, whose pages link on, and what they saw."""

    port: int = 0
    log: list[Request] = field(default_factory=list)
    busy: dict[str, float] = field(default_factory=dict)
    """Hosts that answer for their next page by 429, and the seconds of its Retry-After."""

    @property
    def hosts(self) -> dict[str, str]:
        """Name -> address."""
        return {f"h{number}.test": f"127.0.1.{number + 1}" for number in range(HOSTS)}

    @property
    def urls(self) -> dict[str, list[str]]:
        """Name -> the URLs of its pages."""
        return {
            name: [f"http://{name}:{self.port}/{page}" for page in range(PAGES)]
            for name in self.hosts
        }

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        port = writer.get_extra_info("peername")[1]
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                began = time.monotonic()
                host = head.partition("\r\nhost:")[2].partition("\r\n")[0].strip().partition(":")[0]
                request = Request(host, head.split(" ", 2)[1], began, float("inf"), port=port)
                self.log.append(request)
                more = asyncio.create_task(reader.read(1))
                gone, _ = await asyncio.wait([more], timeout=random.uniform(0.02, 0.15))
                request.ended = time.monotonic()
                if gone:
                    assert more.result() == b"", "a second request before the first was answered"
                    return
                more.cancel()
                await asyncio.wait([more])
                writer.write(self._response(request))
                await writer.drain()

    def _response(self, request: Request) -> bytes:
        page = request.path.removeprefix("/")
        if page.isdecimal() and request.host in self.busy:
            # For robots.txt it would close the host for minutes (RFC 9309, 2.3.1.4).
            request.stay_away = self.busy.pop(request.host)
            request.status, headers, body = 429, f"Retry-After: {request.stay_away:.0f}\r\n", ""
        elif page.isdecimal():
            after = range(int(page) + 1, min(int(page) + 7, PAGES))
            links = "".join(f'<a href="/{number}">on</a> ' for number in after)
            request.status, headers = 200, "Content-Type: text/html\r\n"
            body = f"<title>{request.host} {page}</title><p>Page {page} of this host. {links}"
        else:
            request.status, headers, body = 404, "", ""
        return (
            f"HTTP/1.1 {request.status} -\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


@contextmanager
def served() -> Iterator[Web]:
    web, loop = Web(), asyncio.new_event_loop()

    async def serve() -> list[asyncio.Server]:
        servers = []
        for address in web.hosts.values():
            servers.append(await asyncio.start_server(web.answer, address, web.port))
            web.port = servers[-1].sockets[0].getsockname()[1]
        return servers

    async def end(servers: Sequence[asyncio.Server]) -> None:
        for server in servers:
            server.close()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    servers = asyncio.run_coroutine_threadsafe(serve(), loop).result(10)
    try:
        yield web
    finally:
        asyncio.run_coroutine_threadsafe(end(servers), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def offences(log: Iterable[Request], gap: float) -> list[str]:
    """What a site could complain of: requests side by side, too soon, or though asked not to."""
    found = []
    by_host = defaultdict(list)
    for request in log:
        by_host[request.host].append(request)
    for host, requests in by_host.items():
        requests.sort(key=lambda request: request.began)
        ended, until, before = 0.0, 0.0, requests[0]
        for request in requests:
            what = f"{host}{request.path} after {before.path} (ports {request.port}, {before.port})"
            since = request.began - ended
            if since < 0:
                found.append(f"{-since:.3f} s before the end: {what}")
            elif since < gap - TOLERANCE:
                found.append(f"only {since:.3f} s after the end: {what}")
            if request.began < until - TOLERANCE:
                found.append(f"{until - request.began:.3f} s of Retry-After were left: {what}")
            ended = max(ended, request.ended)
            until = max(until, request.ended + request.stay_away)
            before = request
    return found


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (Request("h", "/b", 1.5, 2.0), "before the end"),
        (Request("h", "/b", 2.4, 3.0), "after the end"),
        (Request("h", "/b", 4.9, 5.0), "of Retry-After were left"),
        (Request("h", "/b", 5.0, 5.1), None),
        (Request("other", "/b", 1.5, 2.0), None),
    ],
)
def test_the_audit_tells_what_is_impolite(second: Request, complaint: str | None) -> None:
    first = Request("h", "/robots.txt", 1.0, 2.0, status=429, stay_away=3.0)
    found = offences([second, first], 0.5)
    assert any(complaint in line for line in found) if complaint else found == []


@dataclass
class Fetchers:
    """Two more fetchers besides the pipeline's."""

    settings: Settings
    logs: Path
    _children: dict[int, Child] = field(default_factory=dict)

    def start(self) -> int:
        """Start one; its health port."""
        (port,) = choose_ports([0])
        self._children[port] = Child(
            [sys.executable, "-m", "services", "run", "fetcher"],
            log=self.logs / f"{port}.log",
            cwd=ROOT,
            grace=20,
            environment={
                **environment(self.settings),
                "RECRAWL_HEALTH__HOST": "127.0.0.1",
                "RECRAWL_HEALTH__PORT": str(port),
                "PYTHONPATH": str(ROOT),
            },
        )
        return port

    def kill(self, port: int) -> None:
        self._children.pop(port).kill()

    def await_ready(self) -> None:
        """Every one has partitions."""
        deadline = time.monotonic() + PATIENCE
        for port in self._children:
            while problems := readiness(port):
                log = last_lines(self.logs / f"{port}.log")
                assert time.monotonic() < deadline, f"{problems}\n{log}"
                time.sleep(0.1)

    def end(self) -> None:
        for child in self._children.values():
            child.ask_to_stop()
        for child in self._children.values():
            child.stop()


@pytest.fixture
def web() -> Iterator[Web]:
    with served() as running:
        yield running


@pytest.fixture
def polite(
    engines: Endpoints,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    web: Web,
    tmp_path: Path,
) -> Iterator[Settings]:
    """Settings of a crawl with enough partitions for three fetchers to share."""
    fetcher = {"allow_private": ["127.0.1.0/24"], "addresses": web.hosts, "slots": HOSTS}
    scheduler = {"min_gap": GAP, "lease": 60.0, "retry_base": 0.5, "bucket_width": 0.5}
    with fresh(engines, tmp_path) as own:
        yield own.model_copy(
            update={
                "kafka": own.kafka.model_copy(update={"partitions": 9}),
                "scheduler": own.scheduler.model_copy(update=scheduler),
                "fetcher": own.fetcher.model_copy(update=fetcher),
            }
        )


def test_no_site_notices_that_fetchers_come_and_go(
    polite: Settings, web: Web, tmp_path: Path
) -> None:
    """One is stopped in order, one comes, one is killed; sites ask for peace just before each."""
    with ExitStack() as stack:
        services = stack.enter_context(pipeline(polite, print))
        others = Fetchers(services.settings, tmp_path / "fetchers")
        stack.callback(others.end)
        victim = others.start()
        others.start()
        others.await_ready()
        steps: list[Step] = [
            (range(6), 15.0, lambda: services.stop("fetcher")),
            (range(6, 16), 9.0, lambda: services.start("fetcher")),
            # What a dead one knew is lost, but its partitions come back 10 seconds later only.
            (range(16, 24), 9.0, lambda: others.kill(victim)),
        ]
        _follow(services, web, steps)
        _check_found(polite, web)
    _report(web)
    assert "\n".join(offences(web.log, GAP)) == ""
    asked = Counter(request.path for request in web.log if request.status == 429)
    assert asked.total() == 24


def _peace(web: Web, hosts: Iterable[int], seconds: float) -> None:
    """Have these hosts answer 429 next, and wait until most of them did."""
    names = [f"h{number}.test" for number in hosts]
    web.busy.update(dict.fromkeys(names, seconds))
    deadline = time.monotonic() + PATIENCE
    while sum(name in web.busy for name in names) > 1:
        assert time.monotonic() < deadline, f"not asked any more: {web.busy}"
        time.sleep(0.02)


Step = tuple[Iterable[int], float, Callable[[], object]]
"""Hosts that ask for peace, the seconds, and what is done to the fetchers then."""


def _follow(services: Pipeline, web: Web, steps: Sequence[Step]) -> None:
    """Crawl; a step each with a seventh of the pages more."""
    left = list(enumerate(steps, 1))
    deadline = time.monotonic() + PATIENCE

    def show(progress: Progress) -> None:
        assert time.monotonic() < deadline, f"still pending: {dict(progress.status)}"
        if left and len(web.log) > left[0][0] * HOSTS * PAGES / 7:
            hosts, seconds, act = left.pop(0)[1]
            _peace(web, hosts, seconds)
            act()

    crawl(
        services.settings.kafka,
        [records.Seed(url=urls[0], job=JOB, scope="host") for urls in web.urls.values()],
        ports=services.ports.values(),
        show=show,
        check=services.check,
        pending=(*quiet.RETRYING, "paused"),
    )
    assert left == [], "the crawl was over before all was done to it"


def _check_found(settings: Settings, web: Web) -> None:
    """Every page was fetched, and few of them twice."""
    pages = {url for urls in web.urls.values() for url in urls}
    found = stored.outcomes(settings.cassandra, JOB)
    assert found == dict.fromkeys(pages, Outcome.OK.value)
    asked = Counter(
        (request.host, request.path)
        for request in web.log
        if request.path != "/robots.txt" and request.status != 429
    )
    assert len(asked) == len(pages)
    assert asked.total() - len(pages) < REPEATED * len(pages)


def _report(web: Web) -> None:
    asked = Counter((request.host, request.path) for request in web.log if request.status == 200)
    aborted = sum(request.status == 0 for request in web.log)
    robots = sum(request.path == "/robots.txt" for request in web.log)
    again = asked.total() - len(asked)
    sys.stdout.write(f"{len(web.log)=} {robots=} {aborted=} {again=}\n")
