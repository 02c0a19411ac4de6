"""Undoes content codings in bounded steps and says what is wrong with the body.

Never holds more than one step (256 KiB) of output beyond what it was told to keep, whatever the
input claims. Knows nothing of the network.
"""

import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli  # type: ignore[import-untyped] # the library has no types

from services.fetcher.gzip_members import Gzip
from services.fetcher.zstd_frames import Zstd

STEP = 256 * 1024
"""Octets of output at once, at most."""
BROTLI_STEP = 64 * 1024
"""The library's buffer grows in leaps, so that this limit yields up to 96 KiB."""
MAX_CODINGS = 3
MAX_BETWEEN = 6
"""Octets passed between codings in all, as a multiple of the limit: several codings could
otherwise turn little into endless work that yields nothing."""
IDENTITY = frozenset({"", "identity", "none", "binary", "8bit", "utf-8"})
"""Values that servers put into Content-Encoding without having encoded anything."""


class Corrupt(Exception):  # noqa: N818 - a verdict on the body, caught in this package
    """The body is not what its coding says."""


class Unsupported(Exception):  # noqa: N818 - a verdict on the body, caught in this package
    """A coding that we cannot undo, or too many of them."""


class Coding(Protocol):
    """One coding being undone."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Output in steps; raises one of `_BROKEN` on a corrupt body."""
        ...

    def end(self) -> str:
        """After the last octet: "" if the body is whole, else the kind of damage."""
        ...


class Deflate:
    """`deflate`: zlib (RFC 1950) as it should be, or raw (RFC 1951) as some servers send it."""

    def __init__(self) -> None:
        self._head = b""
        self._inflater: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See `Coding`."""
        if self._inflater is None:
            self._head += data
            if len(self._head) < 2:  # noqa: PLR2004 - the zlib header's size
                return
            data, self._head = self._head, b""
            zlib_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0  # noqa: PLR2004 - RFC 1950, 2.2
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS)
        while data and not self._inflater.eof:
            yield self._inflater.decompress(data, STEP)
            data = self._inflater.unconsumed_tail

    def end(self) -> str:
        """See `Coding`."""
        return "" if self._inflater is not None and self._inflater.eof else "incomplete"


class Brotli:
    """`br` (RFC 7932). Dirt after the end makes it corrupt: the library then gives nothing."""

    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See `Coding`."""
        if self._decompressor.is_finished():
            return
        yield self._decompressor.process(data, output_buffer_limit=BROTLI_STEP)
        while not self._decompressor.can_accept_more_data():
            yield self._decompressor.process(b"", output_buffer_limit=BROTLI_STEP)

    def end(self) -> str:
        """See `Coding`."""
        return "" if self._decompressor.is_finished() else "incomplete"


CODINGS: dict[str, type[Coding]] = {
    "gzip": Gzip,
    "x-gzip": Gzip,
    "deflate": Deflate,
    "br": Brotli,
    "zstd": Zstd,
}
_BROKEN = (zlib.error, brotli.error, ValueError)


class Body:
    """A response body put together: decoded, limited, with what is wrong with it.

    Both the octets from the wire and the decoded ones are limited to `limit`.
    """

    def __init__(self, content_encoding: str, limit: int) -> None:
        """Start a body with the given Content-Encoding.

        Raises:
            Unsupported: a coding is unknown, or there are too many.
        """
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in IDENTITY]
        if len(names) > MAX_CODINGS or not all(name in CODINGS for name in names):
            raise Unsupported(content_encoding)
        # RFC 9110, 8.4: listed in the order applied, so the last one comes off first.
        self._codings = [CODINGS[name]() for name in reversed(names)]
        self._limit = limit
        self._wire = 0
        self._size = 0
        self._between = 0
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> bool:
        """Take octets from the wire; False when no more are wanted.

        Raises:
            Corrupt: they do not fit the coding; what came before stays.
        """
        room = self._limit - self._wire
        self._wire += len(data)
        try:
            for part in self._decoded(data[:room] if len(data) > room else data, 0):
                self._parts.append(part[: self._limit - self._size])
                self._size += len(part)
                if self._size > self._limit:
                    return False
        except _BROKEN as error:
            raise Corrupt(str(error)) from error
        return self._wire <= self._limit

    def end(self) -> str:
        """After the last octet: "" if the body is whole, else the kind of damage."""
        if self._size > self._limit or self._wire > self._limit:
            return "size-limit"
        if not self._wire:
            return ""
        return next((damage for coding in self._codings if (damage := coding.end())), "")

    def octets(self) -> bytes:
        """What was decoded so far."""
        return b"".join(self._parts)

    def _decoded(self, data: bytes, level: int) -> Iterator[bytes]:
        if level == len(self._codings):
            yield data
            return
        for part in self._codings[level].feed(data):
            self._between += len(part)
            if self._between > MAX_BETWEEN * self._limit:
                raise ValueError("too much between codings")
            if part:
                yield from self._decoded(part, level + 1)
