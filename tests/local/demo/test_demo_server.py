"""What the demo web serves against what its truth says, over real sockets."""

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import httpx
import psutil
import pytest
import trafilatura
import webencodings  # type: ignore[import-untyped]  # ships no types
import zstandard
from selectolax.lexbor import LexborHTMLParser

from services.common import urls
from services.common.errors import Stop
from services.common.records import Outcome
from services.local.demo import (
    Access,
    DemoWeb,
    Running,
    edition,
    expected,
    least_gaps,
    links,
    paragraphs,
    read_log,
    serve,
)
from services.local.demo.answers import answer
from services.local.demo.article import article
from services.local.demo.odd import PRIVATE, UNRESOLVABLE

SMALL = DemoWeb(hosts=10, pages=120, port=0, slow=0.02)
DEPTH = 8
STATUSES = {
    Outcome.OK: {200},
    Outcome.MOVED: {301, 302, 303, 307, 308},
    Outcome.GONE: {404, 410},
    Outcome.BLOCKED: {401, 403, 451},
    Outcome.TRANSIENT: {500, 502},
    Outcome.PERMANENT: {301, 302, 400, 418},
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serve(SMALL, tmp_path_factory.mktemp("demo") / "access.log") as served:
        yield served


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10) as session:
        yield session


def _text(response: httpx.Response) -> str:
    """The body as its declarations say: header, then meta."""
    meta = re.search(rb'<meta charset="([^"]+)"', response.content)
    label = response.charset_encoding or (meta[1].decode() if meta else "utf-8")
    return str(webencodings.decode(response.content, label)[0])


def _followable(response: httpx.Response) -> set[str]:
    """Identities of the links of a page, found in the plainest way that is right."""
    if response.status_code != 200 or "html" not in response.headers.get("content-type", ""):
        return set()
    tree = LexborHTMLParser(_text(response))
    robots = tree.css_first("meta[name=robots i]")
    told = f"{robots.attributes.get('content')}" if robots else ""
    if "nofollow" in f"{told} {response.headers.get('x-robots-tag', '')}".lower():
        return set()
    base = str(response.url)
    if (node := tree.css_first("base")) and (href := _resolve(node.attributes.get("href"), base)):
        base = href
    found = set()
    if refresh := tree.css_first("meta[http-equiv=refresh i]"):
        found.add(_resolve((refresh.attributes["content"] or "").partition("URL=")[2], base))
    for node in tree.css(
        "[href]:is(a, area, link[rel=canonical], [hreflang], [type$=xml]), iframe[src]"
    ):
        if "nofollow" not in (node.attributes.get("rel") or "").lower():
            found.add(_resolve(node.attributes.get("href") or node.attributes.get("src"), base))
    return {url for url in found if url}


def _resolve(raw: str | None, base: str) -> str:
    try:
        return urls.parse(raw or "", base).identity
    except urls.BadUrl:
        return ""


def test_everything_expected_is_served_as_expected(running: Running, client: httpx.Client) -> None:
    """Each URL of the truth: its status, its redirect target, its links."""
    web = running.web
    truth = expected(web, max_depth=DEPTH)
    for url, right in truth.items():
        if url.startswith((PRIVATE, UNRESOLVABLE)) or url.endswith("/odd/short.html"):
            continue
        response = client.get(url)
        if url.endswith("/odd/busy-once"):
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
            response = client.get(url)
        if right.outcome == Outcome.DISALLOWED or right.reason == "robots-unreachable":
            continue
        assert response.status_code in STATUSES[right.outcome], url
        if right.moved_to:
            assert _resolve(response.headers["location"], url) == right.moved_to
        if not right.listing:
            assert _followable(response) - {url} == links(web, url) - {url}, url


def test_articles_hold_their_text_in_their_charset_and_little_else(
    running: Running, client: httpx.Client
) -> None:
    web = running.web
    charsets = set()
    for number in range(0, web.pages, 2):
        host, page = web.place(number)
        response = client.get(web.page_url(host, page))
        charsets.add(web.charset(host, page))
        html = _text(response)
        text = trafilatura.extract(html, fast=True, include_comments=False) or ""
        told = article(web, host, page)
        for paragraph in told.paragraphs:
            assert paragraph in text
        for comment in told.comments:
            assert comment in html
            assert comment not in text
        assert told.language.related not in text
        # The title, and no more of the furniture than that.
        known = sum(len(line) + 1 for block in told.blocks for line in (*block.lines, block.anchor))
        assert len(text) < known + 200
    assert charsets == {"utf-8", "windows-1251", "iso-8859-1", "shift_jis"}


