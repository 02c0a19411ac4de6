"""Pages in a real Cassandra: written, overwritten, read back, expired, kept apart."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zstandard

from services.common.cassandra import Cassandra, connect
from services.common.cql import Statement
from services.common.errors import DeadLetter, Stop
from services.common.migrations import files, migrate
from services.common.records import FetchCompleted, FetchRequested, Link, Outcome, Rules
from services.common.settings import Settings
from services.common.urls import fingerprint, parse
from services.parser import bodies, store, tables
from services.parser.core import Limits, Reading, decide, task_of
from services.parser.document import read

DAY = 86_400
URL = "http://h.test/page?a=1"
START = 1_700_000_000.0


@pytest.fixture
def migrated(settings: Settings) -> Settings:
    """The test's settings, with the tables made."""
    migrate(settings.cassandra)
    return settings


@pytest.fixture
async def cassandra(migrated: Settings) -> AsyncIterator[Cassandra]:
    async with await connect(migrated.cassandra) as session:
        yield session


def html(words: str, *links: str) -> bytes:
    anchors = "".join(f"<a href='{link}'>to {link}</a>" for link in links)
    return f"<html lang=en><title>{words}</title><body><p>{words}</p>{anchors}".encode()


def fetch(body: bytes = b"", at: float = START, **fields: Any) -> FetchCompleted:  # noqa: ANN401 - any field
    parsed = parse(URL)
    known = {name: fields.pop(name) for name in ("body_digest", "text_digest") if name in fields}
    request = FetchRequested(
        url=parsed.href,
        fingerprint=fingerprint(parsed.identity),
        host=parsed.host,
        rules=Rules(job="j"),
        depth=2,
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
        "headers": [("content-type", "text/html; charset=utf-8"), ("x", "1"), ("x", "2")],
        "started_at": at + 1,
        "elapsed": 0.5,
        "body": zstandard.ZstdCompressor().compress(body) if body else b"",
        "size": len(body),
    }
    return FetchCompleted(**(values | fields))


async def crawl(cassandra: Cassandra, settings: Settings, done: FetchCompleted) -> FetchRequested:
    """What the parser does with a fetch; the request as the scheduler would send it next."""
    limits = Limits.of(settings)
    reading = Reading()
    if done.outcome is Outcome.OK:
        data = bodies.unpack(done.body, done.size)
        digest = bodies.digest(data)
        if digest == done.request.body_digest:
            reading = Reading(body_digest=digest)
        else:
            reading = Reading(
                body_digest=digest,
                chunks=bodies.chunks(data, done.body),
                document=read(task_of(done, limits)),
            )
    effects = decide(done, reading, limits)
    await store.apply(cassandra, effects.rows)
    await store.apply(cassandra, [effects.page])
    report = effects.reported
    return fetch(body_digest=report.body_digest, text_digest=report.text_digest).request


async def count(cassandra: Cassandra, table: str) -> int:
    rows = await cassandra.execute(f"SELECT count(*) AS n FROM {table}")  # noqa: S608 - a test's own names
    return int(rows[0].n)


def test_migrations_are_applied_once_and_two_runners_do_not_meet(settings: Settings) -> None:
    names = [name for name, _ in files()]
    with ThreadPoolExecutor(2) as runners:
        applied = list(runners.map(migrate, [settings.cassandra] * 2))
    assert sorted(applied) == [[], names]
    assert migrate(settings.cassandra) == []


async def test_a_page_comes_back_as_it_was(cassandra: Cassandra, migrated: Settings) -> None:
    """E6, F3: one partition read finds the page, its text, links and body follow."""
    data = html("The river rose", "/a", "http://other.test/b")
    await crawl(cassandra, migrated, fetch(data))
    page = await store.latest_page(cassandra, URL)
    assert page is not None
    assert (page.url, page.title, page.text, page.text_source) == (
        URL,
        "The river rose",
        page.text,
        "main",
    )
    assert "The river rose" in page.text
    assert page.links == [
        Link(url="http://h.test/a", anchor="to /a"),
        Link(url="http://other.test/b", anchor="to http://other.test/b"),
    ]
    assert page.headers == {"content-type": "text/html; charset=utf-8", "x": "1, 2"}
    assert (page.status, page.depth, page.job, page.size) == (200, 2, "j", len(data))
    assert page.fetched_at.timestamp() == page.checked_at.timestamp() == START
    assert await store.body(cassandra, page) == data


async def test_a_url_is_found_however_it_is_written(
    cassandra: Cassandra, migrated: Settings
) -> None:
    """D4."""
    await crawl(cassandra, migrated, fetch(html("words")))
    assert await store.latest_page(cassandra, "HTTP://H.test:80/x/../page?a=1#part") is not None
    assert await store.latest_page(cassandra, "http://h.test/other") is None


async def test_a_repeated_delivery_overwrites(cassandra: Cassandra, migrated: Settings) -> None:
    """Delivery: at least once, the same rows."""
    for _ in range(3):
        await crawl(cassandra, migrated, fetch(html("words", "/a")))
    assert [await count(cassandra, table) for table in ("pages", "texts", "outlinks")] == [1, 1, 1]


