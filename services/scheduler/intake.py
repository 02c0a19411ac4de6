"""Whether a worker takes new URLs: back-pressure against more waiting than it may hold (D10).

Nothing is refused for it. The records stay in Kafka until there is room again.
"""

from collections import Counter

_REOPENS = 0.9
"""Share of the limit under which a stopped worker takes URLs again; without the distance it
would stop and start with every URL."""


class Intake:
    """Never-fetched URLs that wait, over one worker's partitions, and their limit."""

    def __init__(self, limit: int) -> None:
        """`limit` 0: none."""
        self._limit = limit
        self._waiting: Counter[int] = Counter()
        self.stopped = False
        """Whether no new URLs are to be taken for now."""

    def count(self, partition: int, waiting: int) -> None:
        """So many wait in a partition now."""
        self._waiting[partition] = waiting
        self._judge()

    def forget(self, partition: int) -> None:
        """The partition moves to another worker."""
        del self._waiting[partition]
        self._judge()

    def _judge(self) -> None:
        total = self._waiting.total()
        if self.stopped:
            self.stopped = self._limit > 0 and total >= self._limit * _REOPENS
        else:
            self.stopped = 0 < self._limit <= total
