"""C12: a site whose text and links are made by scripts, from seed to stored pages."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from services.common import quiet, records
from services.common.settings import Settings
from services.local.crawl import crawl as follow
from services.local.engines import Endpoints
from services.local.supervisor import pipeline

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Debian's package `chromium`; CI installs it"
)

ADDRESS = "127.0.1.77"
SHELL = b"<!DOCTYPE html><title>Loading</title><body><script src=/app.js></script>"
APP = b"""
fetch('/api' + location.pathname).then(response => response.json()).then(page => {
  document.title = page.title;
  document.body.innerHTML = page.links.map(to => `<a href="${to}">${to}</a>`).join(' ');
});
"""
PAGES = {
    "/": {"title": "Home", "links": ["/one", "/two"]},
    "/one": {"title": "One", "links": ["/"]},
    "/two": {"title": "Two", "links": ["/one"]},
}


class _App(BaseHTTPRequestHandler):
    """The same shell for each page; what is in it comes by another request."""

    kinds: ClassVar[dict[str, tuple[str, bytes]]] = {
        "/app.js": ("text/javascript", APP),
        "/robots.txt": ("text/plain", b""),
        **dict.fromkeys(PAGES, ("text/html", SHELL)),
        **{
            f"/api{path}": ("application/json", json.dumps(page).encode())
            for path, page in PAGES.items()
        },
    }

    def do_GET(self) -> None:
        kind, body = self.kinds.get(self.path, ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The site's URL."""
    with ThreadingHTTPServer((ADDRESS, 0), _App) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{ADDRESS}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def place(
    engines: Endpoints,
    fresh: Callable[[Endpoints, Path], AbstractContextManager[Settings]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Settings]:
    """Settings with a rule that has the site rendered."""
    directory = tmp_path_factory.mktemp("crawl")
    rules = directory / "rules.toml"
    rules.write_text(f'[[rule]]\nhosts = ["{ADDRESS}"]\nmodule = "browser"\n')
    changes = {"rules_file": rules, "allow_private": [f"{ADDRESS}/32"]}
    with fresh(engines, directory) as own:
        yield own.model_copy(update={"fetcher": own.fetcher.model_copy(update=changes)})


def test_pages_that_scripts_make_are_found_and_stored(
    place: Settings, site: str, select: Callable[..., list[Any]]
) -> None:
    """Without a browser there would be one page, and it would say "Loading"."""
    with pipeline(place, print) as running:
        follow(
            place.kafka,
            [records.Seed(url=f"{site}/")],
            ports=running.ports.values(),
            show=lambda _: None,
            check=running.check,
            pending=quiet.RETRYING,
        )
    rows = select("SELECT url, outcome, title FROM pages")
    assert {row.url: (row.outcome, row.title) for row in rows} == {
        f"{site}{path}": ("ok", page["title"]) for path, page in PAGES.items()
    }
