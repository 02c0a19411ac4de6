"""What `recrawl explain` is told by a running scheduler."""

from collections.abc import Callable
from typing import Any

import pytest

from services.common.kafka.commands import Commander
from services.common.settings import Settings
from services.common.urls import fingerprint, parse
from services.local.demo import DemoWeb, Running


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    return DemoWeb(hosts=5, pages=12)


def test_each_hosts_partition_answers_for_its_urls(
    place: Settings,
    web: Running,
    crawl: Callable[..., Any],
    fetches: Callable[[str], dict[str, list[Any]]],
) -> None:
    """G3, A16: the key must lead to the partition that the host's URLs are in."""
    crawl(*web.seeds, job="explained", scope="any")
    urls = {url.host: url for url in map(parse, fetches("explained"))}
    assert len(urls) >= 5
    with Commander(place.kafka) as commander:
        for url in urls.values():
            answer = commander.explain(url.host, fingerprint(url.identity))
            assert answer.detail["fetched as"] == url.href
            assert answer.detail["last reason"] in ("new", "retry")
            assert answer.detail["job"] == "explained"
        unknown = commander.explain("h.test", fingerprint("http://h.test/"))
        assert unknown.detail["state"] == "unknown"
