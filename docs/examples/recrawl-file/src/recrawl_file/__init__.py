"""file: URLs for Recrawl: `file://manuals/a/b.html` is `a/b.html` under the root `manuals`.

A URL that ends in `/` is a directory, and a page of links to what is in it. FILE_ROOTS names the
roots, as a JSON object of name and directory. Nothing outside them is read, whatever dots and
symbolic links say.
"""

import asyncio
import html
import json
import mimetypes
import os
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote, unquote

from services.common.errors import Stop
from services.common.settings import Fetcher
from services.fetcher.protocols import WireRequest, WireResponse

__all__ = ["Files"]


class Files:
    """See `services.fetcher.protocols.Protocol`."""

    def __init__(self, settings: Fetcher) -> None:
        """Raises Stop if FILE_ROOTS cannot be used."""
        del settings
        try:
            named = json.loads(os.environ.get("FILE_ROOTS", "{}"))
            self._roots = {name: Path(path).resolve(strict=True) for name, path in named.items()}
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise Stop(f"FILE_ROOTS: {error}") from error

    async def fetch(self, request: WireRequest) -> WireResponse:
        """The file as a response; 404 where there is none to give."""
        return await asyncio.to_thread(self._read, request)

    async def close(self) -> None:
        """Nothing is open."""

    def _read(self, request: WireRequest) -> WireResponse:
        path = self._path(request)
        if path is None:
            return WireResponse(status=404, headers=[])
        try:
            if path.is_dir():
                return _listing(path, request.limit)
            with path.open("rb") as file:
                modified = formatdate(os.fstat(file.fileno()).st_mtime, usegmt=True)
                headers = [("last-modified", modified)]
                if ("if-modified-since", modified) in request.headers:
                    return WireResponse(status=304, headers=headers)
                body = b"" if request.method == "HEAD" else file.read(request.limit + 1)
        except OSError:
            return WireResponse(status=404, headers=[])
        kind, _ = mimetypes.guess_type(path.name)
        if kind:
            headers.append(("content-type", kind))
        return WireResponse(
            status=200,
            headers=headers,
            body=body[: request.limit],
            damage="size-limit" if len(body) > request.limit else "",
        )

    def _path(self, request: WireRequest) -> Path | None:
        root = self._roots.get(request.url.hostname)
        if root is None:
            return None
        try:
            path = (root / unquote(request.url.path.partition("?")[0]).lstrip("/")).resolve()
            inside = path.is_relative_to(root) and (path.is_file() or path.is_dir())
            as_named = path.is_dir() == request.url.path.partition("?")[0].endswith("/")
        except (OSError, ValueError, RuntimeError):  # too long, NUL, or links in a circle
            return None
        return path if inside and as_named else None


def _listing(path: Path, limit: int) -> WireResponse:
    """A page that links to the directory's entries; `./` keeps `a:b` from being a scheme."""
    names = sorted(entry.name + "/" * entry.is_dir() for entry in path.iterdir())
    links = "".join(f'<li><a href="./{quote(name)}">{html.escape(name)}</a>\n' for name in names)
    page = f"<title>{html.escape(path.name)}</title>\n<ul>\n{links}</ul>\n"
    body = page.encode("utf-8", "replace")
    return WireResponse(
        status=200,
        headers=[("content-type", "text/html; charset=utf-8")],
        body=body[:limit],
        damage="size-limit" if len(body) > limit else "",
    )
