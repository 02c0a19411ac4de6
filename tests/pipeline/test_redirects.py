"""HTTP-09: redirects that lead to another writing, to themselves, round in circles or on and on."""

import itertools
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from services.common.kafka.commands import Commander
from services.common.settings import Settings
from services.common.topics import CRAWL_REPORTED, Topic
from services.common.urls import fingerprint, parse
from services.local.demo import DemoWeb
from services.local.live import Progress

CERTIFICATE = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGMsJLpxueSIafeLJ
POJnDRL9xe7EJ0HZ60iqaDfWUoGhRANCAAQOkbcAZDX/mODsTMKXlHH6FWw4+BwL
0O93r+mIL34HbcVkF2Xj3cjudO/HruCUYVx6NpnVd2BI1gBDa/WuXs96
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUHIVZUVTeoboV4aLkVpAf+izqbwIwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjEyMDEwNDEwMDFaGA8yMTI2MTEwNzA0MTAw
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABA6R
twBkNf+Y4OxMwpeUcfoVbDj4HAvQ73ev6YgvfgdtxWQXZePdyO5078eu4JRhXHo2
mdV3YEjWAENr9a5ez3qjUzBRMB0GA1UdDgQWBBQxE5TAZ0A+rijc4Pm6Zv9HVrAb
KTAfBgNVHSMEGDAWgBQxE5TAZ0A+rijc4Pm6Zv9HVrAbKTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIFFN3BKgBXXfl6vlOIIL++YVer/fG6qc4Xul
qrkV9FKPAiEAi15XJm5nr1uYEOHD5xxv+s0X8PwBfFmoEGXG5jvNHpU=
-----END CERTIFICATE-----
"""
"""With its key; nobody trusts it, so the fetcher needs a rule that lets it pass."""


@dataclass(slots=True)
class Site:
    """Where it is, and what it was asked for."""

    plain: str = ""
    """Base URL by http."""
    secure: str = ""
    """Base URL by https."""
    moves: dict[str, str] = field(default_factory=dict)
    """URL -> the URL that it redirects to."""
    asked: Counter[str] = field(default_factory=Counter)
    """URLs, as asked for."""


@contextmanager
def redirecting(directory: Path) -> Iterator[Site]:
    """The site, served at every loopback address."""
    site = Site()
    pem = directory / "site.pem"
    pem.write_text(CERTIFICATE)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    with ExitStack() as stack:
        plain, secure = (_serve(stack, site, scheme) for scheme in ("http", "https"))
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        site.plain = f"http://127.0.0.1:{plain.server_port}"
        site.secure = f"https://127.0.0.1:{secure.server_port}"
        for server in (plain, secure):
            thread = Thread(target=server.serve_forever)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield site


def _serve(stack: ExitStack, site: Site, scheme: str) -> ThreadingHTTPServer:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = f"{scheme}://{self.headers['host']}{self.path}"
            site.asked[url] += 1
            target = site.moves.get(url)
            body = b"" if target else b"<p>The page behind all this has some words on it.</p>"
            missing = 404 if self.path == "/robots.txt" else 200
            self.send_response(302 if target else missing)
            if target:
                self.send_header("location", target)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return stack.enter_context(ThreadingHTTPServer(("0.0.0.0", 0), Answer))


CHAIN = 30


@pytest.fixture(scope="module")
def world() -> DemoWeb:
    return DemoWeb(hosts=1, pages=1, trap=False)


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    rules = tmp_path_factory.mktemp("rules") / "rules.toml"
    rules.write_text('[[rule]]\nhosts = ["127.0.0.1"]\ntls = "record"\n')
    return {"fetcher": {"allow_private": ["127.0.0.0/8"], "rules_file": rules}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with redirecting(tmp_path_factory.mktemp("site")) as site:
        yield site


Crawl = Callable[..., Progress]


def pages(site: Site, *urls: str) -> dict[str, int]:
    """How often the site was asked for these URLs."""
    return {url: site.asked[url] for url in urls}


def outcomes(place: Settings, *urls: str) -> set[str]:
    """What the scheduler says came of the URLs."""
    with Commander(place.kafka) as commander:
        answers = [
            commander.explain(url.host, fingerprint(url.identity)).detail
            for url in map(parse, urls)
        ]
    return {answer["last outcome"] for answer in answers}


def test_another_writing_is_one_page_and_a_url_that_redirects_to_itself_a_loop(
    site: Site, crawl: Crawl, select: Callable[..., list[Any]]
) -> None:
    """HTTP-09 B, C."""
    itself, one, other = (site.plain + path for path in ("/q", "/x?b=2&a=1", "/x?a=1&b=2"))
    site.moves |= {itself: itself, one: other}
    crawl(itself, one, job="writings", scope="any")
    assert pages(site, itself, one, other) == {itself: 1, one: 1, other: 1}
    rows = [r for r in select("SELECT url, job, reason, outcome FROM pages") if r.job == "writings"]
    assert {row.url: row.reason for row in rows}[itself] == "redirect-loop"
    assert [row.url for row in rows if row.outcome == "ok"] == [other]


@pytest.mark.parametrize("kind", ["one host", "two hosts", "http and https", "led into"])
def test_each_url_of_a_loop_is_asked_for_once_and_recorded_as_such(
    site: Site,
    crawl: Crawl,
    place: Settings,
    read_topic: Callable[[Settings, Topic], list[Any]],
    kind: str,
) -> None:
    """HTTP-09 D, E: seen in the server's own log."""
    elsewhere = site.plain.replace("127.0.0.1", "127.0.0.2")
    way = {
        "one host": [f"{site.plain}/a", f"{site.plain}/b"],
        "two hosts": [f"{site.plain}/far", f"{elsewhere}/far"],
        "http and https": [f"{site.plain}/s", f"{site.secure}/s"],
        "led into": [f"{site.plain}/{name}" for name in ("in", "l1", "l2", "l3")],
    }[kind]
    back = way[1] if kind == "led into" else way[0]
    site.moves |= dict(zip(way, [*way[1:], back], strict=True))
    crawl(way[0], job=kind, scope="any")
    assert pages(site, *way) == dict.fromkeys(way, 1)
    assert outcomes(place, *way) == {"permanent: redirect-loop"}
    told = [report for report in read_topic(place, CRAWL_REPORTED) if report.dead_end]
    assert sorted(report.url for report in told if report.job == kind) == sorted(way)


