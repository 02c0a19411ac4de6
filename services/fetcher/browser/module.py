"""`module = "browser"`: the document by our own protocol, then what a browser makes of it.

The response comes first and as ever: a redirect, an error, or anything but a whole HTML document
is handed on as it is, and takes no browser.
"""

import logging
from dataclasses import replace

from services.common import metrics
from services.common.settings import Settings
from services.fetcher.browser import parts
from services.fetcher.browser.chromium import Chromium
from services.fetcher.browser.page import Visit
from services.fetcher.protocols.port import Errands, FetchFailed, WireRequest, WireResponse

_log = logging.getLogger(__name__)

_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})


class Browser:
    """See `protocols.port.Module`."""

    def __init__(self, settings: Settings, errands: Errands) -> None:
        """Raises Stop if there is no Chromium."""
        self._settings = settings.browser
        self._errands = errands
        self._chromium = Chromium(settings.browser)
        self.slots = settings.browser.pages

    async def fetch(self, request: WireRequest) -> WireResponse:
        """See `Protocol.fetch`; `browser-crash` and `browser-timeout` are this module's reasons."""
        headers = tuple(item for item in request.headers if item[0] not in _CONDITIONS)
        request = replace(request, headers=headers)
        response = await self._errands.send(request)
        kinds = [*response.values("content-type"), ""]
        disposition = [*response.values("content-disposition"), ""]
        if request.method != "GET" or not parts.renderable(
            response.status, response.damage, kinds[0], disposition[0]
        ):
            return response
        try:
            body, cut = await self._render(request, response)
        except FetchFailed as error:
            metrics.pages_rendered.labels(error.reason).inc()
            raise
        metrics.pages_rendered.labels("rendered").inc()
        return replace(
            response,
            headers=parts.of_the_document(response.headers),
            body=body,
            damage="size-limit" if cut else "",
            rendered=True,
        )

    async def _render(self, request: WireRequest, response: WireResponse) -> tuple[bytes, bool]:
        try:
            async with self._chromium.use() as running:
                return await Visit(self._settings, self._errands, request, response).run(running)
        except FetchFailed:
            raise
        except Exception as error:  # the edge: one bad page must not stop the rest
            _log.exception("unexpected error of a page in the browser")
            raise FetchFailed("internal", str(error)) from error

    async def close(self) -> None:
        """See `Protocol.close`."""
        await self._chromium.close()
