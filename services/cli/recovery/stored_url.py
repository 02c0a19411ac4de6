"""The stored rows of one URL as the history that the scheduler is told (A9). Pure.

The recrawl policy goes once more through what the fetches found, oldest first, so that the
interval is what it was, as far as the rows reach back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import urljoin

from services.common.records import Outcome, Past
from services.scheduler.policies import AROUND, Observation, Policy, Seen, State

_VISITED = frozenset({Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED})
_VALIDATOR_LIMIT = 1000
"""As the parser's: longer ones are not kept."""


class Row(Protocol):
    """A row of `tables.SCAN_PAGES`."""

    @property
    def host(self) -> str: ...  # noqa: D102
    @property
    def fingerprint(self) -> bytes: ...  # noqa: D102
    @property
    def fetched_at(self) -> datetime: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def job(self) -> str: ...  # noqa: D102
    @property
    def depth(self) -> int: ...  # noqa: D102
    @property
    def outcome(self) -> str: ...  # noqa: D102
    @property
    def headers(self) -> dict[str, str] | None: ...  # noqa: D102
    @property
    def etag(self) -> str | None: ...  # noqa: D102
    @property
    def last_modified(self) -> str | None: ...  # noqa: D102
    @property
    def body_digest(self) -> bytes | None: ...  # noqa: D102
    @property
    def text_digest(self) -> bytes | None: ...  # noqa: D102
    @property
    def changed(self) -> bool | None: ...  # noqa: D102
    @property
    def size(self) -> int | None: ...  # noqa: D102
    @property
    def truncated(self) -> bool | None: ...  # noqa: D102
    @property
    def started_at(self) -> datetime: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUrl:
    """One URL with its history, as the store has it."""

    host: str
    fingerprint: bytes
    url: str
    job: str
    depth: int
    past: Past
    target: str
    """Where it redirects to; empty if its newest success was no redirect."""


def stored_url(rows: Sequence[Row], policy: Policy) -> StoredUrl:
    """What the rows of a URL say, at least one, newest first."""
    newest = rows[0]
    visits = [row for row in rows if Outcome(row.outcome) in _VISITED]
    last = visits[0] if visits else None
    whole = next((row for row in visits if row.body_digest is not None), None)
    received = next((row for row in visits if row.outcome == Outcome.OK), None)
    changes = [row for row in visits if row.changed]
    state = _learned(reversed(visits), policy)
    past = Past(
        outcome=Outcome(newest.outcome),
        scheduled_at=_seconds(newest.fetched_at),
        fetched_at=_seconds(last.started_at) if last else 0.0,
        changed_at=_seconds((changes or visits)[0 if changes else -1].started_at) if last else 0.0,
        interval=state.interval if state else 0.0,
        plan=state.pack() if state else b"",
        attempt=_failures(rows),
        etag=_validator(visits, "etag"),
        last_modified=_validator(visits, "last_modified"),
        body_digest=whole.body_digest if whole else None,
        text_digest=whole.text_digest if whole else None,
        size=(received.size or 0) if received else 0,
    )
    return StoredUrl(
        host=newest.host,
        fingerprint=newest.fingerprint,
        url=newest.url,
        job=newest.job,
        depth=newest.depth,
        past=past,
        target=_target(last),
    )


def _learned(visits: Iterable[Row], policy: Policy) -> State | None:
    state: State | None = None
    before = 0.0
    for row in visits:
        at = _seconds(row.started_at)
        changed = False if row.outcome == Outcome.MOVED and state is not None else row.changed
        if state is None or changed is None:
            seen = Seen.FIRST
        else:
            seen = Seen.CHANGED if changed else Seen.UNCHANGED
        since = max(at - before, 0.0) if state is not None else 0.0
        state = policy.learn(state, Observation(seen=seen, since_last=since), AROUND, at).state
        before = at
    return state


def _failures(rows: Sequence[Row]) -> int:
    count = 0
    for row in rows:
        if Outcome(row.outcome) in _VISITED:
            break
        count += 1
    return count


def _validator(visits: Sequence[Row], name: str) -> str | None:
    """The newest, of those since a body was last received; none of an incomplete one."""
    for row in visits:
        value: str | None = None if row.truncated else getattr(row, name)
        if value and len(value) <= _VALIDATOR_LIMIT:
            return value
        if row.outcome != Outcome.UNCHANGED:
            break
    return None


def _target(last: Row | None) -> str:
    if last is None or last.outcome != Outcome.MOVED:
        return ""
    location = (last.headers or {}).get("location", "")
    try:
        return urljoin(last.url, location) if location else ""
    except ValueError:
        return ""


def _seconds(moment: datetime) -> float:
    """A CQL timestamp, which the driver gives without a zone, in epoch seconds."""
    return moment.replace(tzinfo=UTC).timestamp()
