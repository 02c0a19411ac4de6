"""The parser on real engines: one fetch in, rows and records out, in the promised order."""

from collections.abc import AsyncIterator
from typing import Any

import confluent_kafka
import pytest
import zstandard

from services.common.codec import decode, encode
from services.common.errors import DeadLetter
from services.common.kafka import Incoming, Producer, create_topics, options
from services.common.migrations import migrate
from services.common.records import (
    CrawlReported,
    FetchCompleted,
    FetchRequested,
    Link,
    Outcome,
    PageParsed,
    Rules,
    UrlDiscovered,
)
from services.common.settings import Settings
from services.common.topics import (
    CRAWL_REPORTED,
    FETCH_COMPLETED,
    PAGE_PARSED,
    URL_DISCOVERED,
    Topic,
)
from services.common.urls import fingerprint, parse
from services.parser import store
from services.parser.service import Parser

PAGE = b"""<html><head><title>Flood</title></head><body><article>
<p>The river rose by two metres in the night and the old bridge was closed to lorries.</p>
</article><a href="/a">A</a><a href="http://other.test/">O</a><a rel=nofollow href="/b">B</a>"""
URL = "http://h.test/p"


@pytest.fixture
async def parser(settings: Settings) -> AsyncIterator[Parser]:
    migrate(settings.cassandra)
    create_topics(settings)
    async with Producer(settings.kafka) as producer:
        service = Parser(settings, producer)
        await service.open()
        yield service
        await service.close()


def fetch(body: bytes, at: float, **fields: Any) -> FetchCompleted:  # noqa: ANN401 - any field
    known = {
        name: fields.pop(name)
        for name in ("body_digest", "text_digest", "follow")
        if name in fields
    }
    parsed = parse(URL)
    request = FetchRequested(
        url=URL,
        fingerprint=fingerprint(parsed.identity),
        host=parsed.host,
        rules=Rules(job="j"),
        depth=0,
        reason="new",
        scheduled_at=at,
        lease_until=at + 600,
        gap=1,
        **known,
    )
    values: dict[str, Any] = {
        "request": request,
        "outcome": Outcome.OK,
        "reason": "ok",
        "status": 200,
        "headers": [("content-type", "text/html"), ("etag", '"1"')],
        "started_at": at,
        "elapsed": 0.1,
        "body": zstandard.ZstdCompressor().compress(body) if body else b"",
        "size": len(body),
    }
    return FetchCompleted(**(values | fields))


def incoming(value: bytes) -> Incoming:
    return Incoming(
        topic=FETCH_COMPLETED, partition=0, offset=0, key=b"h.test", value=value, timestamp=0
    )


async def handle(parser: Parser, done: FetchCompleted) -> None:
    await parser.handle(incoming(encode(FETCH_COMPLETED, done)))


def read_all(settings: Settings, topic: Topic) -> list[Any]:
    """Every record that the topic holds now, by partition."""
    consumer = confluent_kafka.Consumer(
        options.client(settings.kafka, {"group.id": "reader", "enable.auto.commit": False})
    )
    name = options.physical(settings.kafka, topic)
    found = []
    for number in range(len(consumer.list_topics(name).topics[name].partitions)):
        place = confluent_kafka.TopicPartition(name, number, 0)
        _, end = consumer.get_watermark_offsets(place)
        consumer.assign([place])
        for _ in range(end):
            message = consumer.poll(30)
            assert message is not None
            value = message.value()
            assert value is not None
            found.append(decode(topic, value))
    consumer.close()
    return found


async def test_a_new_page_is_stored_its_links_sent_and_it_is_reported(
    parser: Parser, settings: Settings
) -> None:
    """D1, D2, F1, F3."""
    await handle(parser, fetch(PAGE, 1_700_000_000.0))
    page = await store.latest_page(parser._store, URL)  # noqa: SLF001 - the service's own session
    assert page is not None
    assert (page.title, page.text_source) == ("Flood", "main")
    found: list[UrlDiscovered] = read_all(settings, URL_DISCOVERED)
    assert {(record.host, record.depth, tuple(record.links)) for record in found} == {
        ("h.test", 1, (Link(url="http://h.test/a", anchor="A"),)),
        ("other.test", 1, (Link(url="http://other.test/", anchor="O"),)),
    }
    (parsed,) = read_all(settings, PAGE_PARSED)
    assert isinstance(parsed, PageParsed)
    assert (parsed.title, parsed.text) == ("Flood", page.text)
    (report,) = read_all(settings, CRAWL_REPORTED)
    assert isinstance(report, CrawlReported)
    assert (report.outcome, report.changed, report.body_digest, report.etag) == (
        Outcome.OK,
        None,
        page.body_digest,
        '"1"',
    )


async def test_an_unchanged_page_sends_its_stored_links_only_when_asked(
    parser: Parser, settings: Settings
) -> None:
    """D7, E10: a 304 has no body, so the links come from the store."""
    await handle(parser, fetch(PAGE, 1_700_000_000.0))
    (first,) = read_all(settings, CRAWL_REPORTED)
    digests = {"body_digest": first.body_digest, "text_digest": first.text_digest}
    nothing_new = {"outcome": Outcome.UNCHANGED, "status": 304, **digests}
    await handle(parser, fetch(b"", 1_700_100_000.0, **nothing_new))
    assert len(read_all(settings, URL_DISCOVERED)) == 2
    await handle(parser, fetch(b"", 1_700_200_000.0, follow=True, **nothing_new))
    found: list[UrlDiscovered] = read_all(settings, URL_DISCOVERED)
    assert len(found) == 4
    assert [record.changed for record in read_all(settings, CRAWL_REPORTED)].count(False) == 2
    assert len(read_all(settings, PAGE_PARSED)) == 1


@pytest.mark.parametrize("reason", ["held-back", "handed-over"])
async def test_what_was_never_sent_is_reported_and_not_stored(
    parser: Parser, settings: Settings, reason: str
) -> None:
    """D6: the page's newest row is that of its newest fetch."""
    await handle(parser, fetch(PAGE, 1_700_000_000.0))
    unsent = {"outcome": Outcome.TRANSIENT, "reason": reason, "status": None}
    await handle(parser, fetch(b"", 1_700_100_000.0, **unsent))
    page = await store.latest_page(parser._store, URL)  # noqa: SLF001 - the service's own session
    assert page is not None
    assert page.last_outcome == "ok"
    assert [report.reason for report in read_all(settings, CRAWL_REPORTED)][-1] == reason


async def test_a_body_that_is_not_what_its_record_says_is_a_dead_letter(parser: Parser) -> None:
    with pytest.raises(DeadLetter, match="malformed"):
        await handle(parser, fetch(PAGE, 0.0, size=3))
    with pytest.raises(DeadLetter):
        await parser.handle(incoming(b"\xc1"))
    assert parser.problems() == []
