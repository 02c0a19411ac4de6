"""One CQL query over a plain socket: who answers there, over native protocol v4.

The driver would do, but it starts threads and logs each refused connection, and a start asks
twenty times a second.
"""

import socket
import struct

_STARTUP, _READY, _QUERY, _RESULT = 0x01, 0x02, 0x07, 0x08
_REQUEST, _RESPONSE = 0x04, 0x84
_HEADER = struct.Struct(">BBhBi")
_ONE = 0x0001
_ROWS = 0x0002
_WHO = "SELECT cluster_name FROM system.local"


def cluster_name(address: str, timeout: float = 2.0) -> str | None:
    """The name of the cluster that answers at `host:port`; None if none does (yet).

    `timeout` in seconds. A node that asks for a password answers, but not with a name: None.
    """
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), timeout=timeout) as connection:
            _send(
                connection, _STARTUP, struct.pack(">H", 1) + _text("CQL_VERSION") + _text("3.0.0")
            )
            if _receive(connection)[0] != _READY:
                return None
            query = _WHO.encode()
            body = struct.pack(">i", len(query)) + query + struct.pack(">HB", _ONE, 0)
            _send(connection, _QUERY, body)
            opcode, answer = _receive(connection)
    except OSError:
        return None
    return single_text(answer) if opcode == _RESULT else None


def single_text(body: bytes) -> str | None:
    """The value in a RESULT of one row with one text column (section 4.2.5.2); None if other."""
    kind, flags, columns = struct.unpack_from(">iii", body)
    if (kind, columns) != (_ROWS, 1):
        return None
    position = 12
    # Keyspace and table stand once for all columns (flag 1) or before the column: either way
    # two texts; then come the column's name and its type.
    for _ in range(3):
        position += 2 + struct.unpack_from(">H", body, position)[0]
    position += 2
    rows, length = struct.unpack_from(">ii", body, position)
    if rows != 1 or length < 0 or flags & ~1:
        return None
    return body[position + 8 : position + 8 + length].decode()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()


def _send(connection: socket.socket, opcode: int, body: bytes) -> None:
    connection.sendall(_HEADER.pack(_REQUEST, 0, 0, opcode, len(body)) + body)


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    version, _, _, opcode, length = _HEADER.unpack(_exactly(connection, _HEADER.size))
    if version != _RESPONSE:
        raise ConnectionError("not Cassandra")
    return opcode, _exactly(connection, length)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed")
        parts += part
    return bytes(parts)
