"""URLs by host and job as `url-admitted` records of a size that the scheduler likes. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from services.common.records import AdmittedUrl, Rules, UrlAdmitted

MOST = 64
"""URLs in one record: as many as a host's row remembers, so that a crash in the middle of taking
them in counts none of them twice (scheduler/accounts.py)."""
_HELD = 50_000
"""URLs that wait for others of their host at most."""
_HEAD = 4096
"""Octets of a record beside its URLs, patterns of the job included, rounded up."""
_OVERHEAD = 400
"""Octets of a URL in JSON beside the URL and its validators, rounded up."""


@dataclass(slots=True)
class _Batch:
    urls: list[AdmittedUrl] = field(default_factory=list)
    size: int = 0


class Batches:
    """Gathers URLs; each record comes out when it is full, or when too many wait."""

    def __init__(self, max_record: int, held: int = _HELD) -> None:
        """`max_record`: octets that a record may have."""
        self._most = (max_record - _HEAD) // 2
        self._limit = held
        self._held = 0
        self._batches: dict[tuple[str, Rules], _Batch] = {}

    def add(self, host: str, rules: Rules, url: AdmittedUrl) -> Iterator[UrlAdmitted]:
        """Take one URL; the records that are full by now."""
        key = host, rules
        past = url.past
        size = len(url.url) + _OVERHEAD
        if past is not None:
            size += len(past.etag or "") + len(past.last_modified or "")
        batch = self._batches.get(key)
        if batch is not None and batch.size + size > self._most:
            yield self._out(key)
            batch = None
        if batch is None:
            batch = self._batches.setdefault(key, _Batch())
        batch.urls.append(url)
        batch.size += size
        self._held += 1
        if len(batch.urls) == MOST:
            yield self._out(key)
        if self._held >= self._limit:
            yield from self.rest()

    def rest(self) -> Iterator[UrlAdmitted]:
        """All that wait."""
        for key in list(self._batches):
            yield self._out(key)

    def _out(self, key: tuple[str, Rules]) -> UrlAdmitted:
        batch = self._batches.pop(key)
        self._held -= len(batch.urls)
        host, rules = key
        return UrlAdmitted(host=host, rules=rules, urls=batch.urls)
