"""C3: a directory of files is crawled through an outsider's package, from seed to stored page."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from services.common import quiet, records
from services.common.settings import Settings
from services.local.crawl import crawl as follow
from services.local.engines import Endpoints
from services.local.supervisor import pipeline

PAGES = {
    "index.html": '<title>Index</title><a href="a/deep.html">x</a><a href="http://h.test/">y</a>',
    "a/deep.html": '<title>Deep</title><a href="../index.html">x</a>',
    "a/only listed.html": "<title>Only in its directory</title>",
}


@pytest.fixture(scope="module")
def place(
    engines: Endpoints,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    outsider: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Settings]:
    """Settings that admit `file:`, with the package installed and a root named."""
    root = tmp_path_factory.mktemp("manuals")
    for name, text in PAGES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    with (
        pytest.MonkeyPatch.context() as patch,
        fresh(engines, tmp_path_factory.mktemp("crawl")) as own,
    ):
        patch.setenv("FILE_ROOTS", f'{{"manuals": "{root}"}}')
        patch.setenv("PYTHONPATH", str(outsider), prepend=os.pathsep)
        frontier = own.frontier.model_copy(update={"schemes": ["http", "https", "file"]})
        yield own.model_copy(update={"frontier": frontier})


def test_files_are_found_fetched_and_stored(
    place: Settings, select: Callable[..., list[Any]]
) -> None:
    """Links of directories and of pages alike; what leads off the root's host is out of scope."""
    with pipeline(place, print) as running:
        follow(
            place.kafka,
            [records.Seed(url="file://manuals/")],
            ports=running.ports.values(),
            show=lambda _: None,
            check=running.check,
            pending=quiet.RETRYING,
        )
    rows = select("SELECT url, outcome, title FROM pages")
    assert {row.url: (row.outcome, row.title) for row in rows if row.title in TITLES} == {
        "file://manuals/index.html": ("ok", "Index"),
        "file://manuals/a/deep.html": ("ok", "Deep"),
        "file://manuals/a/only%20listed.html": ("ok", "Only in its directory"),
    }
    assert {row.url for row in rows} == {
        "file://manuals/",
        "file://manuals/a/",
        "file://manuals/index.html",
        "file://manuals/a/deep.html",
        "file://manuals/a/only%20listed.html",
    }


TITLES = {"Index", "Deep", "Only in its directory"}
