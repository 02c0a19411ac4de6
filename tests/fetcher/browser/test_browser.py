"""C12: pages in a real Chromium, fed by a server that writes down what it was asked for."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest
import zstandard
from playwright.async_api import Error

from services.common.records import FetchCompleted, FetchRequested
from services.common.settings import Browser
from services.fetcher.browser.chromium import Chromium
from services.fetcher.download import Download

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Debian's package `chromium`; CI installs it"
)

RULES = '[[rule]]\nhosts = ["*.test"]\npaths = ["^/(?:r/|$)"]\nmodule = "browser"\n'
HTML = "Content-Type: text/html; charset=koi8-r\r\n"
FILL = "document.body.insertAdjacentHTML('beforeend', "
Ask = Callable[..., FetchRequested]
Open = Callable[..., AbstractAsyncContextManager[Download]]


@dataclass
class Site:
    """A server on 127.0.1.1, which may be asked, and on 127.0.0.1, which may not."""

    answers: dict[str, str] = field(default_factory=dict)
    """Path -> headers and body as they are sent."""
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    polled: asyncio.Event = field(default_factory=asyncio.Event)
    """Someone asked for /poll."""
    port: int = 0

    def page(self, body: str, path: str = "/", more: str = "") -> str:
        """Put a page there; its URL."""
        self.answers[path] = f"HTTP/1.1 200 OK\r\n{HTML}{more}\r\n{body}"
        return self.url(path)

    def text(self, body: str, path: str, kind: str = "text/javascript") -> str:
        self.answers[path] = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}"
        return self.url(path)

    def url(self, path: str = "/", host: str = "a.test") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split()[1]
            self.asked.append(path)
            self.heads.append(head)
            if path == "/poll":
                self.polled.set()
            none = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            writer.write(self.answers.get(path, none).encode("koi8-r"))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.1.1")
    site.port = server.sockets[0].getsockname()[1]
    inner = await asyncio.start_server(site.serve, "127.0.0.1", site.port)
    async with server, inner:
        yield site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


def text_of(completed: FetchCompleted | None) -> str:
    assert completed is not None
    assert (completed.outcome.value, completed.reason) == ("ok", "ok")
    assert completed.rendered
    return zstandard.decompress(completed.body).decode()


async def rendered(fetcher: Open, request: FetchRequested, **options: Any) -> str:  # noqa: ANN401 - any setting
    async with fetcher(rules=RULES, browser=Browser(**options)) as download:
        return text_of(await download.run(request))


async def test_a_page_is_what_its_scripts_make_of_it(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    """Text from a script file, links from data; in UTF-8, and under our own name."""
    site.text(FILL + "'<p>Привет')", "/x.js", "text/javascript; charset=koi8-r")
    site.text('{"to": "/found"}', "/d.json", "application/json")
    script = (
        "fetch('/d.json', {headers: {'X-Token': 't'}}).then(r => r.json())"
        f'.then(d => {FILL}`<a href="${{d.to}}">more</a>`))'
    )
    scripts = f"<script>{script}</script><script src=/x.js></script>"
    url = site.page(
        f"<!DOCTYPE html><title>т</title><body>{scripts}",
        more='ETag: "x"\r\n',
    )
    async with fetcher(rules=RULES) as download:
        completed = await download.run(request_for(url, etag='"x"'))
    text = text_of(completed)
    assert text.startswith("<!DOCTYPE html>")
    assert "<title>т</title>" in text
    assert "<p>Привет</p>" in text
    assert '<a href="/found">more</a>' in text
    assert completed is not None
    headers = dict(completed.headers)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "etag" not in headers
    assert sorted(site.asked) == ["/", "/d.json", "/robots.txt", "/x.js"]
    assert all("user-agent: recrawl/1 (" in head.lower() for head in site.heads)
    data = next(head for head in site.heads if "/d.json" in head)
    assert "x-token: t" in data.lower()
    assert not any("if-none-match" in head.lower() or "sec-" in head.lower() for head in site.heads)


async def test_other_pages_of_the_host_take_no_browser(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    """By the rule's paths; and what is no HTML document, by what it is."""
    site.page("<script>document.title = 'x'</script>", "/plain")
    site.text("{}", "/r/json", "application/json")
    site.answers["/r/moved"] = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n"
    site.answers["/r/gone"] = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
    async with fetcher(rules=RULES) as download:
        found = {
            path: await download.run(request_for(site.url(path)))
            for path in ("/plain", "/r/json", "/r/moved", "/r/gone")
        }
    assert not any(completed is None or completed.rendered for completed in found.values())
    moved = found["/r/moved"]
    assert moved is not None
    assert (moved.outcome.value, moved.location) == ("moved", site.url("/to"))
    assert {path: it.outcome.value for path, it in found.items() if it} == {
        "/plain": "ok",
        "/r/json": "ok",
        "/r/moved": "moved",
        "/r/gone": "gone",
    }


