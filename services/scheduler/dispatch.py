"""Who is fetched next: hosts in turn, within windows, budget and job limits (A4, A5, A15, A16)."""

from services.common.records import FetchRequested, Outcome, Reason, Rules
from services.common.settings import Scheduler
from services.scheduler import dead_ends, deletion, outcomes, pace, quarantine, timeline
from services.scheduler.accounts import Accounts
from services.scheduler.budget import Budget, Side
from services.scheduler.jobs import JobLedger
from services.scheduler.ready import Ready, Standing
from services.scheduler.recrawls import Recrawls
from services.scheduler.rows import NOWHERE, Bucket, Flight, HostRow, Rows, UrlRow

_BURST = 128
"""Requests emitted by one event at most, so that no event takes long."""
_LOOKS = 8
"""URLs that are looked at and left alone for one request at most, so that no event takes long."""
_REMOVALS = 512
"""Deleted URLs put away by one event at most, so that no event takes long."""
_ALL_HANGS = 2
"""Windows that may be under way when what is under way hangs."""


class Dispatcher:
    """Hands out one partition's work."""

    def __init__(
        self,
        settings: Scheduler,
        ready: Ready,
        accounts: Accounts,
        jobs: JobLedger,
        recrawls: Recrawls,
    ) -> None:
        self._settings = settings
        self._ready = ready
        self._accounts = accounts
        self._jobs = jobs
        self._recrawls = recrawls
        self._removed = 0
        sacrificed = settings.sacrifice == "new"
        self._budget = Budget(
            settings.recrawl_share,
            max_lag=settings.max_lag if sacrificed else 0.0,
            new_floor=settings.new_floor,
        )

    @property
    def lag(self) -> float:
        """Seconds by which recrawls are handed out late."""
        return self._budget.lag

    def dispatch(self, rows: Rows, now: float) -> list[FetchRequested]:
        """Requests for what can be fetched now, as far as the window has room."""
        requests: list[FetchRequested] = []
        self._removed = 0
        for _ in range(_BURST):
            if self._removed >= _REMOVALS:
                break
            rooms = self._rooms()
            side = self._side(rooms)
            if side is None:
                break
            name = self._ready.serve(side, rooms)
            host = rows.host(name)
            if host is None:
                self._ready.rest(name, now + self._settings.tick)
                continue
            request = self._take_first(rows, host, side, now)
            self._ready.place(host, now)
            if request is not None:
                requests.append(request)
            elif timeline.has_new(host) and self._removed < _REMOVALS:
                self._ready.rest(name, now + self._settings.tick)
        return requests

    def waits(self) -> bool:
        """Whether any host can be asked that the window has room for."""
        rooms = self._rooms()
        return self._ready.waits("due", rooms) or self._ready.waits("new", rooms)

    def has_room(self, host: HostRow) -> bool:
        """Whether the window has room for a request of the host."""
        return ("trial" if quarantine.unproven(host) else "proven") in self._rooms()

    def _side(self, rooms: list[Standing]) -> Side | None:
        """The side that is served next; None if nobody waits whom the window has room for."""
        due, new = self._ready.waits("due", rooms), self._ready.waits("new", rooms)
        if "proven" in rooms:
            return self._budget.choose(due=due, new=new)
        # Recrawls may wait for room: the budget is not to take them for none.
        return "new" if new else "due" if due else None

    def _rooms(self) -> list[Standing]:
        """Which hosts may be asked, as the requests under way leave room.

        Hosts that answer have the whole window, whatever hangs beside it, and those on trial
        have half of it, however busy the others are.
        """
        window = self._settings.partition_window
        total, trial = self._accounts.in_flight, self._ready.loads["trial"]
        rooms: list[Standing] = []
        # Where nothing is reported back at all, everything hangs: that is bounded too.
        if total - trial < window and total < _ALL_HANGS * window:
            rooms.append("proven")
        if total < window or trial < window // 2:
            rooms.append("trial")
        return rooms

    def recrawl_idle(self, rows: Rows, now: float) -> list[FetchRequested]:
        """With nothing else to do, the URL that is due next (A15), if not fetched just now."""
        name = self._ready.sleeper()
        host = rows.host(name) if name is not None else None
        if host is None or host.paused or host.not_before > now:
            return []
        self._removed = 0
        numbers = [number for number in host.buckets if not timeline.is_new(number)]
        number = min(numbers, key=lambda n: host.buckets[n].due, default=None)
        if number is None:
            return []
        found = timeline.peek(rows, host, number)
        request = None
        if found is not None and not found[1].attempt:
            rested = now - found[1].fetched >= self._settings.min_interval
            request = self._take(rows, host, number, now, looks=0) if rested else None
        self._ready.place(host, now)
        return [] if request is None else [request]

    def _take_first(
        self, rows: Rows, host: HostRow, side: Side, now: float
    ) -> FetchRequested | None:
        """A request from the first of the side's buckets that has one to give."""
        if side == "new":
            numbers = timeline.new_order(host)
        else:
            due = timeline.first_due(host, now)
            numbers = [] if due is None else [due]
            if due is not None and host.not_before <= now and not host.buckets[due].fresh:
                self._budget.late(now - max(host.buckets[due].due, host.not_before))
        for number in numbers:
            request = self._take(rows, host, number, now)
            if request is not None:
                return request
        return None

    def _take(
        self, rows: Rows, host: HostRow, number: int, now: float, *, looks: int = _LOOKS
    ) -> FetchRequested | None:
        """The bucket's first URL that may be fetched, as a request.

        `looks`: how many URLs may be left alone on the way; 0: none is asked whether it should be.
        """
        rows.save_host(host)
        slept = 0
        while (found := timeline.peek(rows, host, number)) is not None:
            fingerprint, row = found
            if deletion.holds(host, row):
                if self._removed >= _REMOVALS:
                    return None
                self._removed += 1
                before = self._accounts.state(host, fingerprint, row)
                timeline.advance(rows, host, number)
                if fingerprint not in host.flights:
                    self._recrawls.forget(host, row)
                    deletion.bury(rows, self._accounts, host, fingerprint, row, before=before)
                continue
            as_planned = not host.buckets[number].moved
            if looks and as_planned and self._recrawls.sleeps(rows, host, fingerprint, row, now):
                slept += 1
                if slept == looks:
                    return None
                continue
            rules = host.rules.get(row.job) or Rules(job=row.job)
            if row.stored or self._jobs.room(rules) or (row.listing and not self._jobs.full(rules)):
                before = self._accounts.state(host, fingerprint, row)
                bucket = host.buckets[number]
                timeline.advance(rows, host, number)
                request = self._request(host, fingerprint, row, rules, now, bucket=bucket)
                self._accounts.move(host, before, "in_flight")
                return request
            if not self._jobs.full(rules):
                return None
            before = self._accounts.state(host, fingerprint, row)
            timeline.advance(rows, host, number)
            row.bucket = NOWHERE
            self._recrawls.plan.leave(host, row)
            outcomes.unplan(row)
            rows.save_url(fingerprint, row)
            self._accounts.move(host, before, "over_limit")
        return None

    def _request(
        self,
        host: HostRow,
        fingerprint: bytes,
        row: UrlRow,
        rules: Rules,
        now: float,
        *,
        bucket: Bucket,
    ) -> FetchRequested:
        # Later than any earlier request of this URL, even if the clock was set back.
        scheduled = max(round(now, 3), round(row.scheduled + 0.001, 3))
        lease_until = now + pace.lease(host, self._settings)
        counts = rules.max_pages is not None and not (row.stored or row.listing)
        counted = row.job if counts else ""
        probes = quarantine.holds(host, self._settings)
        reason = "probe" if probes else _reason(row, bucket, now)
        flight = Flight(scheduled, lease_until, row.depth, counted, reason)
        self._accounts.take_off(host, fingerprint, flight)
        self._recrawls.handed += reason == "due"
        return FetchRequested(
            url=row.url,
            fingerprint=fingerprint,
            host=host.name,
            rules=rules,
            depth=row.depth,
            reason=reason,
            attempt=row.attempt,
            follow=row.follow,
            scheduled_at=scheduled,
            lease_until=lease_until,
            gap=pace.gap(host, self._settings),
            etag=row.etag,
            last_modified=row.last_modified,
            body_digest=row.body_digest,
            text_digest=row.text_digest,
            size=row.size,
            sitemap_level=row.sitemap_level,
            group=host.group,
            trail=dead_ends.fresh(row.trail, now),
        )


def _reason(row: UrlRow, bucket: Bucket, now: float) -> Reason:
    if row.attempt:
        return "retry"
    if timeline.is_new(row.bucket) or not row.outcome:
        # What was only ever a probe that failed is as new as before.
        new = not row.scheduled or (not row.fetched and row.outcome == Outcome.TRANSIENT)
        return "new" if new else "asked"
    if bucket.asked:
        return "asked"
    return "due" if row.due <= now or bucket.due <= now else "idle"
