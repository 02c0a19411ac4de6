"""Chromium as a process: started when a page needs it, replaced when it died or is worn out.

Nothing it does by itself reaches a network: names resolve to nothing, and whatever would connect
all the same is sent to a proxy that is not there. Pages get what we hand them.
"""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import AsyncIterator
from uuid import uuid4

import psutil
from playwright.async_api import Browser, Error, Playwright, async_playwright

from services.common.errors import Stop
from services.common.settings import Browser as Settings
from services.fetcher.protocols.port import FetchFailed

PATIENCE = 5.0
"""Seconds for what takes milliseconds in a browser that is well."""
_START = 30.0
_WATCH = 0.5
_ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=socks5://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--disable-sync",
    "--blink-settings=imagesEnabled=false",
    "--no-pings",
    "--mute-audio",
)

_log = logging.getLogger(__name__)


def program(settings: Settings) -> str:
    """The path of Chromium.

    Raises:
        Stop: it is not there.
    """
    path = str(settings.path) if settings.path else shutil.which("chromium")
    if path is None or shutil.which(path) is None:
        raise Stop(
            f'a rule says module = "browser", but {path or "chromium"} is no program: install '
            "Chromium (Debian's package `chromium`), or name it in RECRAWL_BROWSER__PATH"
        )
    return path


class Running:
    """One browser process with its driver."""

    def __init__(self, driver: Playwright, browser: Browser, mark: str) -> None:
        self._driver = driver
        self.browser = browser
        self.pages = 0
        """Given out so far."""
        self.users = 0
        self._root = _find(mark)

    @property
    def alive(self) -> bool:
        """Whether it can still be used."""
        return self.browser.is_connected()

    def heavy(self, limit: int) -> list[int]:
        """Processes with more than `limit` octets resident, killed."""
        found = []
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                if process.memory_info().rss > limit:
                    process.kill()
                    found.append(process.pid)
        return found

    def kill(self) -> None:
        """End the process whatever it is doing."""
        for process in [*self._processes(), *([self._root] if self._root else [])]:
            with contextlib.suppress(psutil.Error):
                process.kill()

    async def close(self) -> None:
        """End it in order, or not; raises nothing."""
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self.browser.close()
        self.kill()
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._driver.stop()

    def _processes(self) -> list[psutil.Process]:
        if self._root is None:
            return []
        try:
            return self._root.children(recursive=True)
        except psutil.Error:
            return []


class Chromium:
    """The browser at hand. One at a time, but for a worn-out one that ends its last pages."""

    def __init__(self, settings: Settings) -> None:
        """Raises Stop if the program is not there."""
        self._settings = settings
        self._program = program(settings)
        self._lock = asyncio.Lock()
        self._current: Running | None = None
        self._all: set[Running] = set()
        self._watch: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[Running]:
        """A browser for one page.

        Raises:
            FetchFailed: `browser-crash`: it does not start.
        """
        running = await self._take()
        try:
            yield running
        finally:
            running.users -= 1
            if not running.users and running is not self._current:
                await self._end(running)

    async def close(self) -> None:
        """End all."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        for running in list(self._all):
            await self._end(running)

    async def _take(self) -> Running:
        async with self._lock:
            running = self._current
            worn = running is not None and running.pages >= self._settings.recycle
            if running is None or worn or not running.alive:
                self._current = None
                if running is not None and not running.users:
                    await self._end(running)
                running = self._current = await self._start()
            running.pages += 1
            running.users += 1
            return running

    async def _start(self) -> Running:
        driver: Playwright | None = None
        try:
            async with asyncio.timeout(_START):
                driver = await async_playwright().start()
                mark = f"--recrawl={uuid4().hex}"
                browser = await driver.chromium.launch(
                    executable_path=self._program,
                    # Chromium refuses its sandbox to root; see docs/fetching.md.
                    chromium_sandbox=os.getuid() != 0,
                    args=[*_ARGUMENTS, mark],
                    ignore_default_args=["--disable-popup-blocking"],
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
                running = await asyncio.to_thread(Running, driver, browser, mark)
        except (Error, OSError, TimeoutError) as error:
            _log.exception("the browser does not start")
            if driver is not None:
                with contextlib.suppress(Error):
                    await driver.stop()
            raise FetchFailed("browser-crash", str(error)) from error
        self._all.add(running)
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_memory())
        return running

    async def _end(self, running: Running) -> None:
        self._all.discard(running)
        await running.close()

    async def _watch_memory(self) -> None:
        while True:
            await asyncio.sleep(_WATCH)
            for running in [running for running in self._all if running.users]:
                for pid in await asyncio.to_thread(running.heavy, self._settings.memory):
                    _log.warning("a page's process was killed for its memory", extra={"pid": pid})


def _find(mark: str) -> psutil.Process | None:
    """The process that was started with `mark`; its own children do not carry it."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if mark in process.cmdline():
                return process
    return None
