"""The scheduler alone on a real Kafka: the test plays the frontier, the fetcher and the parser.

Workers are killed, lose their tables, come and go; every URL must be handed out all the same.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from services.common import codec, topics
from services.common.kafka import create_topics, options
from services.common.kafka.commands import Commander
from services.common.quiet import total
from services.common.records import (
    AdmittedUrl,
    CommandResult,
    CrawlReported,
    FetchRequested,
    Outcome,
    Record,
    Rules,
    UrlAdmitted,
)
from services.common.settings import Settings
from services.common.urls import fingerprint
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.supervisor import readiness

PATIENCE = 90.0
HOSTS = 20
PARTITIONS = 4
TWICE = 0.05
"""Share of URLs that may be handed out twice after a crash: at least once, but not wildly."""
BOUND = 100
ROOT = Path(__file__).parents[2]


@pytest.fixture
def scheduling(settings: Settings) -> Settings:
    """The test's settings: short leases, four partitions, its topics made."""
    quick = {
        "min_gap": 0.0,
        "lease": 5.0,
        "retry_base": 0.5,
        "bucket_width": 0.5,
        "partition_window": 64,
    }
    own = settings.model_copy(
        update={
            "kafka": settings.kafka.model_copy(update={"partitions": PARTITIONS}),
            "scheduler": settings.scheduler.model_copy(update=quick),
        }
    )
    create_topics(own)
    return own


class Worker:
    """One scheduler process with its own tables."""

    def __init__(self, settings: Settings, place: Path) -> None:
        self.data = place / "tables"
        self._log = place / "log"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> None:
        (self.port,) = choose_ports([0])
        self.data.parent.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "services", "run", "scheduler"],
                env={
                    **os.environ,
                    **environment(self._settings),
                    "RECRAWL_SCHEDULER__DATA_DIR": str(self.data),
                    "RECRAWL_HEALTH__PORT": str(self.port),
                    "PYTHONPATH": str(ROOT),
                },
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def problems(self) -> list[str]:
        return readiness(self.port)


class Rest:
    """Everything around the scheduler: admits URLs, takes requests, reports them as fetched."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = confluent_kafka.Producer(options.client(settings.kafka))
        self._consumer = confluent_kafka.Consumer(
            options.client(settings.kafka, {"group.id": "rest", "enable.auto.commit": False})
        )
        requested = options.physical(settings.kafka, topics.FETCH_REQUESTED)
        self._consumer.assign(
            [confluent_kafka.TopicPartition(requested, n, 0) for n in range(PARTITIONS)]
        )
        self.requests: Counter[str] = Counter()
        """How often each URL was handed out."""
        self.reasons: Counter[str] = Counter()
        self.silent: set[str] = set()
        """Hosts that do not answer."""
        self.longest_gap = 0.0
        """Most seconds between two requests since `admit`."""
        self._last = time.monotonic()

    def close(self) -> None:
        self._consumer.close()

    def admit(self, count: int, first: int = 0) -> None:
        """`count` URLs from number `first` on, spread over the hosts, a few to a record."""
        for number in range(first, first + count, 50):
            host = f"h{number // 50 % HOSTS}.test"
            urls = [f"http://{host}/{n}" for n in range(number, min(number + 50, first + count))]
            admitted = [AdmittedUrl(url=url, fingerprint=fingerprint(url)) for url in urls]
            self._send(topics.URL_ADMITTED, UrlAdmitted(host=host, rules=Rules(), urls=admitted))
        assert self._producer.flush(PATIENCE) == 0
        self._last = time.monotonic()

    def work(self, until: int, patience: float = PATIENCE) -> None:
        """Report requests until so many URLs were handed out."""
        self.work_while(lambda: len(self.requests) < until, patience)

    def work_while(self, goes_on: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Report requests as long as a condition holds."""
        deadline = time.monotonic() + patience
        while goes_on():
            assert time.monotonic() < deadline, f"{len(self.requests)} handed out in time"
            for message in self._consumer.consume(500, 0.1):
                if message.error() is not None:
                    continue  # the topic is too new for one of the brokers' answers
                now = time.monotonic()
                self.longest_gap = max(self.longest_gap, now - self._last)
                self._last = now
                request = codec.decode(topics.FETCH_REQUESTED, message.value() or b"")
                self.requests[request.url] += 1
                self.reasons[request.reason] += 1
                self._report(request)
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE) == 0

    @property
    def repeated(self) -> int:
        """Requests beyond one a URL."""
        return self.requests.total() - len(self.requests)

    def _report(self, request: FetchRequested) -> None:
        answers = request.host not in self.silent
        report = CrawlReported(
            host=request.host,
            fingerprint=request.fingerprint,
            scheduled_at=request.scheduled_at,
            url=request.url,
            job=request.rules.job,
            outcome=Outcome.OK if answers else Outcome.TRANSIENT,
            reason="ok" if answers else "connect-timeout",
            status=200 if answers else None,
            fetched_at=time.time(),
            elapsed=0.1,
            group=request.group or request.host,
        )
        self._send(topics.CRAWL_REPORTED, report)

    def _send(self, topic: topics.Topic, record: UrlAdmitted | CrawlReported) -> None:
        value = codec.encode(topic, record)
        self._producer.produce(options.physical(self._settings.kafka, topic), value, record.host)


