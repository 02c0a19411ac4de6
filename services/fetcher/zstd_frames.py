"""Reads zstd (RFC 8878) block by block, so that each step yields 128 KiB at most.

The library decodes whatever it is given in one go: four octets of run-length block are 128 KiB
of output, so 64 KiB from the wire would be gigabytes. Block borders are read here to prevent it,
which also tells a cut body from a whole one. Dirt after a frame is dropped.
"""

from collections.abc import Iterator

import zstandard

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after an octet 0x50 to 0x5f
_MAX_WINDOW = 8 * 1024 * 1024  # RFC 9659: what an HTTP body may ask for
_MAX_HEADER = 18
_BLOCK_HEADER = 3
_MAX_BLOCK = 128 * 1024
_RUN_LENGTH, _RESERVED = 1, 3


class Zstd:
    """One zstd body; see `decode.Coding`."""

    def __init__(self) -> None:
        self._held = b""
        self._at = 0
        self._skip = 0
        self._checksum = False
        self._frames = 0
        self._in_frame = False
        self._last_block = False
        self._dirty = False
        self._decoder = _decoder()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Output in steps.

        Raises:
            ValueError: the body is corrupt.
        """
        self._held, self._at = self._held[self._at :] + data, 0
        while not self._dirty and (size := self._piece()):
            piece = self._held[self._at : self._at + size]
            self._at += size
            try:
                yield self._decoder.decompress(piece)
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from error

    def end(self) -> str:
        """See `decode.Coding`."""
        if self._dirty:
            return ""
        rest = len(self._held) - self._at + self._skip
        return "" if self._frames and not self._in_frame and not rest else "incomplete"

    def _piece(self) -> int:
        """Octets of the next frame header, block or checksum; 0 if it has not all come."""
        if self._in_frame:
            return self._close_frame(4) if self._last_block else self._block()
        while self._skipped():
            size = self._frame_header()
            if size or not self._skip:
                return size
        return 0

    def _skipped(self) -> bool:
        gone = min(self._skip, len(self._held) - self._at)
        self._at += gone
        self._skip -= gone
        return not self._skip

    def _frame_header(self) -> int:
        head = self._held[self._at : self._at + _MAX_HEADER]
        if head[:1] and head[0] & 0xF0 == 0x50 and _SKIPPABLE.startswith(head[1:4]):  # noqa: PLR2004 - RFC 8878, 3.1.2
            if len(head) >= 8:  # noqa: PLR2004 - magic and size
                self._skip = 8 + int.from_bytes(head[4:8], "little")
            return 0
        if head.startswith(_MAGIC):
            return self._open_frame(head)
        if not _MAGIC.startswith(head):
            if not self._frames:
                raise ValueError("no zstd frame")
            self._dirty = True
        return 0

    def _open_frame(self, head: bytes) -> int:
        try:
            size = zstandard.frame_header_size(head)
            checksum = zstandard.get_frame_parameters(head).has_checksum
        except zstandard.ZstdError as error:
            if len(head) < _MAX_HEADER:
                return 0
            raise ValueError(str(error)) from error
        if self._frames:
            self._decoder = _decoder()
        self._checksum, self._in_frame, self._last_block = checksum, True, False
        return size

    def _block(self) -> int:
        left = len(self._held) - self._at
        if left < _BLOCK_HEADER:
            return 0
        header = int.from_bytes(self._held[self._at : self._at + _BLOCK_HEADER], "little")
        kind, length = header >> 1 & 3, header >> 3
        if kind == _RESERVED or length > _MAX_BLOCK:
            raise ValueError("zstd block")
        size = _BLOCK_HEADER + (1 if kind == _RUN_LENGTH else length)
        if left < size:
            return 0
        self._last_block = bool(header & 1)
        if self._last_block and not self._checksum:
            self._close_frame(0)
        return size

    def _close_frame(self, size: int) -> int:
        if len(self._held) - self._at < size:
            return 0
        self._frames += 1
        self._in_frame = False
        return size


def _decoder() -> "zstandard.ZstdDecompressionObj":  # a name of the type stubs only
    return zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
