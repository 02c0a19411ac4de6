"""A URL that comes with its history: into a row, with a time that its past asks for (A9).

So a schedule is rebuilt from Cassandra, and another crawler's taken over. What is overdue by its
past comes over half an interval, not at once: after a loss everything would be due together.
"""

from services.common.records import Outcome, Past, UrlAdmitted
from services.common.settings import Scheduler
from services.scheduler.outcomes import RETRIED, retry_wait
from services.scheduler.policies import AROUND, Observation, Policy, Seen, State
from services.scheduler.rows import UrlRow

_PARTS = 1 << 32


def only(event: UrlAdmitted) -> bool:
    """Whether all that an event tells is history."""
    return bool(event.urls) and all(admitted.past is not None for admitted in event.urls)


def take(
    row: UrlRow, fingerprint: bytes, past: Past, policy: Policy, *, settings: Scheduler, now: float
) -> None:
    """Fill the row and its due time from its past; places it nowhere."""
    row.scheduled, row.outcome = past.scheduled_at, past.outcome.value
    row.fetched, row.changed = past.fetched_at, past.changed_at
    row.etag, row.last_modified = past.etag, past.last_modified
    row.body_digest, row.text_digest = past.body_digest, past.text_digest
    row.size = past.size
    row.attempt = 0
    state = _state(past, policy, settings)
    row.interval, row.plan = (state.interval, state.pack()) if past.fetched_at else (0.0, b"")
    if past.outcome in (Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED):
        last, wait = past.fetched_at or past.scheduled_at, state.interval
    elif past.outcome in RETRIED and past.attempt < settings.max_attempts:
        row.attempt = max(past.attempt, 1)
        last, wait = past.scheduled_at, retry_wait(row.attempt, settings)
    else:
        row.attempt = settings.max_attempts if past.outcome in RETRIED else 0
        last, wait = past.scheduled_at, settings.give_up_interval
    row.due = _due(min(last, now), wait, fingerprint, now)


def _state(past: Past, policy: Policy, settings: Scheduler) -> State:
    if past.plan:
        state = State.unpack(past.interval, past.plan)
    else:
        seen = Observation(seen=Seen.FIRST)
        state = policy.learn(None, seen, AROUND, past.fetched_at).state
    if past.interval > 0:
        state.interval = min(max(past.interval, settings.min_interval), settings.max_interval)
        state.rate = 1.0 / state.interval
    return state


def _due(last: float, wait: float, fingerprint: bytes, now: float) -> float:
    due = last + wait
    if due > now:
        return due
    # Its own share of the time, the same in each rebuild.
    share = int.from_bytes(fingerprint[-4:], "big") / _PARTS
    return now + share * wait / 2