@pytest.fixture
def rest(scheduling: Settings) -> Iterator[Rest]:
    made = Rest(scheduling)
    yield made
    made.close()


@pytest.fixture
def workers(scheduling: Settings, tmp_path: Path) -> Iterator[Callable[[str], Worker]]:
    """Starts workers; none outlives the test."""
    started: list[Worker] = []

    def start(name: str) -> Worker:
        worker = Worker(scheduling, tmp_path / name)
        started.append(worker)
        (tmp_path / name).mkdir()
        worker.start()
        return worker

    yield start
    for worker in started:
        worker.kill()


@contextmanager
def asking(settings: Settings) -> Iterator[Callable[[], list[CommandResult]]]:
    with Commander(settings.kafka) as commander:
        yield lambda: commander.status(timeout=30)


def settled(settings: Settings, known: int, eventually: Callable[..., None]) -> dict[str, int]:
    """The counters once nothing is pending."""
    counts: dict[str, int] = {}
    with asking(settings) as ask:

        def rested() -> bool:
            counts.clear()
            counts.update(total(answer.result for answer in ask()))
            pending = [counts.get(name, 0) for name in ("waiting", "in_flight", "retrying")]
            return not any(pending) and counts["known"] >= known

        eventually(rested, "nothing is pending")
    return {name: count for name, count in counts.items() if count}


def test_status_counts_every_url_once(
    scheduling: Settings,
    rest: Rest,
    workers: Callable[[str], Worker],
    eventually: Callable[..., None],
) -> None:
    """G2, G4, A1: from counters; repeats of an admission change nothing."""
    worker = workers("a")
    rest.admit(500)
    rest.admit(500)
    rest.work(500)
    assert settled(scheduling, 500, eventually) == {"known": 500, "ok": 500, "hosts": 10}
    assert rest.repeated == 0
    assert worker.stop() == 0


@pytest.mark.parametrize("tables", ["kept", "lost"])
def test_a_killed_worker_that_comes_back_hands_out_every_url(
    scheduling: Settings,
    rest: Rest,
    workers: Callable[[str], Worker],
    eventually: Callable[..., None],
    tables: str,
) -> None:
    """F2, A8, A9: with its tables, or without: then they are made anew from their changelogs."""
    worker = workers("a")
    rest.admit(2000)
    rest.work(700)
    worker.kill()
    if tables == "lost":
        shutil.rmtree(worker.data)
    worker.start()
    rest.work(2000)
    counts = settled(scheduling, 2000, eventually)
    assert (counts["known"], counts["ok"]) == (2000, 2000)
    assert rest.repeated < TWICE * 2000


def test_a_second_worker_takes_over_when_the_first_is_killed(
    scheduling: Settings,
    rest: Rest,
    workers: Callable[[str], Worker],
    eventually: Callable[..., None],
) -> None:
    """F2: a rebalance under load, and then a crash."""
    first = workers("a")
    rest.admit(500)
    rest.work(500)
    second = workers("b")

    def joined() -> bool:
        rest.admit(50, first=len(rest.requests))  # work goes on while partitions move
        rest.work(len(rest.requests) + 50)
        return not second.problems()

    eventually(joined, "the second worker is ready")
    with asking(scheduling) as ask:
        eventually(lambda: len({answer.worker for answer in ask()}) == 2, "both have partitions")
        known = len(rest.requests) + 1500
        rest.admit(1500, first=len(rest.requests))
        rest.work(known - 1300)
        first.kill()
        rest.work(known)
        counts = settled(scheduling, known, eventually)
        assert (counts["known"], counts["ok"]) == (known, known)
        assert len({answer.worker for answer in ask()}) == 1
    assert rest.repeated < TWICE * known


