"""Which loopback ports the engines get. Never holds one: the engine binds it a moment later."""

import socket
from collections.abc import Sequence
from contextlib import ExitStack


def choose_ports(wanted: Sequence[int]) -> list[int]:
    """One port for each wanted one: that one if it is free, else a free one; all different.

    0 asks for any free port. Another process can still take a port before the engine binds it;
    the caller then asks again.
    """
    with ExitStack() as held:
        return [held.enter_context(_bind(port)).getsockname()[1] for port in wanted]


def _bind(port: int) -> socket.socket:
    """A socket on `port`, or on a free one if something listens there."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Connections in TIME_WAIT from our last run must not push us off the usual port.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
        bound.listen(1)
    except OSError:
        bound.close()
        if port == 0:
            raise
        return _bind(0)
    return bound
