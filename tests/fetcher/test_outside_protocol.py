"""C3: docs/examples/recrawl-file, installed and found as any outsider's package would be."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from services.common.errors import Stop
from services.common.records import FetchCompleted, FetchRequested
from services.common.settings import Fetcher, Settings
from services.fetcher.download import Download
from services.fetcher.protocols.registry import load

PAGE = b"<title>A page</title>"
Ask = Callable[..., FetchRequested]


@pytest.fixture
def root(outsider: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root called `manuals`, with a secret beside it."""
    monkeypatch.syspath_prepend(outsider)
    (tmp_path / "secret").write_bytes(b"secret")
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "b c.html").write_bytes(PAGE)
    (root / "link.html").symlink_to(tmp_path / "secret")
    (root / "circle").symlink_to(root / "circle")
    os.mkfifo(root / "pipe")
    monkeypatch.setenv("FILE_ROOTS", f'{{"manuals": "{root}"}}')
    return root


@asynccontextmanager
async def fetcher(own: Fetcher) -> AsyncIterator[Download]:
    protocols = load(own)
    download = Download(Settings(fetcher=own), protocols, version="1", fetcher="f")
    try:
        yield download
    finally:
        await download.close()
        for protocol in set(protocols.values()):
            await protocol.close()


async def fetched(request: FetchRequested, own: Fetcher | None = None) -> FetchCompleted:
    async with fetcher(own or Fetcher()) as download:
        completed = await download.run(request)
    assert completed is not None
    return completed


@pytest.mark.usefixtures("root")
async def test_a_file_is_fetched_like_a_page(request_for: Ask) -> None:
    completed = await fetched(request_for("file://manuals/a/b%20c.html?x"))
    assert (completed.outcome.value, completed.reason) == ("ok", "ok")
    assert zstandard.decompress(completed.body) == PAGE
    assert ("content-type", "text/html") in completed.headers


@pytest.mark.usefixtures("root")
async def test_a_file_that_did_not_change_is_unchanged(request_for: Ask) -> None:
    """C10."""
    url = "file://manuals/a/b%20c.html"
    modified = dict((await fetched(request_for(url))).headers)["last-modified"]
    again = await fetched(request_for(url, last_modified=modified))
    assert (again.outcome.value, again.reason) == ("unchanged", "not-modified")


async def test_a_long_file_is_cut(root: Path, request_for: Ask) -> None:
    (root / "long.txt").write_bytes(b"x" * 5000)
    completed = await fetched(request_for("file://manuals/long.txt"), Fetcher(max_body=1024))
    assert (completed.reason, completed.size, completed.truncated) == ("size-limit", 1024, True)


async def test_a_directory_is_a_page_of_links(root: Path, request_for: Ask) -> None:
    (root / "a" / "x:<y>&").mkdir()
    body = zstandard.decompress((await fetched(request_for("file://manuals/a/"))).body).decode()
    assert '<a href="./b%20c.html">b c.html</a>' in body
    assert '<a href="./x%3A%3Cy%3E%26/">x:&lt;y&gt;&amp;/</a>' in body


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    "path",
    [
        "manuals/../secret",
        "manuals/%2e%2e/secret",
        "manuals/..%2fsecret",
        "manuals/a/%2e%2e%2f%2e%2e%2fsecret",
        "manuals/link.html",
        "manuals/circle",
        "manuals/pipe",
        "manuals/a",
        "manuals/a/b%20c.html/",
        "manuals/%2e%2e%2f/",
        "manuals/circle/",
        "manuals/none",
        "manuals/a%00b",
        "manuals//etc/passwd",
        "manuals/" + "x" * 1000,
        "other/a/b%20c.html",
    ],
)
async def test_nothing_outside_the_roots_is_read(request_for: Ask, path: str) -> None:
    completed = await fetched(request_for(f"file://{path}"))
    assert (completed.outcome.value, completed.reason) == ("gone", "not-found")


@pytest.mark.usefixtures("root")
async def test_a_file_url_without_a_root_is_no_url(request_for: Ask) -> None:
    """NET-05: file:///etc/passwd stays what it was."""
    assert (await fetched(request_for("file:///etc/passwd"))).reason == "bad-url"


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("value", ["[]", "{", '{"a": "/nowhere/at/all"}', '{"a": 1}'])
async def test_roots_that_cannot_be_used_stop_the_fetcher(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("FILE_ROOTS", value)
    with pytest.raises(Stop, match="FILE_ROOTS"):
        load(Fetcher())
