"""gzip files (RFC 1952) that came as a body, not as a content coding: bounded, and forgiving.

Decides how much is unpacked. What is whole before an error counts; what follows the last member
(a comment that a cache appended, zeros) does not. The fetcher undoes content codings.
"""

import zlib

MAGIC = b"\x1f\x8b"
MOST_LAYERS = 2
"""gzip inside gzip, as servers make that pack what is packed."""
_STEP = 1 << 20
_PIECE = 1 << 16
_GZIP = 16 + zlib.MAX_WBITS


def gunzip(body: bytes, limit: int) -> tuple[bytes, bool]:
    """At most `limit` octets of what is in `body`, and whether there would be more.

    A body that is no gzip comes back as it is, cut alike.
    """
    cut = False
    for _ in range(MOST_LAYERS):
        if not body.startswith(MAGIC):
            break
        body, cut = _layer(body, limit)
    return body[:limit], cut or len(body) > limit


def _layer(data: bytes, limit: int) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = at = 0
    while data.startswith(MAGIC, at):
        inflater = zlib.decompressobj(_GZIP)
        while not inflater.eof:
            piece = data[at : at + _PIECE]
            most = min(_STEP, limit + 1 - size)
            before = inflater.copy()
            try:
                part = inflater.decompress(piece, most)
            except zlib.error:
                parts.append(_up_to_the_error(before, piece, most))
                return b"".join(parts), False
            at += len(piece) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
            parts.append(part)
            size += len(part)
            if size > limit:
                return b"".join(parts)[:limit], True
            if not part and not piece:
                return b"".join(parts), False
    return b"".join(parts), False


def _up_to_the_error(inflater: "zlib._Decompress", data: bytes, limit: int) -> bytes:
    """What comes out before the octet that breaks it; a call that fails gives nothing."""
    parts: list[bytes] = []
    for octet in data:
        try:
            parts.append(inflater.decompress(bytes([octet]), limit))
        except zlib.error:
            break
    return b"".join(parts)[:limit]
