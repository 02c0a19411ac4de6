"""The service around a download; its way through Kafka is tested in tests/pipeline."""

import time
from pathlib import Path

import pytest

from services.common import codec
from services.common.errors import DeadLetter, Stop
from services.common.kafka import Incoming, Producer
from services.common.records import FetchRequested, Rules
from services.common.settings import Fetcher as Own
from services.common.settings import Kafka, Settings
from services.common.topics import FETCH_REQUESTED
from services.fetcher.download import Download
from services.fetcher.service import Fetcher


def message(value: bytes) -> Incoming:
    return Incoming(
        topic=FETCH_REQUESTED, partition=0, offset=0, key=None, value=value, timestamp=0
    )


def test_far_more_requests_wait_than_there_are_slots() -> None:
    """D6: what comes too early waits without blocking others."""
    assert Fetcher.concurrency > 100 * Own().slots


async def test_it_is_ready_only_when_open_and_leaves_what_it_cannot_use() -> None:
    """A16: what is expired is dropped in silence, what is no request is a dead letter."""
    async with Producer(Kafka(bootstrap="127.0.0.1:1")) as producer:
        service = Fetcher(Settings(), producer)
        assert service.problems() == ["not open"]
        await service.open()
        try:
            assert service.problems() == []
            late = FetchRequested(
                url="http://127.0.0.1/",
                fingerprint=b"\0" * 16,
                host="127.0.0.1",
                rules=Rules(),
                depth=0,
                reason="new",
                scheduled_at=0,
                lease_until=time.time() - 60,
                gap=0,
            )
            await service.handle(message(codec.encode(FETCH_REQUESTED, late)))
            with pytest.raises(DeadLetter, match="malformed"):
                await service.handle(message(b"\xff"))
        finally:
            await service.close()


async def test_what_another_fetcher_let_go_is_given_back_unless_its_lease_is_over() -> None:
    """D6: the other one may know of a Retry-After; the scheduler does."""
    asked = FetchRequested(
        url="http://127.0.0.1/",
        fingerprint=b"\0" * 16,
        host="127.0.0.1",
        rules=Rules(),
        depth=0,
        reason="new",
        scheduled_at=0,
        lease_until=1000,
        gap=0,
    )
    now = 900.0
    download = Download(Settings(), {}, version="0", fetcher="m/1", clock=lambda: now)
    given = download.give_back(asked)
    assert given is not None
    assert (given.outcome, given.reason, given.retry_after) == ("transient", "handed-over", None)
    now = 1100.0
    assert download.give_back(asked) is None


@pytest.mark.parametrize("text", [None, "[[rule]]\nhosts = 1"])
async def test_a_rules_file_that_cannot_be_used_stops_the_service(
    tmp_path: Path, text: str | None
) -> None:
    """C11: and says which setting and file it is."""
    file = tmp_path / "rules.toml"
    if text is not None:
        file.write_text(text)
    settings = Settings(fetcher=Own(rules_file=file))
    async with Producer(Kafka(bootstrap="127.0.0.1:1")) as producer:
        service = Fetcher(settings, producer)
        with pytest.raises(Stop, match=r"RULES_FILE: .*rules\.toml"):
            await service.open()
        await service.close()
