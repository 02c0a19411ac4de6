"""What a partition's URLs are planned to cost: the sum of their rates, never a scan (G1).

Each host's row has the sums over its own URLs, so `load` makes the partition's anew from the
hosts. A crash between two table writes may leave a sum off by a URL or two, which the price does
not notice.
"""

from services.scheduler.policies import State
from services.scheduler.rows import HostRow, UrlRow


class Plan:
    """The sums over one partition."""

    def __init__(self) -> None:
        self.planned = 0.0
        """Fetches a second."""
        self.urls = 0
        self.priorities = 0.0

    @property
    def priority(self) -> float:
        """The mean over the URLs that are planned; 0 without any."""
        return self.priorities / self.urls if self.urls else 0.0

    def load(self, host: HostRow) -> None:
        """Count in a host that was recovered."""
        self._add(host.planned, host.plans, host.priorities)

    def leave(self, host: HostRow, row: UrlRow) -> None:
        """Take the URL out of the sums, before its row changes; `join` puts it back."""
        rate = State.unpack(row.interval, row.plan).rate
        if not rate or not host.plans:
            return
        before = host.planned, host.priorities
        host.plans -= 1
        # What is left of a sum of nothing is rounding.
        host.planned = max(host.planned - rate, 0.0) if host.plans else 0.0
        host.priorities = max(host.priorities - row.priority, 0.0) if host.plans else 0.0
        self._add(host.planned - before[0], -1, host.priorities - before[1])

    def join(self, host: HostRow, row: UrlRow) -> None:
        """Put the URL into the sums, after its row changed."""
        rate = State.unpack(row.interval, row.plan).rate
        if not rate:
            return
        host.plans += 1
        host.planned += rate
        host.priorities += row.priority
        self._add(rate, 1, row.priority)

    def _add(self, planned: float, urls: int, priorities: float) -> None:
        self.urls += urls
        self.planned = self.planned + planned if self.urls else 0.0
        self.priorities = self.priorities + priorities if self.urls else 0.0
