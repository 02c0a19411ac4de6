"""What the scheduler knows of one URL, and what it waits for, in words (G3, A16).

Decides how rows read; changes nothing.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.common.records import PriceSet
from services.common.settings import Scheduler
from services.scheduler import dead_ends, deletion, pace, quarantine, timeline
from services.scheduler.policies import Policy, State
from services.scheduler.rows import NOWHERE, Flight, HostRow, UrlRow

_MINUTE, _DAY = 60, 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One URL and what surrounds it."""

    row: UrlRow | None
    host: HostRow | None
    policy: Policy | None
    """The one that the URL is planned by."""
    price: PriceSet | None
    """What a recrawl must be worth; None before it was first set."""
    flight: Flight | None
    state: str | None
    filed: bool
    """The timeline holds it where its row says."""
    job_has_room: bool
    in_flight: int
    """Requests of the partition under way."""
    partition_has_room: bool
    """For one more request of the host."""


def explain(view: View, settings: Scheduler, now: float) -> dict[str, str]:
    """Facts by name, in the order in which they are best read; times are UTC."""
    row = view.row
    if row is None and view.host is not None and 0 < settings.max_urls_per_host <= view.host.known:
        full = f"nothing: its host has all the {view.host.known} URLs it may have (host-full)"
        return {"state": "unknown", "waits for": full}
    if row is None and view.host is not None and view.host.deleted:
        prefixes = ", ".join(gone.prefix for gone in view.host.deleted)
        waits = f"someone to find it; never, if it begins with {prefixes} (deleted)"
        return {"state": "unknown", "waits for": waits}
    if row is None:
        return {"state": "unknown", "waits for": "someone to find it: no link led here yet"}
    due = _planned(view) or _due(view, row)
    facts = {
        "state": view.state or "unknown",
        "fetched as": row.url,
        "job": row.job,
        "depth": str(row.depth),
        "priority": f"{row.priority:g}",
        "last outcome": _outcome(row),
        "last request": _time(row.scheduled),
        "last reason": row.reason,
        "last fetch": _time(row.fetched),
        "last change": _time(row.changed),
        "failures in a row": str(row.attempt) if row.attempt else "",
        "interval": _span(row.interval) if row.interval else "",
        **_plan(view),
        "next due": _time(due) if view.flight is None else "",
        "waits for": _waits_for(view, settings, now),
    }
    return {name: fact for name, fact in facts.items() if fact} | _host(view, settings, now)


def _outcome(row: UrlRow) -> str:
    if row.ended is not None and dead_ends.is_ended(row):
        return f"{row.outcome}: {row.ended.reason}"
    return row.outcome


def _plan(view: View) -> dict[str, str]:
    """What the recrawl policy makes of the URL (D8, G1)."""
    row, policy = view.row, view.policy
    if row is None or policy is None:
        return {}
    facts = {"policy": policy.settings.policy}
    state = State.unpack(row.interval, row.plan)
    if state.a:
        evidence = f"(Gamma belief: shape {state.a:.3g} / {_span(state.b)})"
        facts["change rate"] = f"{state.a / state.b * _DAY:.3g} changes a day {evidence}"
    if not policy.priced:
        return facts
    if view.price is not None:
        facts["price of a recrawl"] = f"{_span(view.price.price)} of staleness"
    return facts


def _planned(view: View) -> float:
    """When a URL is planned for whose bucket comes earlier, to ask its policy again; else 0."""
    row, policy = view.row, view.policy
    if row is None or policy is None or not policy.priced or row.attempt:
        return 0.0
    planned = row.fetched + row.interval
    rate = State.unpack(row.interval, row.plan).rate
    return planned if rate and planned > row.due > 0 else 0.0


