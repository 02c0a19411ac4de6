"""One answer of the demo web, as data: what to send and how badly to behave in sending it."""

from dataclasses import dataclass

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer; the server carries it out to the letter."""

    status: int = 200
    content_type: str = HTML
    """Empty for no Content-Type at all."""
    body: bytes = b""
    """Before any content coding."""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str = ""
    modified: int | None = None
    """Last-Modified, seconds since the epoch."""
    coding: str = ""
    """Content coding to use if the client takes it: `gzip`, `deflate` or `br`."""
    pieces: int = 1
    """More than one: the body drips in this many pieces, `PAUSE` seconds apart."""
    missing: int = 0
    """Octets that Content-Length announces and that never come."""


PAUSE = 0.1


def html(title: str, inner: str, head: str = "") -> bytes:
    """A small page of our own, in UTF-8."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{head}<title>{title}</title>'
        f"</head>\n<body><h1>{title}</h1>\n{inner}\n</body></html>\n"
    ).encode()
