"""What happens to a URL after a fetch: its next due time, by outcome class (C6).

| outcome | next |
|---|---|
| ok, unchanged, moved | as the recrawl policy says |
| transient, blocked | retry with doubling wait; after `max_attempts` in a row, `give_up_interval` |
| gone, permanent, disallowed, policy | `give_up_interval` |

What waits for `give_up_interval` has no part in the plan.
"""

from services.common.records import CrawlReported, Outcome
from services.common.settings import Scheduler
from services.scheduler.hints import observation
from services.scheduler.policies import Around, Next, Observation, Policy, Seen, State
from services.scheduler.rows import UrlRow

_VISITED = frozenset({Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED})
RETRIED = frozenset({Outcome.TRANSIENT, Outcome.BLOCKED})
"""Outcomes that may be others next time."""


def apply(
    row: UrlRow, report: CrawlReported, policy: Policy, around: Around, now: float
) -> Observation | None:
    """Update the row's history and due time from a report; places it nowhere.

    Gives what was seen of the page, None if nothing.
    """
    was_gone = row.outcome == Outcome.GONE
    row.scheduled = report.scheduled_at
    row.outcome = report.outcome.value
    if report.outcome in _VISITED:
        seen = observation(row, report)
        _visited(row, report, seen, policy.learn(_last(row), seen, around, now))
        return seen
    if report.outcome is Outcome.GONE and row.fetched and not was_gone:
        then = policy.learn(_last(row), observation(row, report), around, now)
        row.plan = then.state.pack()
    fail(row, policy.settings, now, retry=report.outcome in RETRIED)
    return None


def fail(row: UrlRow, settings: Scheduler, now: float, *, retry: bool) -> None:
    """A fetch came to nothing: try again later, or much later."""
    row.attempt += 1
    if retry and row.attempt < settings.max_attempts:
        row.due = now + retry_wait(row.attempt, settings)
    else:
        row.attempt = settings.max_attempts if retry else 0
        row.due = now + settings.give_up_interval
        unplan(row)


def retry_wait(attempt: int, settings: Scheduler) -> float:
    """Seconds to wait after the failure that is the `attempt`-th in a row, from 1 on."""
    wait: float = settings.retry_base * 2 ** (attempt - 1)
    return wait


def unplan(row: UrlRow) -> None:
    """The URL has no part in the plan until it is fetched with success; what it taught stays."""
    if row.plan:
        state = State.unpack(row.interval, row.plan)
        row.plan = State(state.interval, state.a, state.b).pack()


def _last(row: UrlRow) -> State | None:
    return State.unpack(row.interval, row.plan) if row.fetched else None


def _visited(row: UrlRow, report: CrawlReported, seen: Observation, then: Next) -> None:
    if seen.seen is Seen.CHANGED or not row.fetched:
        row.changed = report.fetched_at
    row.interval, row.plan = then.state.interval, then.state.pack()
    row.due = then.wake
    row.attempt = 0
    row.fetched = report.fetched_at
    row.follow = False
    if report.outcome != Outcome.MOVED:
        row.moves = 0
    if report.outcome is Outcome.OK:
        row.size = report.size
    if report.listing is not None:
        row.listing = report.listing or row.sitemap_level > 0
    row.etag, row.last_modified = report.etag, report.last_modified
    row.body_digest, row.text_digest = report.body_digest, report.text_digest
