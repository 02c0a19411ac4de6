"""Names to addresses through the system's resolver, off the event loop, briefly remembered.

Decides nothing about whether an address may be used.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from services.fetcher.protocols.port import FetchFailed

TTL = 60.0
"""Seconds that addresses are remembered. getaddrinfo does not tell the record's own time, so it
is the least that is usual: a host that moves is found within a minute."""
NOT_FOUND_TTL = 300.0
"""Seconds that a name counts as missing (RFC 2308 allows up to what its zone says)."""
FAILURE_TTL = 30.0
"""Seconds that a resolver in trouble is not asked for the same name again."""
PATIENCE = 10.0
"""Seconds after which a look-up counts as failed; its answer is still taken when it comes."""
SIZE = 10_000
THREADS = 256
"""Look-ups under way: each holds a thread, and a dead name holds it for half a minute."""

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

    def __init__(
        self,
        ask: Callable[[str], Answer] = system,
        *,
        given: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """`ask` blocks while it looks a name up; it is called in threads.

        `given` names have the address given here and are never looked up.
        """
        self._ask = ask
        self._given = {name.lower(): (address,) for name, address in (given or {}).items()}
        self._patience = patience
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
        given = self._given.get(hostname)
        if given is not None:
            return given
        loop = asyncio.get_running_loop()
        known = self._known.get(hostname)
        if known is not None and known[0] > loop.time():
            return _unwrap(known[1])
        asking = self._asking.get(hostname)
        if asking is None:
            asking = asyncio.ensure_future(loop.run_in_executor(self._pool, self._ask, hostname))
            self._asking[hostname] = asking
            asking.add_done_callback(lambda answer: self._take(hostname, answer, loop.time()))
        try:
            async with asyncio.timeout(self._patience):
                return _unwrap(await asyncio.shield(asking))
        except TimeoutError:
            failure = FetchFailed("dns-failure", f"{hostname}: no answer")
            self._keep(hostname, failure, loop.time())
            return _unwrap(failure)

    def close(self) -> None:
        """Let the threads end; a look-up under way is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, hostname: str, asked: asyncio.Future[Answer], now: float) -> None:
        self._asking.pop(hostname, None)
        if not asked.cancelled():
            self._keep(hostname, asked.result(), now)

    def _keep(self, hostname: str, answer: Answer, now: float) -> None:
        self._known[hostname] = (now + _ttl(answer), answer)
        self._known.move_to_end(hostname)
        if len(self._known) > SIZE:
            self._known.popitem(last=False)


def _ttl(answer: Answer) -> float:
    if not isinstance(answer, FetchFailed):
        return TTL
    return NOT_FOUND_TTL if answer.reason == "dns-not-found" else FAILURE_TTL


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
