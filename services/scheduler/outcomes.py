"""What happens to a URL after a fetch: its next due time, by outcome class (C6).

| outcome | next |
|---|---|
| ok, unchanged, moved | as the recrawl policy says |
| transient, blocked | retry with doubling wait; after `max_attempts` in a row, `give_up_interval` |
| gone, permanent, disallowed, policy | `give_up_interval` |
"""

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler.policies import AROUND, Observation, Policy, Seen, State
from services.scheduler.rows import UrlRow

_VISITED = frozenset({Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED})
_RETRIED = frozenset({Outcome.TRANSIENT, Outcome.BLOCKED})


def apply(
    row: UrlRow, report: CrawlReported, policy: Policy, settings: Scheduler, now: float
) -> None:
    """Update the row's history and due time from a report; places it nowhere."""
    row.scheduled = report.scheduled_at
    row.outcome = report.outcome.value
    if report.outcome in _VISITED:
        _visited(row, report, policy, now)
    else:
        fail(row, settings, now, retry=report.outcome in _RETRIED)


def fail(row: UrlRow, settings: Scheduler, now: float, *, retry: bool) -> None:
    """A fetch came to nothing: try again later, or much later."""
    row.attempt += 1
    if retry and row.attempt < settings.max_attempts:
        row.due = now + settings.retry_base * 2 ** (row.attempt - 1)
    else:
        row.attempt = settings.max_attempts if retry else 0
        row.due = now + settings.give_up_interval


def _visited(row: UrlRow, report: CrawlReported, policy: Policy, now: float) -> None:
    last = State.unpack(row.interval, row.plan) if row.fetched else None
    changed = report.changed if report.outcome != Outcome.MOVED or last is None else False
    if last is None or changed is None:
        seen = Seen.FIRST
    else:
        seen = Seen.CHANGED if changed else Seen.UNCHANGED
    since_last = max(report.fetched_at - row.fetched, 0.0) if row.fetched else 0.0
    then = policy.learn(last, Observation(seen=seen, since_last=since_last), AROUND, now)
    row.interval, row.plan = then.state.interval, then.state.pack()
    row.due = then.due
    row.attempt = 0
    row.fetched = report.fetched_at
    row.follow = False
    if report.outcome != Outcome.MOVED:
        row.moves = 0
    if changed or last is None:
        row.changed = report.fetched_at
    if report.outcome is Outcome.OK:
        row.size = report.size
    if report.listing is not None:
        row.listing = report.listing or row.sitemap_level > 0
    row.etag, row.last_modified = report.etag, report.last_modified
    row.body_digest, row.text_digest = report.body_digest, report.text_digest
