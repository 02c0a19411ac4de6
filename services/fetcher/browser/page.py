"""One page in the browser: loaded from the response we have, fed by us, read, and closed."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeVar

from playwright.async_api import BrowserContext, Error, Page, Request, Route, WebSocketRoute

from services.common import metrics, urls
from services.common.errors import Drop
from services.common.settings import Browser as Settings
from services.fetcher import location
from services.fetcher.browser import parts
from services.fetcher.browser.chromium import PATIENCE, Running
from services.fetcher.protocols.port import Errands, FetchFailed, WireRequest, WireResponse

_AT_ONCE = 6
_LOOK = 0.05
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READ = """(() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const root = document.documentElement;
  return (type + (root ? root.outerHTML : "")).slice(0, %d).toWellFormed();
})()"""
"""Read in a world of its own, where the page's scripts have changed nothing."""
_T = TypeVar("_T")

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """How far the page is."""

    delivered: bool = False
    """The document was handed over; any later one leads away."""
    away: str = ""
    busy: int = 0
    active_at: float = 0.0
    crashed: asyncio.Event = field(default_factory=asyncio.Event)


class Visit:
    """One page's time in the browser."""

    def __init__(
        self, settings: Settings, errands: Errands, request: WireRequest, response: WireResponse
    ) -> None:
        self._settings = settings
        self._errands = errands
        self._request = request
        self._response = response
        self._budget = parts.Budget(settings.requests, settings.octets)
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._state = _State()
        self._context: BrowserContext | None = None
        self._loop = asyncio.get_running_loop()

    async def run(self, running: Running) -> tuple[bytes, bool]:
        """The document, and whether it was cut.

        A browser that does not let go of the page is killed.

        Raises:
            FetchFailed: `browser-crash` or `browser-timeout`.
        """
        running.browser.on("disconnected", self._crashed)
        try:
            page = await self._bounded(self._open(running), PATIENCE)
            await self._load(page)
            text = await self._bounded(self._read(page), PATIENCE)
        except Error as error:
            raise FetchFailed("browser-crash", str(error)) from error
        finally:
            running.browser.remove_listener("disconnected", self._crashed)
            if self._context is not None and not await _closed(self._context):
                _log.warning("the browser does not let go of a page, and is killed")
                await asyncio.to_thread(running.kill)
        return parts.document(text, self._state.away, self._request.limit)

    def _crashed(self, _: object) -> None:
        self._state.crashed.set()

    async def _open(self, running: Running) -> Page:
        headers = dict(self._request.headers)
        context = self._context = await running.browser.new_context(
            user_agent=headers.get("user-agent"),
            service_workers="block",
            accept_downloads=False,
        )
        context.set_default_timeout(0)
        await context.add_cookies(_cookies(headers.get("cookie", ""), self._request.url.href))
        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", _refuse_socket)
        page = await context.new_page()
        context.on("page", _refuse_popup)
        page.on("crash", self._crashed)
        return page

    async def _load(self, page: Page) -> None:
        """Wait until the page is there and quiet, or its time is over."""
        end = self._loop.time() + self._settings.timeout
        state = self._state
        state.active_at = self._loop.time()
        loading = asyncio.create_task(page.goto(self._request.url.href))
        try:
            while (now := self._loop.time()) < end and not state.crashed.is_set():
                # Who is sent away may never hear that the page was loaded.
                there = loading.done() or state.away
                if there and not state.busy and now - state.active_at >= self._settings.quiet:
                    break
                await asyncio.sleep(_LOOK)
        finally:
            loading.cancel()
            # Its error says that a script led away, or that the browser died, which shows.
            await asyncio.gather(loading, return_exceptions=True)

    async def _read(self, page: Page) -> str:
        session = await page.context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        frame = tree["frameTree"]["frame"]["id"]
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        answer = await session.send(
            "Runtime.evaluate",
            {
                "contextId": world["executionContextId"],
                "expression": _READ % (self._request.limit + 1),
                "returnByValue": True,
            },
        )
        return str(answer["result"].get("value", ""))

    async def _bounded(self, work: Awaitable[_T], seconds: float) -> _T:
        """What `work` gives within the time, if the page's process lives that long.

        Raises:
            FetchFailed: `browser-crash`, `browser-timeout`.
        """
        task = asyncio.ensure_future(work)
        crash = asyncio.create_task(self._state.crashed.wait())
        try:
            await asyncio.wait({task, crash}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            reason = "browser-crash" if crash.done() else "browser-timeout"
            raise FetchFailed(reason, self._request.url.href)
        finally:
            crash.cancel()
            task.cancel()
            await asyncio.gather(task, crash, return_exceptions=True)

    async def _route(self, route: Route, request: Request) -> None:
        """Answer a request of the page's; all of them end up here, and none goes elsewhere."""
        state = self._state
        state.busy += 1
        try:
            await self._answer(route, request)
        except Error:  # the page is gone, or its browser
            return
        finally:
            state.busy -= 1
            state.active_at = self._loop.time()

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request():
            await self._navigate(route, request)
            return
        asked = parts.Asked(
            request.method, request.resource_type, request.url.startswith(("http:", "https:"))
        )
        reason = self._budget.refusal(asked)
        if not reason:
            try:
                async with self._slots:
                    response = await self._fetch(request)
            except Drop as error:
                reason = error.reason
        metrics.page_parts.labels(reason or "fetched").inc()
        if reason:
            await route.abort("blockedbyclient")
            return
        await route.fulfill(
            status=response.status,
            headers=parts.for_the_page(response.headers),
            body=response.body,
        )

    async def _navigate(self, route: Route, request: Request) -> None:
        state = self._state
        if _of_main_frame(request) and not state.delivered:
            state.delivered = True
            await route.fulfill(
                status=self._response.status,
                headers=parts.for_the_page(self._response.headers),
                body=self._response.body,
            )
            return
        if _of_main_frame(request) and request.method == "GET":
            state.away = _other(request.url, self._request.url) or state.away
        metrics.page_parts.labels("navigation").inc()
        await route.abort("aborted")  # any other error would put a page of its own in place

    async def _fetch(self, request: Request) -> WireResponse:
        """What a part is, redirects followed here, since the browser would go on without us.

        Raises:
            Drop: why it is not given to the page.
        """
        headers = parts.on_the_wire(request.headers)
        url = urls.parse(request.url)
        for _ in range(parts.MAX_REDIRECTS + 1):
            response = await self._errands.part(url, headers, self._budget.octets)
            self._budget.octets -= len(response.body)
            if response.damage:
                raise Drop("octets" if response.damage == "size-limit" else response.damage)
            target = response.values("location") if response.status in _REDIRECTS else []
            if not target:
                return response
            href = location.resolve(target[0].encode("latin-1"), url.href)
            reason = self._budget.step()
            if href is None or reason:
                raise Drop(reason or "bad-url")
            url = urls.parse(href)
        raise Drop("redirects")


def _of_main_frame(request: Request) -> bool:
    try:
        return request.frame.parent_frame is None
    except Error:  # a popup that has no frame yet
        return False


def _other(raw: str, page: urls.Url) -> str:
    """The URL that a script leads to; empty if it is none, or the page's own."""
    try:
        href = urls.parse(raw).href
    except urls.BadUrl:
        return ""
    return "" if href == page.href else href


def _cookies(header: str, url: str) -> list[Any]:
    """A Cookie header as the browser takes it."""
    try:
        jar = SimpleCookie(header)
    except CookieError:
        return []
    return [{"name": name, "value": morsel.value, "url": url} for name, morsel in jar.items()]


async def _refuse_socket(socket: WebSocketRoute) -> None:
    metrics.page_parts.labels("kind").inc()
    with contextlib.suppress(Error):
        await socket.close()


async def _refuse_popup(page: Page) -> None:
    metrics.page_parts.labels("popup").inc()
    with contextlib.suppress(Error):
        await page.close()


async def _closed(context: BrowserContext) -> bool:
    """Whether the page was closed within the time that this may take."""
    try:
        async with asyncio.timeout(PATIENCE):
            await context.close()
    except (Error, TimeoutError):
        return False
    return True
