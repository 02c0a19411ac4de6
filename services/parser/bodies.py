"""Bodies as octets: unpacked, addressed, cut for storing, and put together again.

A stored chunk is a zstd frame of its own, of one mebibyte of the decoded body. So a body that
two writers compressed differently is still right whatever mix of their chunks is read.
"""

import hashlib
from collections.abc import Iterable

import zstandard

from services.common.errors import DeadLetter

CHUNK = 1 << 20
"""Octets of the decoded body in one chunk."""
_WINDOW = 1 << 27


def digest(data: bytes) -> bytes:
    """16 octets that stand for the data (BLAKE2b)."""
    return hashlib.blake2b(data, digest_size=16).digest()


def unpack(body: bytes, size: int) -> bytes:
    """The decoded body of a fetch; `size` is what the record says it has.

    Raises:
        DeadLetter: `malformed`, if it is no zstd or not of that size.
    """
    if not body:
        return b""
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(
            body, read_across_frames=True
        )
        pieces: list[bytes] = []
        left = size + 1
        while left > 0 and (piece := reader.read(min(left, CHUNK))):
            pieces.append(piece)
            left -= len(piece)
    except zstandard.ZstdError as error:
        raise DeadLetter("malformed", f"body: {error}") from error
    if left != 1:
        raise DeadLetter("malformed", f"the body has not the {size} octets that its record says")
    return b"".join(pieces)


def chunks(data: bytes, compressed: bytes) -> list[bytes]:
    """What is stored: `compressed` as it came where it is one chunk, else frames made anew."""
    if len(data) <= CHUNK:
        return [compressed] if data else []
    compressor = zstandard.ZstdCompressor(level=3)
    return [compressor.compress(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]


def joined(frames: Iterable[bytes]) -> bytes:
    """The decoded body of its chunks, in order."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return b"".join(
        decompressor.stream_reader(frame, read_across_frames=True).read(CHUNK) for frame in frames
    )
