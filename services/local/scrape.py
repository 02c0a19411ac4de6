"""What the services' metrics say about a crawl. `scrape` reads them, `Tally` adds them up."""

import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException

from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, tuple[str, ...]]
"""Metric and the values of its labels, in the order of `_WATCHED`."""

_WATCHED: Mapping[str, tuple[str, ...]] = {
    "recrawl_pages_parsed_total": ("verdict",),
    "recrawl_fetches_total": ("outcome", "reason"),
    "recrawl_urls_refused_total": ("reason",),
    "recrawl_dead_letters_total": ("topic", "reason"),
    "recrawl_fetched_bytes_total": (),
}
FAILURES = ("gone", "blocked", "transient", "permanent", "disallowed", "policy")


def samples(text: str) -> dict[Sample, float]:
    """The watched counters in one service's `/metrics`."""
    return {
        (sample.name, tuple(sample.labels[label] for label in _WATCHED[sample.name])): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in _WATCHED
    }


def scrape(ports: Iterable[int]) -> dict[int, dict[Sample, float]]:
    """Port -> its counters; one that does not answer is left out."""
    found = {}
    for port in ports:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                found[port] = samples(answer.read().decode())
        except (OSError, HTTPException):
            continue
    return found


@dataclass(slots=True)
class Tally:
    """Sums of counters since the first reading, over restarts of the services."""

    totals: Counter[Sample] = field(default_factory=Counter)
    _last: dict[int, dict[Sample, float]] = field(default_factory=dict)

    def add(self, reading: Mapping[int, Mapping[Sample, float]]) -> None:
        """Take in a reading. A counter that fell began again at nought with a new process."""
        for port, counters in reading.items():
            before = self._last.get(port)
            for sample, value in counters.items():
                if before is not None:
                    was = before.get(sample, 0.0)
                    self.totals[sample] += int(value - was if value >= was else value)
            self._last[port] = dict(counters)

    def by(self, metric: str) -> Counter[tuple[str, ...]]:
        """Label values -> count, of one metric."""
        return Counter({labels: n for (name, labels), n in self.totals.items() if name == metric})

    @property
    def stored(self) -> int:
        """Pages whose content was stored: new, changed, or cut short on the way."""
        verdicts = self.by("recrawl_pages_parsed_total")
        return sum(verdicts[(name,)] for name in ("new", "changed", "incomplete"))

    @property
    def unchanged(self) -> int:
        """Pages that were the same as before."""
        return self.by("recrawl_pages_parsed_total")[("unchanged",)]

    @property
    def redirects(self) -> int:
        """Fetches that led elsewhere."""
        fetches = self.by("recrawl_fetches_total")
        return sum(count for (outcome, _), count in fetches.items() if outcome == "moved")

    @property
    def failures(self) -> Counter[tuple[str, ...]]:
        """(outcome, reason) -> fetches that gave no page."""
        fetches = self.by("recrawl_fetches_total")
        return Counter({key: n for key, n in fetches.items() if key[0] in FAILURES})

    @property
    def refused(self) -> Counter[tuple[str, ...]]:
        """(reason,) -> URLs that the frontier did not let in."""
        return self.by("recrawl_urls_refused_total")
