"""Makes response heads that browsers accept fit for a strict HTTP/1.1 parser.

Drops lines that are no header, and tolerates odd status lines; a head in order passes as it is.
Never touches framing: a malformed Content-Length or Transfer-Encoding makes the response not
HTTP, since guessing where a body ends lets a server answer requests that were not its own. Pure.
"""

import re

MAX_INTERIM = 20
"""Heads with status 1xx before the final one."""
SLOP = 4
"""Empty-line octets before a status line that are skipped, as browsers do."""

_TOKEN = rb"!#$%&'*+.^_`|~0-9A-Za-z-"
_SOUND = re.compile(
    rb"HTTP/1\.[01] [1-9][0-9]{2}(?: [\t\x20-\x7e\x80-\xff]*+)?\r\n"
    rb"(?:[" + _TOKEN + rb"]++:[^\x00\n\v\f\r]*+\r\n)*+\r\n"
)
_STATUS = re.compile(
    rb"(?:HTTP(?:/([0-9])\.([0-9]))?|ICY)[ \t]+([1-9][0-9]{2})(?:[^0-9].*)?", re.IGNORECASE
)
_STARTS = (b"HTTP", b"ICY ")
_END = re.compile(rb"\n\r?\n")
_FIELD = re.compile(rb"([" + _TOKEN + rb"]+):[^\x00\n\v\f\r]*")
_VALUE = re.compile(rb"[^\x00\n\v\f\r]*")
_NOT_TOKEN = re.compile(rb"[^" + _TOKEN + rb"]")
_FRAMING = (b"content-length", b"transfer-encoding")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_HTTP_1_1 = (b"1", b"1")


class NotHttp(Exception):  # noqa: N818 - a verdict on the response, caught in this package
    """What came cannot be taken as an HTTP/1 response."""


class Heads:
    """The octets of one connection on their way to the parser."""

    def __init__(self, limit: int) -> None:
        """A head longer than `limit` octets is passed on as it is, for the parser to refuse."""
        self._limit = limit
        self._held = b""
        self._searched = 0
        self._interim = 0
        self._in_head = False
        self.mended = False
        """Whether anything was changed: the server's framing is not to be relied on."""

    def expect(self) -> None:
        """A request goes out: the next octets are a head."""
        self._in_head, self._interim = True, 0

    def feed(self, data: bytes) -> bytes:
        """What can be passed on after `data`; b"" while a head is incomplete.

        Raises:
            NotHttp: no status line, a malformed framing header, or too many interim heads.
        """
        if not self._in_head:
            return data
        self._held += data
        out = b""
        while self._in_head and (end := self._find_end()):
            out += self._take(end)
        if not self._in_head or len(self._held) > self._limit:
            out, self._held, self._searched = out + self._held, b"", 0
            self._in_head = False
        return out

    def end(self) -> bool:
        """Whether the connection may end here: not within a head."""
        return not self._held

    def _find_end(self) -> int:
        """Where the head ends; 0 if that has not come."""
        if not self._searched:
            start = self._held[:SLOP].lstrip(b"\r\n")
            if start and not any(known.startswith(start.upper()) for known in _STARTS):
                raise NotHttp("no status line")
            self._searched = len(self._held) - len(self._held.lstrip(b"\r\n"))
            if self._searched > SLOP:
                raise NotHttp("no status line")
        found = _END.search(self._held, self._searched)
        self._searched = max(self._searched, len(self._held) - 2)
        return found.end() if found else 0

    def _take(self, end: int) -> bytes:
        head, self._held, self._searched = self._held[:end], self._held[end:], 0
        if not _SOUND.fullmatch(head):
            head, self.mended = mended(head), True
        if not _INTERIM.match(head):
            self._in_head = False
        else:
            self._interim += 1
            if self._interim > MAX_INTERIM:
                raise NotHttp("interim responses")
        return head


def mended(head: bytes) -> bytes:
    """`head` with a plain status line and without what is no header.

    Raises:
        NotHttp: no status line, or a malformed framing header.
    """
    first, *lines = (line.removesuffix(b"\r") for line in head.lstrip(b"\r\n").split(b"\n"))
    status = _STATUS.fullmatch(first)
    if status is None:
        raise NotHttp("no status line")
    modern = status[1] is not None and status.group(1, 2) >= _HTTP_1_1
    kept: list[bytes] = []
    dropped = True
    for line in lines:
        if line[:1] in (b" ", b"\t"):  # RFC 9112, 5.2: obsolete line folding
            if not dropped:
                kept[-1] += b" " + (line.strip() if _VALUE.fullmatch(line) else b"")
            continue
        dropped = not _FIELD.fullmatch(line)
        if not dropped:
            kept.append(line)
        elif _NOT_TOKEN.sub(b"", line).lower().startswith(_FRAMING):
            raise NotHttp("framing")
    version = b"HTTP/1.1 " if modern else b"HTTP/1.0 "
    return b"\r\n".join([version + status[3] + b" ", *kept, b"", b""])