def _host(view: View, settings: Scheduler, now: float) -> dict[str, str]:
    host = view.host
    if host is None:
        return {}
    facts = {
        "host's gap": _span(pace.gap(host, settings)),
        "host's back-off": _span(host.backoff) if host.backoff else "",
        "host paused since": _time(host.paused),
        "host held back until": _time(host.not_before) if host.not_before > now else "",
        "host's mapping": _mapping(host, settings),
        "host silent since": _silence(host),
        "host's requests": f"{len(host.flights)} of {pace.window(host, settings)} under way",
        "host's URLs": str(host.known),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _mapping(host: HostRow, settings: Scheduler) -> str:
    """Where the host's permanent redirects lead; empty if nowhere."""
    found = host.mapping
    if found is None or not found.host:
        return ""
    if found.until:
        return f"to {found.host}, until {_time(found.until)}"
    needed = settings.host_mapping_confirmations
    return f"perhaps to {found.host}: confirmed by {len(found.seen)} of {needed} URLs"


def _silence(host: HostRow) -> str:
    silence = host.silence
    return f"{_time(silence.since)}, {silence.incidents} times" if silence is not None else ""


def _waits_for(view: View, settings: Scheduler, now: float) -> str:
    """The first thing that keeps it from being requested now."""
    row, host = view.row, view.host
    assert row is not None  # noqa: S101 - the caller has seen it
    if view.flight is not None:
        until = _time(view.flight.lease_until)
        return f"its request ({view.flight.reason}) to be reported back, at most until {until}"
    gone = _deleted(host, row.url, row.deleted) if host is not None else ""
    if gone or row.bucket == NOWHERE:
        return gone or "nothing: its job has all its pages"
    if host is None or not view.filed:
        return "nothing: it has lost its place, and gets one when it is found or reported again"
    bucket = host.buckets[row.bucket]
    if bucket.due > max(now, quarantine.until(host, settings)):
        if _planned(view) > bucket.due:
            return f"its due time, if the price stays; its policy is asked at {_time(bucket.due)}"
        return f"its due time, {_time(bucket.due)}"
    ahead = row.position - bucket.read
    queue = "new URLs of its priority" if timeline.is_new(row.bucket) else "URLs of its bucket"
    turn = f"its host's turn; at most {ahead} of the host's {queue} go before it"
    probed = _quarantine(host, settings, now)
    return probed or _held_up(view, host, row, settings, now) or turn


def _quarantine(host: HostRow, settings: Scheduler, now: float) -> str:
    """What a URL of a host in quarantine waits for; empty if it is in none."""
    if host.paused or not quarantine.holds(host, settings):
        return ""
    if host.flights:
        return "its host's quarantine: a probe is under way"
    return f"its host's quarantine, next probe at {_time(max(host.not_before, now))}"


def _held_up(view: View, host: HostRow, row: UrlRow, settings: Scheduler, now: float) -> str:
    """What keeps a URL waiting that could have its turn; empty if nothing does."""
    if host.paused:
        return f"its host to be resumed: an operator paused it on {_time(host.paused)}"
    if host.not_before > now:
        return f"its host, held back until {_time(host.not_before)}"
    if len(host.flights) >= pace.window(host, settings):
        return f"one of its host's {len(host.flights)} requests to end"
    if not view.partition_has_room:
        return f"one of the partition's {view.in_flight} requests to end"
    if not row.stored and not view.job_has_room:
        return "its job's pages under way: they may be the last that the job may have"
    return ""


def _due(view: View, row: UrlRow) -> float:
    """When it is due; 0 if now or never."""
    bucket = view.host.buckets.get(row.bucket) if view.host is not None else None
    if bucket is None:
        return row.due
    return bucket.due if bucket.moved else row.due or bucket.due


def _deleted(host: HostRow, url: str, at: float) -> str:
    """Who keeps a URL from ever being fetched, and since when; empty if nobody does."""
    gone = deletion.covering(host, url)
    if at:
        return f"nothing: it was deleted on {_time(at)}"
    if gone is not None:
        return f"nothing: what begins with {gone.prefix} was deleted on {_time(gone.at)}"
    return ""


def _time(at: float) -> str:
    if not at:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _span(seconds: float) -> str:
    """`1.5 s`, or days, hours, minutes and seconds."""
    return f"{seconds:g} s" if seconds < _MINUTE else str(timedelta(seconds=round(seconds)))
