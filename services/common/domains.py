"""Registered domains: what a host's owner bought, by the public suffix list.

The list is the one shipped with `publicsuffixlist`; its private part counts, so that
`user.github.io` is a domain of its own. Never asks the network.
"""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=10_000)
def registered_domain(hostname: str) -> str:
    """The registered domain of a host name as in `Url.hostname`.

    An address, a public suffix and a single label are their own domain; under an unknown
    top-level name the last two labels are.
    """
    if hostname.startswith("[") or hostname.rpartition(".")[2].isdigit():
        return hostname
    return _suffixes().privatesuffix(hostname) or hostname


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