async def test_what_a_page_must_not_have_is_never_asked_for(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    """NET-05, C4: private addresses, robots.txt, pictures, frames, POST, sockets, popups."""
    site.text("User-agent: *\nDisallow: /closed", "/robots.txt", "text/plain")
    inner = f"127.0.0.1:{site.port}"
    url = site.page(
        f"""<body><img src=/i.png><iframe src=/frame></iframe><link rel=icon href=/icon>
        <script src=/closed.js></script><script src=http://{inner}/private.js></script>
        <script src=file:///etc/passwd></script>
        <script>
        const done = [];
        const tell = name => () => {{ {FILL} `<p>no ${{name}}</p>`) }};
        fetch('http://{inner}/secret').catch(tell('private'));
        fetch('/closed.json').catch(tell('closed'));
        fetch('/post', {{method: 'POST'}}).catch(tell('post'));
        new WebSocket('ws://{inner}/socket').onclose = tell('socket');
        navigator.sendBeacon('/beacon', 'x');
        navigator.serviceWorker?.register('/sw.js').catch(tell('worker'));
        new EventSource('/events');
        window.open('/popup');
        alert(1); confirm(2);
        const rtc = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{inner}'}}]}});
        rtc.createDataChannel('x'); rtc.createOffer().then(o => rtc.setLocalDescription(o));
        </script>"""
    )
    text = await rendered(fetcher, request_for(url))
    for name in ("private", "closed", "post", "socket"):
        assert f"<p>no {name}</p>" in text
    assert sorted(site.asked) == ["/", "/robots.txt"]


@pytest.mark.parametrize("host", ["127.0.1.1", "127.0.0.1", "localhost"])
async def test_chromium_itself_reaches_nothing(site: Site, host: str) -> None:
    """NET-05: what would slip past our routes finds no network, names and addresses alike."""
    chromium = Chromium(Browser())
    try:
        async with chromium.use() as running:
            page = await running.browser.new_page()
            with pytest.raises(Error, match="ERR_"):
                await page.goto(site.url(host=host))
    finally:
        await chromium.close()
    assert site.asked == []


async def test_a_script_that_leads_away_leaves_the_page_and_a_link(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    url = site.page("<p>here<script>location.href = '/next?a&b'</script>")
    text = await rendered(fetcher, request_for(url))
    assert f'<meta http-equiv="refresh" content="0; url={site.url("/next?a&amp;b")}">' in text
    assert "<p>here" in text
    assert "/next?a&b" not in site.asked


async def test_redirects_of_parts_are_followed_within_the_rules(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    moved = "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n"
    site.answers["/a.js"] = moved.format("/b.js")
    site.answers["/c.js"] = moved.format(f"http://127.0.0.1:{site.port}/private.js")
    site.text(f"{FILL}'<p>b')", "/b.js")
    url = site.page("<body><script src=/c.js></script><script src=/a.js></script>")
    assert "<p>b</p>" in await rendered(fetcher, request_for(url))
    assert "/private.js" not in site.asked


async def test_a_page_asks_for_so_much_and_no_more(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    calls = "".join(f"fetch('/d{number}');" for number in range(9))
    url = site.page(f"<script>{calls}</script>")
    await rendered(fetcher, request_for(url), requests=4)
    assert len([path for path in site.asked if path.startswith("/d")]) == 4


async def test_a_large_document_is_cut(site: Site, fetcher: Open, request_for: Ask) -> None:
    url = site.page("<body><script>document.body.append('x'.repeat(1e6))</script>")
    async with fetcher(rules=RULES, max_body=100_000) as download:
        completed = await download.run(request_for(url))
    assert completed is not None
    assert (completed.reason, completed.size, completed.truncated) == ("size-limit", 100_000, True)


@pytest.mark.parametrize("script", ["while (true) {}", "while (true) alert(1)"])
async def test_an_endless_script_is_ended_and_the_next_page_works(
    site: Site, fetcher: Open, request_for: Ask, script: str
) -> None:
    site.page(f"<script>{script}</script>", "/r/endless")
    url = site.page("<body><script>document.title = 'fine'</script>")
    async with fetcher(rules=RULES, browser=Browser(timeout=1)) as download:
        completed = await download.run(request_for(site.url("/r/endless")))
        assert completed is not None
        assert (completed.outcome.value, completed.reason) == ("transient", "browser-timeout")
        assert "<title>fine</title>" in text_of(await download.run(request_for(url)))


async def test_a_page_that_never_rests_is_taken_as_it_is_in_the_end(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    site.text("{}", "/poll", "application/json")
    url = site.page("<p>text<script>setInterval(() => fetch('/poll'), 20)</script>")
    assert "<p>text" in await rendered(fetcher, request_for(url), timeout=1)


async def test_a_page_that_takes_too_much_memory_is_ended(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    hog = "fetch('/poll'); held.push(new Uint8Array(2e7).fill(1))"
    site.page(f"<script>const held = []; setInterval(() => {{ {hog} }}, 10)</script>", "/r/hog")
    async with fetcher(rules=RULES, browser=Browser(memory=400 << 20)) as download:
        completed = await download.run(request_for(site.url("/r/hog")))
        assert completed is not None
        assert (completed.outcome.value, completed.reason) == ("transient", "browser-crash")


async def test_after_a_crash_there_is_a_new_browser(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    url = site.page("<script>document.title = 'fine'</script>")
    site.text("{}", "/poll", "application/json")
    site.page("<script>setInterval(() => fetch('/poll'), 20)</script>", "/r/waits")
    async with fetcher(rules=RULES) as download:
        text_of(await download.run(request_for(url)))
        running = asyncio.create_task(download.run(request_for(site.url("/r/waits"))))
        await site.polled.wait()
        for process in chromiums():
            process.kill()
        completed = await running
        assert completed is not None
        assert (completed.outcome.value, completed.reason) == ("transient", "browser-crash")
        assert "<title>fine</title>" in text_of(await download.run(request_for(url)))


async def test_browsers_wear_out_and_none_is_left(
    site: Site, fetcher: Open, request_for: Ask
) -> None:
    """Pages of several hosts at once, with a new browser for each two."""
    site.page("<script>document.title = location.host</script>", "/")
    hosts = ("a.test", "b.test")
    async with fetcher(rules=RULES, browser=Browser(recycle=2, pages=2)) as download:
        assert chromiums() == []
        for _ in range(3):
            found = await asyncio.gather(
                *(download.run(request_for(site.url(host=host))) for host in hosts)
            )
            for host, completed in zip(hosts, found, strict=True):
                assert f"<title>{host}:{site.port}</title>" in text_of(completed)
        assert len(chromiums()) == 1
    assert chromiums() == []


def chromiums() -> list[psutil.Process]:
    """Browser processes of ours, without their children."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(word.startswith("--recrawl=") for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found
