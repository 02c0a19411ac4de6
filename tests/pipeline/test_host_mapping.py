"""A site that moved to another host as a whole, over the four services (E9)."""

import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from services.common.records import HostUpdated
from services.common.settings import Settings
from services.common.topics import HOST_UPDATED, Topic
from services.local.environment import environment
from services.local.supervisor import Pipeline

PATIENCE = 90.0
JOB: dict[str, Any] = {"job": "moved", "scope": "any", "max_depth": 1}


@dataclass
class Sites:
    """`old` redirects every page to `new`; `hub` has pages of links to `old`."""

    roots: dict[str, str] = field(default_factory=dict)
    asked: dict[str, list[str]] = field(default_factory=dict)
    networks: list[str] = field(default_factory=lambda: ["127.0.88.0/24"])

    @property
    def seeds(self) -> tuple[str, ...]:
        return (self.roots["hub"],)

    def authority(self, name: str) -> str:
        return self.roots[name].removeprefix("http://")

    def answer(self, name: str, path: str) -> tuple[int, dict[str, str], str]:
        self.asked[name].append(path)
        if path == "/robots.txt":
            return 404, {}, ""
        if name == "old":
            return 301, {"Location": self.roots["new"] + path}, ""
        numbers = path.strip("/").split("-") if name == "hub" else []
        links = (f'<a href="{self.roots["old"]}/{number}">{number}</a>' for number in numbers)
        return 200, {"Content-Type": "text/html"}, f"<p>{name} {path}</p>{''.join(links)}"


@contextmanager
def served(sites: Sites, name: str, address: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = sites.answer(name, self.path)
            self.send_response(status)
            for field_name, value in headers.items():
                self.send_header(field_name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{address}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def web() -> Iterator[Sites]:
    """In place of the demo web."""
    sites = Sites()
    with ExitStack() as stack:
        for number, name in enumerate(("hub", "old", "new"), 1):
            sites.asked[name] = []
            sites.roots[name] = stack.enter_context(served(sites, name, f"127.0.88.{number}"))
        yield sites


@pytest.fixture(scope="module")
def tuning() -> dict[str, dict[str, Any]]:
    return {"scheduler": {"min_gap": 0.0}}


def metric(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    )


def explain(place: Settings, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "services", "explain", *words],
        env=environment(place) | {"PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_urls_of_a_host_that_moved_are_fetched_where_they_are(
    web: Sites,
    services: Pipeline,
    crawl: Callable[..., Any],
    eventually: Callable[..., None],
    read_topic: Callable[[Settings, Topic], list[HostUpdated]],
) -> None:
    """E9: two redirects say so; from then on nobody asks the old host for what is new."""
    place = services.settings
    hub, old, frontier = web.roots["hub"], web.roots["old"], services.ports["frontier"]
    crawl(f"{hub}/1-2", **JOB)
    assert sorted(web.asked["old"]) == ["/1", "/2", "/robots.txt"]
    eventually(lambda: metric(frontier, "recrawl_table_entries") == 1, "the frontier is told")
    # A scheduler that has just started may repeat what it said: at least once.
    facts = read_topic(place, HOST_UPDATED)[-1]
    assert (facts.host, facts.mapped_to, facts.mapped_scheme) == (
        web.authority("old"),
        web.authority("new"),
        "http",
    )

    crawl(f"{hub}/3-4-5", **JOB)
    crawl(f"{old}/seeded", **JOB)
    assert sorted(web.asked["old"]) == ["/1", "/2", "/robots.txt"]
    assert {"/1", "/2", "/3", "/4", "/5", "/seeded"} <= set(web.asked["new"])
    assert metric(frontier, "recrawl_urls_mapped_total") == 4

    services.restart("frontier")
    services.await_ready()
    crawl(f"{hub}/6-7", **JOB)
    assert sorted(web.asked["old"]) == ["/1", "/2", "/robots.txt"]
    assert {"/6", "/7"} <= set(web.asked["new"])
    assert read_topic(place, HOST_UPDATED)[-1] == facts

    told = explain(place, f"{old}/7", "--scope", "any")
    assert f"mapped from:           {web.authority('old')}, until 20" in told
    assert f"fetched as:            {web.roots['new']}/7" in told
    assert "scheduler, of" not in told
    known = explain(place, f"{old}/1", "--scope", "any")
    assert f"scheduler, of {old}/1" in known
    assert f"host's mapping:        to {web.authority('new')}, until 20" in known
