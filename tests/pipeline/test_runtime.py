"""The runtime on a real Kafka: what happens to records when things go wrong."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import confluent_kafka
import msgspec
import pytest

from services.common import codec, records, topics
from services.common.errors import Retry
from services.common.kafka import Producer, create_topics, options
from services.common.kafka.offsets import Offsets
from services.common.settings import Settings
from services.local.engines import Endpoints

ECHO = Path(__file__).with_name("echo.py")
PATIENCE = 60.0
BRISK = {"RECRAWL_KAFKA__OPTIONS": '{"session.timeout.ms": "6000"}'}
"""A member that died is missed soon."""
READS = {"echo": (topics.SEEDS, topics.URL_DISCOVERED)}


@pytest.fixture
def kafka(settings: Settings) -> Settings:
    """The test's settings, with its topics made."""
    create_topics(settings)
    return settings


def environment(settings: Settings, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "RECRAWL_KAFKA__BOOTSTRAP": settings.kafka.bootstrap,
        "RECRAWL_KAFKA__PREFIX": settings.kafka.prefix,
        "RECRAWL_KAFKA__PARTITIONS": str(settings.kafka.partitions),
        "PYTHONPATH": str(ECHO.parents[2]),
        **more,
    }


@contextmanager
def echo(settings: Settings, log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("ab") as output,
        subprocess.Popen(
            [sys.executable, str(ECHO)], env=environment(settings, **more), stderr=output
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE)


def eventually(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s: {what}"
        time.sleep(0.1)


def produce(settings: Settings, values: list[bytes | None], partition: int = -1) -> None:
    producer = confluent_kafka.Producer(options.client(settings.kafka))
    name = options.physical(settings.kafka, topics.SEEDS)
    for number, value in enumerate(values):
        producer.produce(name, value, None if value is None else f"{number}", partition=partition)
    assert producer.flush(PATIENCE) == 0


def seed(url: str) -> bytes:
    return msgspec.json.encode({"url": url})


def read_all(settings: Settings, topic: topics.Topic) -> list[records.Record]:
    """Every record that the topic holds now."""
    consumer = confluent_kafka.Consumer(
        options.client(settings.kafka, {"group.id": "reader", "enable.auto.commit": False})
    )
    name = options.physical(settings.kafka, topic)
    found: list[records.Record] = []
    for number in range(len(consumer.list_topics(name).topics[name].partitions)):
        place = confluent_kafka.TopicPartition(name, number, 0)
        _, end = consumer.get_watermark_offsets(place)
        consumer.assign([place])
        position = 0
        while position < end:
            message = consumer.poll(PATIENCE)
            assert message is not None
            value, offset = message.value(), message.offset()
            assert value is not None
            assert offset is not None
            found.append(codec.decode(topic, value))
            position = offset + 1
    consumer.close()
    return found


def pages(settings: Settings) -> list[str]:
    return sorted(
        page.url
        for page in read_all(settings, topics.PAGE_PARSED)
        if isinstance(page, records.PageParsed)
    )


def letters(settings: Settings) -> dict[str, records.DeadLetter]:
    return {
        letter.reason: letter
        for letter in read_all(settings, topics.DEAD_LETTERS)
        if isinstance(letter, records.DeadLetter)
    }


def lag(settings: Settings) -> int:
    with Offsets(settings.kafka) as offsets:
        return read_lag(offsets)


def wait_for_commit(settings: Settings, patience: float = PATIENCE) -> None:
    with Offsets(settings.kafka) as offsets:
        eventually(lambda: read_lag(offsets) == 0, "all committed", patience)


def read_lag(offsets: Offsets) -> int:
    while True:
        try:
            return sum(place.lag for place in offsets.read(READS))
        except Retry:  # a broker that has just started
            time.sleep(0.2)


def test_poison_goes_to_dead_letters_and_its_neighbours_go_on(
    kafka: Settings, tmp_path: Path
) -> None:
    """KAF-03, F4: broken, binary, mistyped, unknown version, null, faults; valid ones pass."""
    broken = b"{broken json"
    with echo(kafka, tmp_path / "log") as process:
        produce(
            kafka,
            [
                seed("http://a/1"),
                broken,
                b"\xff\xfe",
                b'{"url": "http://a/x", "max_depth": "two"}',
                b'{"v": 99, "url": "http://a/x"}',
                None,
                seed("fault:x"),
                seed("refuse:x"),
                seed("retry:x"),
                seed("http://a/2"),
            ],
            partition=1,
        )
        wait_for_commit(kafka)
        assert stop(process) == 0
    assert pages(kafka) == ["http://a/1", "http://a/2", "retry:x"]
    found = read_all(kafka, topics.DEAD_LETTERS)
    assert sorted(letter.reason for letter in found if isinstance(letter, records.DeadLetter)) == [
        "internal",
        "malformed",
        "malformed",
        "refused",
        "schema",
        "schema",
    ]
    (first,) = [
        letter
        for letter in found
        if isinstance(letter, records.DeadLetter) and letter.value == broken
    ]
    assert (first.topic, first.partition, first.offset, first.key) == ("seeds", 1, 1, b"1")
    assert (first.service, first.value_size) == ("echo", len(broken))


def test_a_record_that_kills_the_process_becomes_a_dead_letter(
    kafka: Settings, tmp_path: Path
) -> None:
    """KAF-03: a segmentation fault each time, in two partitions; the neighbours are all done."""
    log = tmp_path / "log"
    urls = [f"http://a/{number}" for number in range(60)]
    produce(kafka, [seed(url) for url in [*urls[:10], "kill:a", *urls[10:30]]], partition=0)
    produce(kafka, [seed(url) for url in [*urls[30:35], "kill:b", *urls[35:]]], partition=1)
    deaths = 0
    finished = False
    with Offsets(kafka.kafka) as offsets:
        while not finished:
            with echo(kafka, log, **BRISK) as process:
                eventually(
                    lambda: process.poll() is not None or read_lag(offsets) == 0, "dies or is done"
                )
                finished = process.poll() is None
                if finished:
                    assert metric(log, "recrawl_dead_letters_total") > 0
                    assert stop(process) == 0
                else:
                    assert process.returncode == -signal.SIGSEGV
                    deaths += 1
                    assert deaths <= 10
    assert set(pages(kafka)) == set(urls)
    found = [
        letter
        for letter in read_all(kafka, topics.DEAD_LETTERS)
        if isinstance(letter, records.DeadLetter)
    ]
    assert {(each.reason, each.partition, each.offset, each.value) for each in found} == {
        ("kills-the-service", 0, 10, seed("kill:a")),
        ("kills-the-service", 1, 5, seed("kill:b")),
    }
    assert len(found) == 2


def test_stops_in_order_with_a_record_in_hand_are_no_deaths(
    kafka: Settings, tmp_path: Path
) -> None:
    """KAF-03: the same record is given up again and again, and nobody is blamed."""
    produce(kafka, [seed("slow:300:x")], partition=1)
    for number in range(4):
        log = tmp_path / str(number)
        with echo(kafka, log, RECRAWL_RUNTIME__DRAIN="0") as process:
            eventually(lambda log=log: metric(log, "recrawl_in_flight") == 1, "in hand")  # type: ignore[misc]
            assert "died" not in log.read_text()
            assert stop(process) == 0
    assert read_all(kafka, topics.DEAD_LETTERS) == []


def test_a_huge_bad_record_is_kept_in_part(kafka: Settings, tmp_path: Path) -> None:
    """F4: a dead letter fits into Kafka whatever came, and says how large it was."""
    huge = b"\x00" * 990_000
    produce(kafka, [huge])
    with echo(kafka, tmp_path / "log"):
        wait_for_commit(kafka)
    letter = letters(kafka)["malformed"]
    assert letter.value_size == len(huge)
    assert letter.value is not None
    assert 600_000 < len(letter.value) < len(huge)


def test_a_record_longer_than_the_poll_limit_is_done_once_while_others_go_on(
    kafka: Settings, tmp_path: Path
) -> None:
    """KAF-01: two consumers, max.poll.interval.ms 6000, one record of 9 s."""
    urls = [f"http://a/{number}" for number in range(100)]
    urls[37] = "slow:9:x"
    limits = {"max.poll.interval.ms": "6000", "session.timeout.ms": "6000"}
    more = {"RECRAWL_KAFKA__OPTIONS": msgspec.json.encode(limits).decode()}
    with echo(kafka, tmp_path / "a", **more), echo(kafka, tmp_path / "b", **more):
        logs = [tmp_path / "a", tmp_path / "b"]
        eventually(
            lambda: all("assigned partitions=" in log.read_text() for log in logs), "both joined"
        )
        produce(kafka, [seed(url) for url in urls])
        wait_for_commit(kafka)
    assert pages(kafka) == sorted(urls)
    assert not any("lost" in log.read_text() for log in logs)


async def test_a_value_over_the_limit_comes_back_whole(kafka: Settings, tmp_path: Path) -> None:
    """C9: 3 MB of links travel in parts and arrive as one record."""
    links = [records.Link(url=f"http://b/{number:0100d}") for number in range(25_000)]
    record = records.UrlDiscovered(
        host="b", source="http://a/", rules=records.Rules(), depth=1, links=links, found_at=0
    )
    async with Producer(kafka.kafka) as producer:
        await producer.send(topics.URL_DISCOVERED, record, key="b")
    with echo(kafka, tmp_path / "log"):
        wait_for_commit(kafka)
    (page,) = read_all(kafka, topics.PAGE_PARSED)
    assert isinstance(page, records.PageParsed)
    assert page.links == len(links)


def test_sigkill_loses_nothing(kafka: Settings, tmp_path: Path) -> None:
    """E3: a consumer is killed in the middle; another finishes what was in its hands."""
    urls = [f"http://a/{number}" for number in range(300)] + ["slow:1:x"] * 20
    limits = {"RECRAWL_KAFKA__OPTIONS": '{"session.timeout.ms": "6000"}'}
    produce(kafka, [seed(url) for url in urls])
    with echo(kafka, tmp_path / "a", **limits) as process:
        eventually(lambda: len(pages(kafka)) > 50, "some pages")
        process.kill()
    with echo(kafka, tmp_path / "b", **limits):
        wait_for_commit(kafka)
    assert set(pages(kafka)) == set(urls)


def test_sigterm_finishes_what_is_in_hand_and_commits_it(kafka: Settings, tmp_path: Path) -> None:
    """C2: nothing begun is begun again after a stop in order."""
    urls = [f"slow:2:{number}" for number in range(10)]
    with echo(kafka, tmp_path / "log") as process:
        eventually(lambda: "assigned" in (tmp_path / "log").read_text(), "assigned")
        produce(kafka, [seed(url) for url in urls])
        eventually(
            lambda: metric(tmp_path / "log", "recrawl_in_flight") == len(urls), "all in hand"
        )
        assert stop(process) == 0
    assert pages(kafka) == sorted(urls)
    assert lag(kafka) == 0


def test_a_broker_that_goes_and_comes_back_costs_nothing(
    kafka: Settings, engines: Endpoints, tmp_path: Path
) -> None:
    """KAF-05: 8 s without a broker in mid-work, and a SIGTERM in a second outage."""
    broker = engines.kafka_node
    assert broker is not None, "this test stops Kafka: run it without RECRAWL_KAFKA__BOOTSTRAP"
    urls = [f"slow:0.2:{number}" for number in range(700)]
    produce(kafka, [seed(url) for url in urls])
    log = tmp_path / "log"
    with echo(kafka, log, RECRAWL_RUNTIME__DRAIN="2") as process:
        eventually(lambda: metric(log, "recrawl_records_in_total") > 200, "at work")
        broker.stop()
        eventually(lambda: "no broker" in probe(log, "readyz")[1], "not ready without a broker")
        assert probe(log, "livez") == (200, "ok\n")
        eventually(after(8), "the outage is over")
        done = metric(log, "recrawl_records_in_total")
        broker.start()
        eventually(lambda: probe(log, "readyz") == (200, "ok\n"), "ready again")
        eventually(lambda: metric(log, "recrawl_records_in_total") > done + 100, "works again")
        broker.stop()
        assert stop(process) == 0
    broker.start()
    assert lag(kafka) > 0
    with echo(kafka, log):
        wait_for_commit(kafka)
    assert set(pages(kafka)) == set(urls)


def after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def test_health_tells_the_truth_before_and_after_the_topics_exist(
    settings: Settings, tmp_path: Path
) -> None:
    """F6: not ready without topics and says why; ready when assigned; alive all along."""
    with echo(settings, tmp_path / "log"):
        eventually(lambda: "missing" in probe(tmp_path / "log", "readyz")[1], "says why")
        assert probe(tmp_path / "log", "readyz")[0] == 503
        assert probe(tmp_path / "log", "livez") == (200, "ok\n")
        create_topics(settings)
        eventually(lambda: probe(tmp_path / "log", "readyz") == (200, "ok\n"), "ready")


def metric(log: Path, name: str) -> int:
    """Sum over labels."""
    _, text = probe(log, "metrics")
    lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
    return sum(int(float(line.split()[-1])) for line in lines)


def probe(log: Path, path: str) -> tuple[int, str]:
    """Ask the echo service whose log this is; (0, "") while it does not listen."""
    found = [line for line in log.read_text().splitlines() if "listening url=" in line]
    if not found:
        return 0, ""
    url = found[-1].partition("url=")[2]
    try:
        with urllib.request.urlopen(f"{url}/{path}", timeout=10) as answer:  # noqa: S310 - our own
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_work_on_a_partition_ends_before_another_process_gets_it(
    kafka: Settings, tmp_path: Path
) -> None:
    """D6: one host is never asked by two fetchers at once, rebalances included."""
    for partition in range(2):
        produce(kafka, [seed(f"slow:20:{partition}")], partition)
    with echo(kafka, tmp_path / "a"):
        eventually(lambda: "assigned" in (tmp_path / "a").read_text(), "the first has both")
        time.sleep(1)
        with echo(kafka, tmp_path / "b"):
            given_up = "given up, done again elsewhere"
            eventually(lambda: given_up in (tmp_path / "a").read_text(), "the first gives up one")
            eventually(lambda: len(pages(kafka)) == 2, "both are done")
    assert pages(kafka) == ["slow:20:0", "slow:20:1"]
    log = (tmp_path / "a").read_text()
    assert log.index(given_up) < log.index("revoked")
