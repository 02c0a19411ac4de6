"""Seeds as anyone may produce them: good ones are crawled, bad ones get an answer (F4)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import confluent_kafka
import msgspec
import pytest

from services.common import quiet
from services.common.kafka import options
from services.common.records import DeadLetter, Seed
from services.common.settings import Settings
from services.common.topics import DEAD_LETTERS, SEEDS, Topic
from services.local.crawl import crawl as follow
from services.local.demo import DemoWeb, Running
from services.local.supervisor import Pipeline

HUGE = 950_000
PARTITION = 1


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    """A host for each kind of seed."""
    return DemoWeb(hosts=5, pages=15, odd=False, trap=False)


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    """What a seed leads to by links alone: pages name their feeds."""
    return {"parser": {"sitemaps": False, "feeds": False}}


@dataclass(frozen=True)
class Answered:
    """What was produced to one partition of `seeds`, in order, and what came of it."""

    values: list[bytes | None]
    letters: dict[int, list[DeadLetter]]
    """By offset."""
    rows: dict[str, list[Any]]

    def letter(self, value: bytes) -> DeadLetter:
        """The one dead letter of a value that was produced once."""
        (found,) = self.letters[self.values.index(value)]
        return found


def json(**fields: object) -> bytes:
    return msgspec.json.encode(fields)


BAD = {
    "broken JSON": (b'{"url": "http://127.0.1.1/', "malformed"),
    "a list": (b'["http://127.0.1.1/"]', "schema"),
    "a wrong type": (json(url="http://127.0.1.1/", max_depth="two"), "schema"),
    "no URL": (json(job="x"), "schema"),
    "an unknown version": (json(v=99, url="http://127.0.1.1/"), "schema"),
    "binary": (b"\xff\xfe\x00\x9d\x00", "encoding"),
    "empty": (b"", "empty"),
    "white space": (b" \n", "empty"),
    "two lines": (b"http://127.0.1.1/a\nhttp://127.0.1.1/b", "several"),
    "another scheme": (b"mailto:someone@host.test", "url-scheme"),
    "huge line": (b"http://127.0.1.1/" + b"a" * HUGE, "too-long"),
    "huge JSON": (json(url="http://127.0.1.1/" + "a" * HUGE), "too-long"),
    "huge binary": (b"\x00" * HUGE, "too-long"),
}


@pytest.fixture(scope="module")
def good(web: Running) -> list[bytes]:
    """Bare, bare and again, JSON, JSON with a depth, and a host without a scheme."""
    return [
        web.web.home(0).encode(),
        f"  {web.web.home(0)}\n".encode(),
        json(url=web.web.home(1), job="default", scope="host"),
        json(url=web.web.home(2), max_depth=0),
        web.web.authority(3).encode(),
    ]


@pytest.fixture(scope="module")
def answered(  # noqa: PLR0917 - fixtures
    place: Settings,
    services: Pipeline,
    good: list[bytes],
    web: Running,
    fetches: Callable[[str], dict[str, list[Any]]],
    read_topic: Callable[[Settings, Topic], list[DeadLetter]],
) -> Answered:
    """All of it produced, good between bad, and followed to the end."""
    bad = [value for value, _ in BAD.values()]
    values: list[bytes | None] = [*bad[:5], *good[:3], None, *bad[5:], *good[3:]]
    producer = confluent_kafka.Producer(
        options.client(place.kafka, {"message.max.bytes": 2 * HUGE})
    )
    topic = options.physical(place.kafka, SEEDS)
    for number, value in enumerate(values):
        producer.produce(topic, value, key=f"key {number}", partition=PARTITION)
    assert producer.flush(60) == 0
    follow(
        place.kafka,
        [Seed(url=web.web.home(4), max_depth=0)],
        ports=services.ports.values(),
        show=lambda _: None,
        check=services.check,
        pending=quiet.RETRYING,
    )
    letters: dict[int, list[DeadLetter]] = {}
    for letter in read_topic(place, DEAD_LETTERS):
        letters.setdefault(letter.offset, []).append(letter)
    return Answered(values, letters, fetches("default"))


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_seed_gets_one_answer_with_the_reason_and_where_it_was(
    answered: Answered, kind: str
) -> None:
    """F4."""
    value, reason = BAD[kind]
    offset = answered.values.index(value)
    letter = answered.letter(value)
    assert (letter.reason, letter.topic, letter.partition, letter.offset, letter.service) == (
        reason,
        "seeds",
        PARTITION,
        offset,
        "frontier",
    )
    assert (letter.key, letter.value_size) == (f"key {offset}".encode(), len(value))
    assert letter.value is not None
    assert value.startswith(letter.value)
    assert len(letter.value) == len(value) or len(value) >= HUGE


def test_good_seeds_and_records_without_a_value_get_no_answer(
    answered: Answered, good: list[bytes]
) -> None:
    """F4: a null value is no seed; it is counted and passed over."""
    wrong = {answered.values.index(value) for value, _ in BAD.values()}
    assert answered.letters.keys() == wrong
    assert wrong.isdisjoint(answered.values.index(value) for value in good)


def test_good_seeds_are_crawled_once_whatever_is_around_them(
    answered: Answered, web: Running
) -> None:
    """F4, D4: with their links; a seed given twice is one."""
    site = web.web
    wanted = {site.page_url(host, page) for host in (0, 1) for page in range(site.sizes[host])} | {
        site.home(2),
        site.home(4),
    }
    stored = {url for url, rows in answered.rows.items() if rows[-1].outcome == "ok"}
    feeds = {f"{site.home(0)}news.rss", f"{site.home(1)}news.atom"}
    assert stored == wanted | feeds | {f"{site.home(0)}all-hosts/"}
    assert {len(answered.rows[url]) for url in wanted} == {1}


def test_a_depth_limit_in_json_is_kept(answered: Answered, web: Running) -> None:
    """F4: the seed asked for its page alone."""
    assert [url for url in answered.rows if url.startswith(web.web.home(2))] == [web.web.home(2)]


def test_a_host_without_a_scheme_means_https(answered: Answered, web: Running) -> None:
    """F4: the demo web speaks no TLS, so it comes to a failure that says so."""
    rows = answered.rows[f"https://{web.web.authority(3)}/"]
    assert {(row.outcome, row.reason) for row in rows} == {("transient", "tls")}
