"""HTTP-07: what browsers accept passes, what would move a body's end never does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.heads import MAX_INTERIM, Heads, NotHttp, mended

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: caf\xe9\r\n\r\n"


def through(*parts: bytes, limit: int = 1000) -> bytes:
    heads = Heads(limit)
    heads.expect()
    return b"".join(heads.feed(part) for part in parts)


def test_a_head_in_order_passes_as_it_is_and_so_does_its_body() -> None:
    heads = Heads(1000)
    heads.expect()
    assert heads.feed(PLAIN + b"bo") + heads.feed(b"dy") == PLAIN + b"body"
    assert (heads.mended, heads.end()) == (False, True)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"X-Foo : bar", b""),
        (b"PHP Warning:  Module x in Unknown on line 0", b""),
        (b"garbage without colon", b""),
        (b"get-ban/forum.php: x", b""),
        (b"X-A: a\0b", b""),
        (b"X-A: a\rb", b""),
        (b": x", b""),
        (b"bad line\r\n folded", b""),
        (b"Set-Cookie: a=b\x01c", b"Set-Cookie: a=b\x01c\r\n"),
        (b"X-N: caf\xe9", b"X-N: caf\xe9\r\n"),
        (b"X-F: a\r\n\tb\r\n c", b"X-F: a b c\r\n"),
        (b"X-F: a\r\n b\0\r\n c", b"X-F: a  c\r\n"),
    ],
)
def test_a_line_that_is_no_header_is_dropped_and_its_neighbours_stay(
    line: bytes, kept: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\n" + line + b"\r\nB: 2\r\n\r\n"
    expected = b"HTTP/1.1 200 \r\nA: 1\r\n" + kept + b"B: 2\r\n\r\n"
    assert mended(head) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"HTTP/1.1 200", b"HTTP/1.1 200 "),
        (b"http/1.1 200 ok", b"HTTP/1.1 200 "),
        (b"HTTP/2.0 200 OK", b"HTTP/1.1 200 "),
        (b"HTTP/1.0 200 OK", b"HTTP/1.0 200 "),
        (b"HTTP/0.9 200 OK", b"HTTP/1.0 200 "),
        (b"HTTP 200 OK", b"HTTP/1.0 200 "),
        (b"ICY 200 OK", b"HTTP/1.0 200 "),
        (b"HTTP/1.1   404\tNot \0found", b"HTTP/1.1 404 "),
        (b"\r\nHTTP/1.1 999 Denied", b"HTTP/1.1 999 "),
    ],
)
def test_an_odd_status_line_is_put_plainly(line: bytes, expected: bytes) -> None:
    assert mended(line + b"\nA: 1\n\n") == expected + b"\r\nA: 1\r\n\r\n"


@pytest.mark.parametrize(
    "line",
    [
        b"Content-Length : 0",
        b"Content-Length\t: 0",
        b"Transfer-Encoding : chunked",
        b" transfer-encoding: chunked\nTRANSFER-ENCODING\0: chunked",
        b"\0Content-Length: 5",
        b"Content-Length: 5\0",
        b"Content-Length 5",
    ],
)
def test_malformed_framing_is_never_guessed_at(line: bytes) -> None:
    with pytest.raises(NotHttp, match="framing"):
        mended(b"HTTP/1.1 200 OK\r\n" + line + b"\r\n\r\n")


@pytest.mark.parametrize(
    "octets",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"<html>",
        b"\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 X\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
        b"ICY-LIKE 200 OK\r\n\r\n",
    ],
)
def test_what_has_no_status_line_is_not_http(octets: bytes) -> None:
    with pytest.raises(NotHttp, match="no status line"):
        through(octets)


def test_interim_heads_pass_until_they_are_a_flood() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    assert through(interim * MAX_INTERIM + PLAIN, limit=10_000).endswith(interim + PLAIN)
    with pytest.raises(NotHttp, match="interim"):
        through(interim * (MAX_INTERIM + 1))


def test_a_head_over_the_limit_is_left_to_the_parser() -> None:
    assert through(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 100, b"x", limit=50).endswith(b"xxx")


def test_a_connection_that_ends_within_a_head_is_told_from_one_that_ends_before() -> None:
    heads = Heads(1000)
    heads.expect()
    assert heads.end()
    assert heads.feed(PLAIN[:-1]) == b""
    assert not heads.end()


@given(st.lists(st.integers(0, 200)))
def test_how_the_octets_come_makes_no_difference(cuts: list[int]) -> None:
    octets = b"\r\nHTTP/1.1 103 X\n\nhttp/1.1 200\r\nbad\r\nA: 1\r\n\r\nbody\r\n\r\nmore"
    at = [0, *sorted(min(cut, len(octets)) for cut in cuts), len(octets)]
    parts = [octets[start:end] for start, end in pairwise(at)]
    assert through(*parts) == through(octets)


@given(st.binary(max_size=300))
def test_whatever_comes_what_passes_has_no_line_that_is_no_header(octets: bytes) -> None:
    try:
        head = mended(b"HTTP/1.1 200 OK\r\n" + octets + b"\r\n\r\n")
    except NotHttp:
        return
    assert all(b":" in line and line[:1] > b" " for line in head.split(b"\r\n")[1:-2])
    assert b"\0" not in head
    assert mended(head) == head
