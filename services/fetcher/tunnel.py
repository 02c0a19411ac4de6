"""Asks an HTTP proxy for a tunnel (RFC 9110, 9.3.6). Knows nothing of what goes through it."""

import httpcore

from services.fetcher.host_rules import Proxy
from services.fetcher.protocols.port import FetchFailed
from services.fetcher.stream import Stream

MAX_HEAD = 16 * 1024


async def open_tunnel(stream: Stream, authority: str, proxy: Proxy, agent: str) -> None:
    """Make `stream`, a fresh connection to `proxy`, one to `authority` (host:port).

    Raises:
        FetchFailed: `proxy`, it will not.
    """
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", f"User-Agent: {agent}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    head = b""
    try:
        await stream.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        while b"\r\n\r\n" not in head:
            data = await stream.read(MAX_HEAD)
            head += data
            if not data or len(head) > MAX_HEAD:
                raise FetchFailed("proxy", "no answer to CONNECT")
    except httpcore.NetworkError as error:
        raise FetchFailed("proxy", str(error)) from error
    status = head.split(b"\r\n")[0]
    # A server waits for our TLS hello, so octets behind the head are the proxy's own.
    if status.split(b" ")[1:2] != [b"200"] or not head.endswith(b"\r\n\r\n"):
        raise FetchFailed("proxy", status.decode("latin-1")[:100])