async def test_the_newest_version_is_read_and_unchanged_fetches_move_only_its_check(
    cassandra: Cassandra, migrated: Settings
) -> None:
    """E6, D7."""
    await crawl(cassandra, migrated, fetch(html("first", "/a")))
    known = await crawl(cassandra, migrated, fetch(html("second", "/b"), START + DAY))
    digests: dict[str, Any] = {"body_digest": known.body_digest, "text_digest": known.text_digest}
    await crawl(cassandra, migrated, fetch(html("second", "/b"), START + 2 * DAY, **digests))
    unchanged = fetch(at=START + 3 * DAY, outcome=Outcome.UNCHANGED, status=304, **digests)
    await crawl(cassandra, migrated, unchanged)
    failed = fetch(at=START + 4 * DAY, outcome=Outcome.TRANSIENT, reason="timeout", **digests)
    await crawl(cassandra, migrated, failed)
    page = await store.latest_page(cassandra, URL)
    assert page is not None
    assert (page.title, [link.url for link in page.links]) == ("second", ["http://h.test/b"])
    assert page.fetched_at.timestamp() == START + DAY
    assert page.checked_at.timestamp() == START + 3 * DAY
    assert (page.last_outcome, page.last_reason) == ("transient", "timeout")
    assert await count(cassandra, "contents") == 2
    assert await store.latest_links(cassandra, known.host, known.fingerprint) == page.links


async def test_a_page_never_fetched_well_has_no_content_but_its_failures(
    cassandra: Cassandra, migrated: Settings
) -> None:
    """E6: failures are rows with a reason."""
    await crawl(cassandra, migrated, fetch(outcome=Outcome.GONE, reason="not-found", status=404))
    assert await store.latest_page(cassandra, URL) is None
    (row,) = await cassandra.execute("SELECT outcome, reason, status FROM pages")
    assert tuple(row) == ("gone", "not-found", 404)


async def test_old_versions_go_with_the_next_and_the_newest_stays(
    cassandra: Cassandra, migrated: Settings
) -> None:
    """Retention: rows without news expire by themselves, versions when they are superseded."""
    retention = migrated.parser.retention
    known = await crawl(cassandra, migrated, fetch(html("first")))
    digests: dict[str, Any] = {"body_digest": known.body_digest, "text_digest": known.text_digest}
    later = START + retention + DAY
    await crawl(cassandra, migrated, fetch(at=later, outcome=Outcome.UNCHANGED, **digests))
    assert (await store.latest_page(cassandra, URL)) is not None
    lives = await cassandra.execute("SELECT fetched_at, ttl(url) AS ttl FROM pages")
    assert [row.ttl is None for row in lives] == [False, True]
    await crawl(cassandra, migrated, fetch(html("second"), later + DAY, **digests))
    assert await count(cassandra, "pages") == 2
    assert await count(cassandra, "outlinks") == 1
    page = await store.latest_page(cassandra, URL)
    assert page is not None
    assert page.title == "second"


async def test_a_body_of_many_chunks_comes_back(cassandra: Cassandra, migrated: Settings) -> None:
    data = html("".join(f"{n} " for n in range(600_000)))
    await crawl(cassandra, migrated, fetch(data))
    page = await store.latest_page(cassandra, URL)
    assert page is not None
    assert await count(cassandra, "contents") == len(data) // bodies.CHUNK + 1 > 2
    assert await store.body(cassandra, page) == data


async def test_many_rows_of_one_page_are_read_in_steps(
    cassandra: Cassandra, migrated: Settings
) -> None:
    known = await crawl(cassandra, migrated, fetch(html("first")))
    digests: dict[str, Any] = {"body_digest": known.body_digest, "text_digest": known.text_digest}
    for n in range(1, 121):
        await crawl(cassandra, migrated, fetch(at=START + n, outcome=Outcome.UNCHANGED, **digests))
    page = await store.latest_page(cassandra, URL)
    assert page is not None
    assert (page.title, page.checked_at.timestamp()) == ("first", START + 120)


async def test_hundreds_of_requests_at_once_are_all_answered(cassandra: Cassandra) -> None:
    put = tables.PUT_TEXT
    await asyncio.gather(*(cassandra.execute(put, (b"%d" % n, f"text {n}")) for n in range(500)))
    rows = await cassandra.execute(Statement("all", "SELECT digest, text FROM texts"))
    assert {row.text for row in rows} == {f"text {n}" for n in range(500)}


async def test_a_cancelled_request_harms_no_other(cassandra: Cassandra) -> None:
    put = tables.PUT_TEXT
    tasks = [asyncio.create_task(cassandra.execute(put, (b"c%d" % n, "x"))) for n in range(200)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await cassandra.execute(put, (b"after", "y"))
    (row,) = await cassandra.execute(tables.GET_TEXT, (b"after",))
    assert row.text == "y"


async def test_what_cassandra_refuses_is_told_apart(cassandra: Cassandra) -> None:
    with pytest.raises(DeadLetter, match="cassandra-refused"):
        await cassandra.execute(tables.GET_TEXT, (b"",))
    with pytest.raises(Stop, match="recrawl migrate"):
        await cassandra.execute("SELECT x FROM nonsense")
    with pytest.raises(Stop, match="statement of ours"):
        await cassandra.execute("SELECT FROM")


async def test_a_missing_keyspace_says_what_to_run(settings: Settings) -> None:
    missing = settings.cassandra.model_copy(update={"keyspace": "not_there"})
    with pytest.raises(Stop, match="recrawl migrate"):
        await connect(missing)
