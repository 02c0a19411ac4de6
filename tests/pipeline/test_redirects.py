"""HTTP-09: redirects that lead to another writing, to themselves or round in circles."""

from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from services.local.demo import DemoWeb
from services.local.live import Progress

LOOPS = {"/q": "/q", "/a": "/b", "/b": "/a", "/x?b=2&a=1": "/x?a=1&b=2"}


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    return DemoWeb(hosts=1, pages=1, trap=False)


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    return {"fetcher": {"allow_private": ["127.0.0.0/8"]}}


@pytest.fixture
def site() -> Iterator[tuple[str, Counter[str]]]:
    """A server's base URL, and how often it was asked for each path."""
    asked: Counter[str] = Counter()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[self.path] += 1
            target = LOOPS.get(self.path)
            known = target is not None or self.path.startswith(("/x", "/far"))
            self.send_response(302 if target or self.path == "/far" else 200 if known else 404)
            if self.path == "/far":
                port = self.headers["host"].rpartition(":")[2]
                here = "127.0.0.1" if self.headers["host"].startswith("127.0.0.2") else "127.0.0.2"
                target = f"http://{here}:{port}/far"
            if target:
                self.send_header("location", target)
            body = b"" if target else b"<p>The page behind all this has some words on it.</p>"
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_url_of_a_loop_is_asked_for_once_and_another_writing_is_one_page(
    site: tuple[str, Counter[str]],
    crawl: Callable[..., Progress],
    select: Callable[..., list[Any]],
) -> None:
    """HTTP-09 B, C, D, and D across hosts: seen in the server's own log."""
    base, asked = site
    crawl(*(base + path for path in ("/q", "/a", "/x?b=2&a=1", "/far")), job="loops", scope="any")
    pages = {path: asked[path] for path in asked if path != "/robots.txt"}
    assert pages == {"/q": 1, "/a": 1, "/b": 1, "/x?b=2&a=1": 1, "/x?a=1&b=2": 1, "/far": 2}
    rows = [row for row in select("SELECT url, job, reason, outcome FROM pages") if row.job]
    found = {row.url.removeprefix(base): row.reason for row in rows if row.job == "loops"}
    assert found["/q"] == "redirect-loop"
    assert found["/a"] == found["/b"] == "redirect"
    assert [row.url for row in rows if row.outcome == "ok"] == [f"{base}/x?a=1&b=2"]