def test_a_chain_of_ever_new_urls_ends_after_ten(site: Site, crawl: Crawl, place: Settings) -> None:
    """Each of those that were asked for rests; the others are never known."""
    way = [f"{site.plain}/chain/{number}" for number in range(CHAIN)]
    site.moves |= dict(itertools.pairwise(way))
    crawl(way[0], job="chain", scope="any")
    assert pages(site, *way) == dict.fromkeys(way, 0) | dict.fromkeys(way[:10], 1)
    assert outcomes(place, *way[:10]) == {"permanent: too-many-redirects"}


def test_a_page_behind_nine_redirects_is_fetched(site: Site, crawl: Crawl, place: Settings) -> None:
    way = [f"{site.plain}/long/{number}" for number in range(10)]
    site.moves |= dict(itertools.pairwise(way))
    crawl(way[0], job="long", scope="any")
    assert pages(site, *way) == dict.fromkeys(way, 1)
    assert (outcomes(place, *way[:9]), outcomes(place, way[9])) == ({"moved"}, {"ok"})


def test_a_redirect_to_an_address_inside_is_refused_as_any_url_is(
    site: Site, crawl: Crawl, select: Callable[..., list[Any]]
) -> None:
    """NET-05: each hop is a URL of its own, and the guard sees them all."""
    inside = {f"{site.plain}/in1": "http://10.0.0.1/", f"{site.plain}/in2": "http://127.0.0.3:22/"}
    site.moves |= inside
    crawl(*inside, job="inside", scope="any")
    rows = [row for row in select("SELECT url, job, reason FROM pages") if row.job == "inside"]
    assert {row.url: row.reason for row in rows} == {
        **dict.fromkeys(inside, "redirect"),
        "http://10.0.0.1/": "private-address",
        "http://127.0.0.3:22/": "bad-port",
    }
