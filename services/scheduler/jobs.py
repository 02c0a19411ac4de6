"""How many pages each limited job may still take. Derived from the host rows, kept in memory."""

from collections import Counter

from services.common.records import Rules


class JobLedger:
    """Pages stored and under way per job that has a `max_pages`, over one worker's partitions."""

    def __init__(self) -> None:
        self._stored: Counter[str] = Counter()
        self._under_way: Counter[str] = Counter()

    def room(self, rules: Rules) -> bool:
        """Whether one more page of the job may be handed out now."""
        taken = self._stored[rules.job] + self._under_way[rules.job]
        return rules.max_pages is None or taken < rules.max_pages

    def full(self, rules: Rules) -> bool:
        """Whether the job has all its pages."""
        return rules.max_pages is not None and self._stored[rules.job] >= rules.max_pages

    def stored(self, job: str, pages: int) -> None:
        """Pages of the job were stored (negative: their partition went away)."""
        self._stored[job] += pages

    def under_way(self, job: str, pages: int) -> None:
        """Pages of the job were handed out (negative: came back)."""
        self._under_way[job] += pages
