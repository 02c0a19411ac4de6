"""Names to addresses through the system's resolver, off the event loop, briefly remembered.

Decides nothing about whether an address may be used.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from services.fetcher.protocols.port import FetchFailed

TTL = 60.0
"""Seconds that addresses are remembered; getaddrinfo does not tell the record's own."""
NEGATIVE_TTL = 10.0
"""Seconds that a failure is remembered."""
SIZE = 10_000
THREADS = 32

_NOT_FOUND = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

Answer = tuple[str, ...] | FetchFailed
"""Addresses, or why there are none."""


def system(hostname: str) -> Answer:
    """What the system's resolver says of `hostname`; a failure is returned, not raised."""
    try:
        found = socket.getaddrinfo(hostname, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = "dns-not-found" if error.errno in _NOT_FOUND else "dns-failure"
        return FetchFailed(reason, str(error))
    except (OSError, UnicodeError) as error:
        return FetchFailed("dns-failure", str(error))
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class Resolver:
    """A bounded cache over getaddrinfo; several askers of one name share one look-up."""

    def __init__(self, ask: Callable[[str], Answer] = system) -> None:
        """`ask` blocks while it looks a name up; it is called in threads."""
        self._ask = ask
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dns")
        self._known: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._asking: dict[str, asyncio.Future[Answer]] = {}

    async def addresses(self, hostname: str) -> tuple[str, ...]:
        """All addresses of `hostname` (a name, or an address, IPv6 with or without brackets).

        Raises:
            FetchFailed: `dns-not-found`, or `dns-failure` where asking again may help.
        """
        address = literal(hostname)
        if address:
            return (address,)
        loop = asyncio.get_running_loop()
        known = self._known.get(hostname)
        if known is not None and known[0] > loop.time():
            return _unwrap(known[1])
        asking = self._asking.get(hostname)
        if asking is None:
            asking = asyncio.ensure_future(loop.run_in_executor(self._pool, self._ask, hostname))
            self._asking[hostname] = asking
            asking.add_done_callback(lambda answer: self._keep(hostname, answer, loop.time()))
        return _unwrap(await asyncio.shield(asking))

    def close(self) -> None:
        """Let the threads end; a look-up under way is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _keep(self, hostname: str, asked: asyncio.Future[Answer], now: float) -> None:
        self._asking.pop(hostname, None)
        if asked.cancelled():
            return
        answer = asked.result()
        ttl = NEGATIVE_TTL if isinstance(answer, FetchFailed) else TTL
        self._known[hostname] = (now + ttl, answer)
        self._known.move_to_end(hostname)
        if len(self._known) > SIZE:
            self._known.popitem(last=False)


def literal(hostname: str) -> str | None:
    """The address that `hostname` is, IPv6 with or without brackets; None if it is a name."""
    try:
        return str(ip_address(hostname.strip("[]")))
    except ValueError:
        return None


def _unwrap(answer: Answer) -> tuple[str, ...]:
    if isinstance(answer, FetchFailed):
        raise FetchFailed(answer.reason, answer.detail)
    return answer
