"""Fetches as the fetcher would send them, with the fields that a test names."""

from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from services.common.records import FetchCompleted, FetchRequested, Outcome, Rules
from services.common.urls import fingerprint, parse


def _requested(url: str = "http://h.test/dir/page", **fields: Any) -> FetchRequested:  # noqa: ANN401 - any field of the record
    parsed = parse(url)
    values: dict[str, Any] = {
        "url": parsed.href,
        "fingerprint": fingerprint(parsed.identity),
        "host": parsed.host,
        "rules": Rules(root=parsed.host),
        "depth": 1,
        "reason": "new",
        "scheduled_at": 1_700_000_000.25,
        "lease_until": 1_700_000_600.0,
        "gap": 1.0,
    }
    return FetchRequested(**(values | fields))


def _completed(
    body: bytes = b"",
    request: FetchRequested | None = None,
    **fields: Any,  # noqa: ANN401 - any field of the record
) -> FetchCompleted:
    values: dict[str, Any] = {
        "request": request or _requested(),
        "outcome": Outcome.OK,
        "reason": "ok",
        "status": 200,
        "headers": [("content-type", "text/html; charset=utf-8")],
        "started_at": 1_700_000_001.5,
        "elapsed": 0.25,
        "body": zstandard.ZstdCompressor().compress(body) if body else b"",
        "size": len(body),
        "fetcher": "f1",
    }
    return FetchCompleted(**(values | fields))


@pytest.fixture
def requested() -> Callable[..., FetchRequested]:
    """Makes a request of a URL, with the fields named."""
    return _requested


@pytest.fixture
def completed() -> Callable[..., FetchCompleted]:
    """Makes a fetch with a body, of a request, with the fields named."""
    return _completed
