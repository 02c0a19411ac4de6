"""A URL of a host that has moved becomes the same URL of the host where it is now (E9).

Decides by what is told of all hosts: follows a chain of mappings to its end, and leaves a URL
alone where there is none, where it is over, or where the chain goes round in a circle, is too
long or leads from https to http. So the result is never itself of a host that is mapped.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from services.common.records import HostUpdated
from services.common.urls import BadUrl, Url, parse

MAX_HOPS = 5

Fate = Literal["", "circle", "too-long", "insecure", "malformed"]
"""Why a mapping is not used; empty if it is."""


class Place(NamedTuple):
    """Where a host's URLs are now."""

    host: str
    scheme: str
    """Empty: the one that the URL has."""
    until: float
    """Seconds since the epoch, after which it is not known any more."""


class Hosts(Protocol):
    """All hosts that have moved."""

    def get(self, key: str, /) -> Place | None:
        """Where the host's URLs are; None if they are where they were."""


_NONE: dict[str, Place] = {}
NOWHERE: Hosts = _NONE
"""No host has moved."""


@dataclass(frozen=True, slots=True)
class Trail:
    """What came of a URL of a host that has moved, and why."""

    url: Url
    """The URL to use: the same as it was if `fate` is not empty."""
    hops: tuple[tuple[str, Place], ...]
    """Each host on the way, and where it moved."""
    fate: Fate = ""

    @property
    def until(self) -> float:
        """When the first of the hops is over."""
        return min(place.until for _, place in self.hops)


def place_of(record: HostUpdated) -> Place | None:
    """What is kept of a record; None of a host that is where it was."""
    if not record.mapped_to:
        return None
    return Place(record.mapped_to, record.mapped_scheme, record.mapped_until)


def mapped(url: Url, hosts: Hosts, now: float) -> Url:
    """The URL to take for `url`: the same object unless its host has moved."""
    if hosts.get(url.host) is None:  # nearly all of them
        return url
    found = trail(url, hosts, now)
    return url if found is None else found.url


def trail(url: Url, hosts: Hosts, now: float) -> Trail | None:
    """The way from `url` to where it is now; None if its host has not moved."""
    here, hops = url, []
    been = {url.host}
    while (place := hosts.get(here.host)) is not None and place.until > now:
        hops.append((here.host, place))
        after = _moved(here, place)
        fate = _fate(here, after, been, len(hops))
        if after is None or fate:
            return Trail(url, tuple(hops), fate)
        here = after
        been.add(here.host)
    return Trail(here, tuple(hops)) if hops else None


def _fate(here: Url, after: Url | None, been: set[str], hops: int) -> Fate:
    if after is None:
        return "malformed"
    if after.host in been:
        return "circle"
    if hops > MAX_HOPS:
        return "too-long"
    return "insecure" if (here.scheme, after.scheme) == ("https", "http") else ""


def _moved(url: Url, place: Place) -> Url | None:
    try:
        there = parse(f"{place.scheme or url.scheme}://{place.host}{url.path}")
    except BadUrl:
        return None
    # What is no host in the record would change the path too.
    return there if there.path == url.path else None
