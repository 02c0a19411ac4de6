"""The probe against bytes as Cassandra sends them, and against things that are not Cassandra."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from services.local.cql_probe import cluster_name, single_text


def text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()


def result(value: bytes | None, *, flags: int = 1, columns: int = 1, rows: int = 1) -> bytes:
    """Body of a RESULT frame as Cassandra 5.0.6 answers the probe (taken from a real one)."""
    head = struct.pack(">iii", 2, flags, columns) + text("system") + text("local")
    column = text("cluster_name") + struct.pack(">H", 0x000D)
    cell = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return head + column + struct.pack(">i", rows) + cell


def frame(opcode: int, body: bytes) -> bytes:
    return struct.pack(">BBhBi", 0x84, 0, 0, opcode, len(body)) + body


@contextmanager
def server(*answers: bytes) -> Iterator[str]:
    """A server for one connection that sends one answer for each request, then closes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                for answer in answers:
                    connection.recv(4096)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            thread.join()


READY = frame(0x02, b"")


def test_the_cluster_tells_its_name() -> None:
    with server(READY, frame(0x08, result(b"recrawl-1"))) as address:
        assert cluster_name(address) == "recrawl-1"


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([frame(0x03, text("authenticator"))], id="wants a password"),
        pytest.param([READY, frame(0x00, struct.pack(">i", 0x1001))], id="overloaded"),
        pytest.param([b"HTTP/1.1 400 Bad Request\r\n\r\n"], id="a web server"),
        pytest.param([READY[:4]], id="closes in the middle"),
        pytest.param([], id="closes at once"),
    ],
)
def test_anything_else_has_no_name(answers: list[bytes]) -> None:
    with server(*answers) as address:
        assert cluster_name(address) is None


def test_a_closed_port_has_no_name() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    assert cluster_name(address) is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(result(None), id="null"),
        pytest.param(result(b"x", columns=2), id="two columns"),
        pytest.param(result(b"x", rows=0), id="no row"),
        pytest.param(struct.pack(">iii", 1, 0, 0), id="void"),
    ],
)
def test_a_result_of_another_shape_has_no_text(body: bytes) -> None:
    assert single_text(body) is None
