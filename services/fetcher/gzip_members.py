"""Reads gzip (RFC 1952) as it comes in real bodies, member by member, in bounded steps.

zlib's own gzip reader stops at the first member and cannot tell a body cut in half from one that
only lacks its trailer; so header and trailer are read here. Dirt after a member is dropped.
"""

import zlib
from collections.abc import Iterator
from enum import Enum, auto

STEP = 256 * 1024
_MAGIC = b"\x1f\x8b\x08"
_FIXED = 10
_TRAILER = 8
_MAX_MEMBERS = 10_000
"""Each costs a copy of what is at hand, so a body of tiny members would cost its square."""
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16


class _State(Enum):
    HEADER = auto()
    DATA = auto()
    TRAILER = auto()
    DONE = auto()


class Gzip:
    """One gzip body; see `decode.Coding`."""

    def __init__(self) -> None:
        self._state = _State.HEADER
        self._held = b""
        self._members = 0
        self._crc = 0
        self._size = 0
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Output in steps.

        Raises:
            zlib.error, ValueError: the body is corrupt.
        """
        self._held += data
        moved = True
        while moved and self._held:
            if self._state is _State.DATA:
                yield from self._inflate()
                moved = self._inflater.eof
            elif self._state is _State.HEADER:
                moved = self._header()
            elif self._state is _State.TRAILER:
                moved = self._trailer()
            else:
                self._held = b""

    def end(self) -> str:
        """See `decode.Coding`."""
        if self._state is _State.TRAILER:
            return "no-trailer"
        whole = self._state is _State.DONE or (self._state is _State.HEADER and self._members)
        return "" if whole else "incomplete"

    def _inflate(self) -> Iterator[bytes]:
        data, self._held = self._held, b""
        while data and not self._inflater.eof:
            part = self._inflater.decompress(data, STEP)
            self._crc = zlib.crc32(part, self._crc)
            self._size += len(part)
            yield part
            data = self._inflater.unconsumed_tail
        if self._inflater.eof:
            self._held = self._inflater.unused_data
            self._state = _State.TRAILER

    def _header(self) -> bool:
        magic = self._held[: len(_MAGIC)]
        if magic != _MAGIC[: len(magic)]:
            if not self._members:
                raise ValueError("no gzip header")
            self._state = _State.DONE
            return True
        if self._members >= _MAX_MEMBERS:
            raise ValueError("too many gzip members")
        size = _header_size(self._held)
        if size is None:
            if len(self._held) > STEP:
                raise ValueError("endless gzip header")
            return False
        self._held = self._held[size:]
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._crc = self._size = 0
        self._state = _State.DATA
        return True

    def _trailer(self) -> bool:
        if len(self._held) < _TRAILER:
            return False
        crc = int.from_bytes(self._held[:4], "little")
        size = int.from_bytes(self._held[4:_TRAILER], "little")
        if crc != self._crc or size != self._size & 0xFFFFFFFF:
            raise ValueError("gzip checksum")
        self._held = self._held[_TRAILER:]
        self._members += 1
        self._state = _State.HEADER
        return True


def _header_size(data: bytes) -> int | None:
    """Octets of the member header at the start of `data`; None if it is not all there yet."""
    if len(data) < _FIXED:
        return None
    flags = data[3]
    size = _FIXED
    if flags & _FEXTRA:
        size += 2 + int.from_bytes(data[size : size + 2], "little")
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            size = data.find(b"\0", size) + 1
            if not size:
                return None
    if flags & _FHCRC:
        size += 2
    return size if len(data) >= size else None