def test_many_events_flow_without_a_standstill(
    rest: Rest, workers: Callable[[str], Worker], scheduling: Settings
) -> None:
    """Faust's own commit stands still for 20 seconds at each 10,000 events; ours never does."""
    workers("a")
    rest.admit(20)
    rest.work(20)
    rest.longest_gap = 0.0
    rest.admit(12_500)
    rest.work(12_500, patience=150)
    assert rest.longest_gap < 5
    with asking(scheduling) as ask:
        assert len(ask()) == PARTITIONS


def test_a_record_that_is_none_becomes_a_dead_letter(
    scheduling: Settings,
    rest: Rest,
    workers: Callable[[str], Worker],
    read_topic: Callable[[Settings, topics.Topic], list[Record]],
    eventually: Callable[..., None],
) -> None:
    """F4: poison between admissions stops nobody."""
    workers("a")
    producer = confluent_kafka.Producer(options.client(scheduling.kafka))
    for value in (b"{broken", b"\xff", b'{"host": 7}', None):
        for topic in (topics.URL_ADMITTED, topics.CRAWL_REPORTED):
            producer.produce(options.physical(scheduling.kafka, topic), value, "h0.test")
    assert producer.flush(PATIENCE) == 0
    rest.admit(100)
    rest.work(100)
    eventually(lambda: len(read_topic(scheduling, topics.DEAD_LETTERS)) == 6, "six letters")
    assert settled(scheduling, 100, eventually)["ok"] == 100


@pytest.fixture
def bounded(scheduling: Settings) -> Settings:
    """No more than 100 URLs may wait for their first fetch."""
    update = {"max_waiting": BOUND, "partition_window": 8}
    return scheduling.model_copy(
        update={"scheduler": scheduling.scheduler.model_copy(update=update)}
    )


def test_more_urls_than_may_wait_stay_in_kafka_and_none_is_lost(
    bounded: Settings, rest: Rest, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """D10: the bound is kept to a record's list, reports and commands flow; a kill between."""
    worker = Worker(bounded, tmp_path / "bounded")
    worker.data.parent.mkdir()
    worker.start()
    try:
        rest.admit(3000)
        with asking(bounded) as ask:

            def counts() -> dict[str, int]:
                return total(answer.result for answer in ask())

            eventually(lambda: counts().get("partitions_stopped") == PARTITIONS, "it stops")
            most = 0
            for done in range(100, 3001, 100):
                rest.work(done)
                most = max(most, counts()["waiting"])
                if done == 1500:
                    worker.kill()
                    worker.start()
        assert BOUND * 0.9 < most <= BOUND + 50
        found = settled(bounded, 3000, eventually)
        assert (found["known"], found["ok"]) == (3000, 3000)
        assert "partitions_stopped" not in found
    finally:
        worker.kill()


def test_a_host_that_comes_back_from_quarantine_gives_every_page(
    scheduling: Settings, rest: Rest, tmp_path: Path
) -> None:
    """D6: probes only, no URL given up, through a restart; then all of its pages."""
    quick = {"quarantine_after": 2, "quarantine_max": 2.0, "max_attempts": 3}
    own = scheduling.model_copy(update={"scheduler": scheduling.scheduler.model_copy(update=quick)})
    worker = Worker(own, tmp_path / "quarantine")
    worker.data.parent.mkdir()
    worker.start()
    try:
        rest.silent = {"h0.test"}
        rest.admit(100)  # 50 of h0, 50 of h1
        with asking(own) as ask:

            def counts() -> dict[str, int]:
                return total(answer.result for answer in ask())

            rest.work_while(lambda: rest.reasons["probe"] < 4)
            assert counts()["hosts_quarantined"] == 1
            worker.kill()
            worker.start()
            rest.work_while(lambda: rest.reasons["probe"] < 8)
            found = counts()
            assert (found["hosts_quarantined"], found["ok"]) == (1, 50)
            assert found["paused"] + found["in_flight"] == 50
            rest.silent = set()
            rest.work_while(lambda: counts()["ok"] < 100)
            assert counts().get("hosts_quarantined", 0) == 0
    finally:
        worker.kill()
