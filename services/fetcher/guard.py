"""Decides which addresses and ports a fetch may connect to. Knows nothing of names or sockets.

Everything that is not public unicast is refused: the IANA special-purpose registries (RFC 6890),
multicast, and IPv6 addresses that carry a refused IPv4 address inside.
"""

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Network = IPv4Network | IPv6Network

REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # RFC 1918
        "100.64.0.0/10",  # RFC 6598, carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # RFC 1918
        "192.0.0.0/24",  # IETF assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relay, deprecated
        "192.168.0.0/16",  # RFC 1918
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/3",  # multicast, reserved, broadcast
    )
)
REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "64:ff9b:1::/48",  # RFC 8215, local NAT64
        "100::/64",  # discard only
        "2001::/23",  # IETF assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, deprecated
        "ff00::/8",  # multicast
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052
_LOW_96 = IPv6Network("::/96")  # ::, ::1 and the deprecated IPv4-compatible addresses

BAD_PORTS = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
        *(179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563),
        *(587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060),
        *(5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""Ports of other protocols, which no page is served from (WHATWG Fetch, "bad port")."""


def networks(texts: list[str]) -> tuple[Network, ...]:
    """The networks that `texts` name.

    Raises:
        ValueError: one of them is no network.
    """
    return tuple(ip_network(text, strict=False) for text in texts)


def refused(address: str, exempt: tuple[Network, ...] = ()) -> bool:
    """Whether a fetch must not connect to `address` (an IP address, maybe with a scope id).

    Raises:
        ValueError: `address` is no IP address.
    """
    ip = ip_address(address)
    inner = ip if isinstance(ip, IPv4Address) else _embedded(ip)
    if any(candidate in network for network in exempt for candidate in (ip, inner) if candidate):
        return False
    if inner is not None:
        return any(inner in network for network in REFUSED_V4)
    return any(ip in network for network in REFUSED_V6)


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a packet to `ip` would end up at."""
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip in _NAT64 or ip in _LOW_96:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return None
