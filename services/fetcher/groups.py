"""Decides which hosts one fetcher must serve together: those of one IP address (D6).

Pure. Requests of one group go to one partition of `fetch-requested` and so to one fetcher.
"""

from collections.abc import Iterable

from services.fetcher.host_rules import Options


def group(host: str, options: Options, addresses: Iterable[str] | None, known: str) -> str:
    """The smallest of the host's addresses, or its own name where it shares no pace.

    `addresses` are those it may be asked at, None or empty if they are not known. Then it stays
    in the group that is `known`, as a resolver in trouble is no reason to move a host.
    """
    if not options.per_ip or options.proxy is not None:
        return host
    return min(addresses or (), default=known or host)
