"""Hosts that hang or are dead take nothing from the others: a crawl on a simulated clock (D6).

The fetcher is played: one request a host at a time, each in its own time, as many hosts at once
as there are. So the scheduler alone can be what makes a host wait.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from services.common.records import FetchRequested, Outcome

Make = Callable[..., Any]
HOSTS = 50
SECONDS = 120.0
LATENCY = 0.5
TIMEOUT = 20.0
STEP = 0.5
PAGES = 400
_without: dict[str, Counter[str]] = {}
"""Pages without hosts that hang, by settings."""


class Fetches:
    """Requests that hosts work on, one after another each."""

    def __init__(self) -> None:
        self._free: dict[str, float] = {}
        self._ends: list[tuple[float, int, FetchRequested]] = []
        self._count = 0

    def take(self, requests: list[FetchRequested], now: float, seconds: dict[str, float]) -> None:
        """The requests queue behind those that their hosts have."""
        for request in requests:
            begun = max(now, self._free.get(request.host, 0.0))
            ends = begun + seconds.get(request.host, LATENCY)
            self._free[request.host] = ends + request.gap
            self._count += 1
            heapq.heappush(self._ends, (ends, self._count, request))

    def ended(self, now: float) -> Iterator[FetchRequested]:
        """Those that are over."""
        while self._ends and self._ends[0][0] <= now:
            yield heapq.heappop(self._ends)[2]


def crawled(desk: Make, hang: set[str], since: float, **settings: object) -> Counter[str]:
    """Pages by host that answered within the time; some hosts give none from a time on."""
    d = desk(**settings)
    fetches, pages, end = Fetches(), Counter[str](), d.now + SECONDS
    begun = d.now
    # The hosts that hang come first, so that they have all the chances to fill the window.
    for host in sorted((f"h{n}.test" for n in range(HOSTS)), key=lambda h: h not in hang):
        emitted = d.admit(*(f"http://{host}/{n}" for n in range(PAGES)), host=host)
        fetches.take(emitted, d.now, {})
    if since == 0.0:
        fetches = Fetches()
        fetches.take(d.under_way, d.now, dict.fromkeys(hang, TIMEOUT))
    while d.now < end:
        slow = dict.fromkeys(hang, TIMEOUT) if d.now - begun >= since else {}
        for request in fetches.ended(d.now):
            if request.host in slow:
                emitted = d.report(request, Outcome.TRANSIENT, reason="read-timeout")
            else:
                pages[request.host] += 1
                emitted = d.report(request, status=200)
            fetches.take(emitted, d.now, slow)
        fetches.take(d.tick(STEP), d.now, slow)
    return pages


@pytest.mark.parametrize("hanging", [1, 30], ids=["a tarpit", "thirty dead"])
@pytest.mark.parametrize("since", [0.0, 30.0], ids=["from the start", "later"])
@pytest.mark.parametrize(
    "settings",
    [
        {"min_gap": 1.0},
        {"min_gap": 0.0, "partition_window": 200},
        {"min_gap": 0.0, "partition_window": 64, "host_window": 4},
    ],
    ids=["as usual", "without a gap", "in a small window"],
)
def test_the_others_are_as_fast_as_without_them(
    desk: Make, settings: dict[str, Any], since: float, hanging: int
) -> None:
    names = [f"h{n}.test" for n in range(HOSTS)]
    hang, others = set(names[:hanging]), names[hanging:]
    with_them = crawled(desk, hang, since, **settings)
    key = repr(settings)
    if key not in _without:
        _without[key] = crawled(desk, set(), since, **settings)
    without = _without[key]
    slower = {host: (with_them[host], without[host]) for host in others}
    assert {host: p for host, p in slower.items() if p[0] < 0.98 * p[1]} == {}