def test_pages_have_a_real_sites_size(running: Running, client: httpx.Client) -> None:
    web = running.web
    sizes = [len(client.get(web.page_url(*web.place(n))).content) for n in range(0, 120, 5)]
    assert min(sizes) > 15_000
    assert max(sizes) < 80_000


def test_validators_make_an_unchanged_page_a_304(running: Running, client: httpx.Client) -> None:
    """C10."""
    web = running.web
    seen = set()
    for number in range(web.pages):
        url = web.page_url(*web.place(number))
        first = client.get(url)
        fields = {
            ask: first.headers[got]
            for got, ask in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
            if got in first.headers
        }
        seen.add(tuple(fields))
        again = client.get(url, headers=fields)
        assert again.status_code == (304 if fields else 200)
        assert not (fields and again.content)
    assert len(seen) == 4


def test_validators_that_do_not_hold_get_the_page(running: Running, client: httpx.Client) -> None:
    web = running.web
    place = next(
        web.place(n)
        for n in range(web.pages)
        if {"etag", "last-modified"} <= client.get(web.page_url(*web.place(n))).headers.keys()
    )
    url = web.page_url(*place)
    etag = client.get(url).headers["etag"]
    modified = web.version(*place, 0).since
    for headers, status in (
        ({"If-None-Match": '"other"'}, 200),
        ({"If-None-Match": f'"other", {etag}'}, 304),
        ({"If-Modified-Since": formatdate(modified - 1, usegmt=True)}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        # RFC 9110 13.1.3: ignored if there is an If-None-Match
        ({"If-None-Match": '"other"', "If-Modified-Since": formatdate(modified, usegmt=True)}, 200),
    ):
        assert client.get(url, headers=headers).status_code == status


def test_noise_changes_the_octets_at_every_request_but_not_the_text(
    running: Running, client: httpx.Client
) -> None:
    """D7."""
    web = running.web
    noisy = [web.place(n) for n in range(web.pages) if web.change(*web.place(n)) == "noise"]
    url = web.page_url(*noisy[0])
    first, second = (client.get(url) for _ in range(2))
    assert first.content != second.content
    texts = [trafilatura.extract(_text(answer), fast=True) for answer in (first, second)]
    assert texts[0] == texts[1]


def test_pages_change_when_the_truth_says_so(client: httpx.Client) -> None:
    # An epoch long past: where the second hand of now stands does not matter.
    with serve(replace(SMALL, change_period=1.0)) as served:
        web = served.web
        for number in range(0, 60, 3):
            url = web.page_url(*web.place(number))
            before = time.time()
            response = client.get(url)
            versions = [edition(" ".join(paragraphs(web, url, at))) for at in (before, time.time())]
            shown = edition(_text(response))
            assert shown is not None
            assert versions[0] is not None
            assert versions[1] is not None
            assert versions[0] <= shown <= versions[1]


def test_content_codings_are_used_when_offered_only(running: Running, client: httpx.Client) -> None:
    web = running.web
    odd = web.authority(9)
    for name, coding in (("gzip", "gzip"), ("deflate", "deflate"), ("brotli", "br")):
        url = f"http://{odd}/odd/{name}.html"
        coded = client.get(url, headers={"Accept-Encoding": "gzip;q=0.5, deflate, br"})
        plain = client.get(url, headers={"Accept-Encoding": f"{coding};q=0"})
        assert coded.headers["content-encoding"] == coding
        assert "content-encoding" not in plain.headers
        assert coded.content == plain.content


def test_a_short_body_breaks_off(running: Running) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        httpx.get(f"http://{running.web.authority(9)}/odd/short.html")


def test_the_big_page_is_above_kafkas_limit_even_compressed(
    running: Running, client: httpx.Client
) -> None:
    body = client.get(f"http://{running.web.authority(9)}/odd/big.html").content
    assert len(body) > 3_000_000
    assert len(zstandard.compress(body)) > 2_000_000


def test_robots_differ_by_role(running: Running, client: httpx.Client) -> None:
    """C4."""
    web = running.web
    answers = {
        web.role(host): client.get(web.url(host, "/robots.txt"), follow_redirects=True)
        for host in range(web.hosts)
    }
    assert {role: answer.status_code for role, answer in answers.items()} == {
        "plain": 200,
        "slow": 200,
        "robots-missing": 404,
        "robots-moved": 200,
        "delay": 200,
        "closed": 503,
        "odd": 200,
    }
    assert "Crawl-delay: 0.2" in answers["delay"].text
    assert "Disallow: /private/" in answers["robots-moved"].text
    assert answers["robots-moved"].history[0].status_code == 301


def test_sitemaps_list_every_page_of_their_host(running: Running, client: httpx.Client) -> None:
    web = running.web
    packed, plain, text = re.findall(
        "<loc>(.*?)</loc>", client.get(web.url(0, "/sitemap.xml")).text
    )
    rows = gzip.decompress(client.get(packed).content).decode()
    assert re.findall("<loc>(.*?)</loc>", rows) == [
        web.page_url(0, page) for page in range(web.sizes[0])
    ]
    assert rows.count("<lastmod>") == web.sizes[0]
    lone = re.findall("<loc>(.*?)</loc>", client.get(plain).text) + client.get(text).text.split()
    lone += re.findall("<link>(.*?)</link>", client.get(web.url(0, "/news.rss")).text)
    lone += re.findall('href="(.*?)"', client.get(web.url(1, "/news.atom")).text)
    assert len(lone) == 9
    assert {client.get(url).status_code for url in lone} == {200}
    for name in ("-2.xml.gz", "-0.xml.gz", "-x.xml.gz", "-²1.xml.gz", "-1.xml"):
        assert client.get(web.url(0, f"/sitemap{name}")).status_code == 404


def test_a_web_without_sitemaps_names_and_has_none() -> None:
    web = DemoWeb(sitemaps=False)
    assert b"Sitemap" not in answer(web, 0, "/robots.txt", 0).body
    assert not [url for url, right in expected(web, max_depth=9).items() if right.listing]
    for path in ("/sitemap.xml", "/news.rss", "/unlisted/1.html"):
        assert answer(web, 0, path, 0).status == 404


def test_head_has_the_fields_and_no_body(running: Running, client: httpx.Client) -> None:
    url = running.seeds[0]
    head, got = client.head(url), client.get(url)
    drop = {"date"}
    fields = [{k: v for k, v in r.headers.items() if k not in drop} for r in (head, got)]
    assert fields[0] == fields[1]
    assert head.content == b""


def test_the_log_has_each_request_with_its_times(running: Running, client: httpx.Client) -> None:
    """D6: what politeness is audited with."""
    assert running.log_path is not None
    url = running.web.url(4, "/robots.txt?who=me")
    before = time.time()
    client.get(url, headers={"If-None-Match": '"x"'})
    after = time.time()
    entry = next(entry for entry in read_log(running.log_path) if "who=me" in entry.path)
    assert before <= entry.start < entry.end <= after
    assert running.web.role(4) == "slow"
    assert entry.end - entry.start > SMALL.slow / 2
    assert (entry.host, entry.method, entry.path, entry.status, entry.conditional) == (
        running.web.authority(4),
        "GET",
        "/robots.txt?who=me",
        200,
        True,
    )


def test_gaps_are_measured_from_the_end_of_an_answer_to_the_next_request() -> None:
    """D6."""

    def access(host: str, start: float, end: float) -> Access:
        return Access(start=start, end=end, host=host, method="GET", path="/", status=200)

    one_by_one = [access("a", 4, 5), access("a", 1, 2), access("a", 6.5, 7), access("b", 2, 9)]
    at_once = [access("c", 1, 5), access("c", 2, 3), access("c", 4, 6)]
    assert least_gaps([*one_by_one, *at_once]) == {"a": 1.5, "c": -3}


def test_a_person_can_serve_it_until_they_interrupt() -> None:
    command = [sys.executable, "-m", "services.local.demo", "--hosts=2", "--pages=9", "--port=0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        said = server.stdout.readline().decode()
        url = said.split()[-1]
        assert said == f"9 pages on 2 hosts, from {url}\n"
        assert httpx.get(url).status_code == 200
        server.send_signal(signal.SIGINT)
        assert server.communicate() == (b"", b"")
    assert server.returncode == 0


def test_a_taken_port_gives_another_on_every_address() -> None:
    web = DemoWeb(hosts=3, pages=3, port=0)
    with socket.create_server((web.address(2), 0)) as taken:
        wanted = taken.getsockname()[1]
        with serve(replace(web, port=wanted)) as served:
            assert served.port != wanted
            assert [httpx.get(url).status_code for url in served.base_urls] == [200] * 3
            assert served.networks == ["127.0.1.0/24"]


def test_a_web_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="No such file"), serve(SMALL, tmp_path / "no" / "access.log"):
        pass


def test_the_server_ends_with_its_parent_even_when_that_is_killed() -> None:
    code = (
        "from services.local.demo import DemoWeb, serve\n"
        "with serve(DemoWeb(hosts=1, pages=1, port=0)) as served:\n"
        "    print(served.process.pid, flush=True)\n"
        "    input()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        psutil.wait_procs([child], timeout=20)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
