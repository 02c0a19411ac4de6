"""A fetcher of the test's own, for tests that bring their own servers; no Kafka."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from services.common.records import FetchRequested, Rules
from services.common.settings import Browser, Fetcher, Scheduler, Settings
from services.fetcher.download import Download
from services.fetcher.host_rules import parse
from services.fetcher.protocols import FetchFailed
from services.fetcher.protocols.http import Http
from services.fetcher.protocols.registry import load_modules
from services.fetcher.resolver import Resolver

ADDRESSES = {"a.test": ("127.0.1.1",), "b.test": ("127.0.1.1",)}


@asynccontextmanager
async def open_fetcher(
    tls: ssl.SSLContext | None = None,
    rules: str = "",
    browser: Browser | None = None,
    **options: Any,  # noqa: ANN401 - any setting
) -> AsyncIterator[Download]:
    """Short of patience, with the given rules file; names ending in .test lead to 127.0.1.1."""
    known: dict[str, Any] = {
        "allow_private": ["127.0.1.0/24"],
        "connect_timeout": 2,
        "read_timeout": 2,
        "total_timeout": 5,
    }
    own = Fetcher(**(known | options))
    look_up = Resolver(lambda name: ADDRESSES.get(name) or FetchFailed("dns-not-found", name))
    http = Http(own, tls, look_up)
    settings = Settings(
        fetcher=own, scheduler=Scheduler(max_crawl_delay=0.2), browser=browser or Browser()
    )
    parsed = parse(rules)
    download = Download(
        settings,
        {"http": http, "https": http},
        version="1",
        fetcher="f",
        rules=parsed,
        modules=load_modules(parsed.modules),
    )
    try:
        yield download
    finally:
        await download.close()
        await http.close()
        await asyncio.sleep(0)


@pytest.fixture
def fetcher() -> Callable[..., AbstractAsyncContextManager[Download]]:
    """Opens a fetcher with the given settings."""
    return open_fetcher


def made(url: str, **fields: Any) -> FetchRequested:  # noqa: ANN401 - any field
    """A request for `url` as the scheduler would make it."""
    known: dict[str, Any] = {
        "url": url,
        "fingerprint": b"\0" * 16,
        "host": url.split("/")[2],
        "rules": Rules(),
        "depth": 0,
        "reason": "new",
        "scheduled_at": time.time(),
        "lease_until": time.time() + 60,
        "gap": 0,
    }
    return FetchRequested(**(known | fields))


@pytest.fixture
def request_for() -> Callable[..., FetchRequested]:
    """Makes requests."""
    return made
