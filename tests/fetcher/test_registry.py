"""C3: protocols are found by URL scheme."""

from services.common.settings import Fetcher
from services.fetcher.protocols.http import Http
from services.fetcher.protocols.registry import load


async def test_http_and_https_share_one_object() -> None:
    protocols = load(Fetcher())
    assert isinstance(protocols["http"], Http)
    assert protocols["http"] is protocols["https"]
    await protocols["http"].close()
