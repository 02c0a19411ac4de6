"""URLs that passed the frontier become known, or are known already (A1).

Most are known; those that wait for their turn again are told by known.py. A URL that comes with
its history is taken in with it (A9). Repeating an event changes nothing.
"""

from collections import Counter

from services.common.records import AdmittedUrl, Past, UrlAdmitted
from services.common.settings import Scheduler
from services.scheduler import dead_ends, deletion, history, overflow
from services.scheduler.accounts import Accounts
from services.scheduler.known import wants_again
from services.scheduler.places import Places, write_again
from services.scheduler.recrawls import Recrawls
from services.scheduler.rows import HostRow, Rows, UrlRow


class Admission:
    """How one partition takes URLs in."""

    def __init__(
        self,
        settings: Scheduler,
        accounts: Accounts,
        recrawls: Recrawls,
        places: Places,
        happened: Counter[str],
    ) -> None:
        self._settings = settings
        self._accounts = accounts
        self._recrawls = recrawls
        self._places = places
        self._happened = happened

    def take(
        self, event: UrlAdmitted, rows: Rows, host: HostRow, now: float, *, replay: bool
    ) -> None:
        """Take the event's URLs in; the host's row is written, and to be placed anew.

        `replay`: the event may have been handled before by a process that was killed, here
        but not in the changelog; so what it wrote is written again.
        """
        if history.only(event):
            # What a live job says of its rules is newer than what was told of its past.
            host.rules.setdefault(event.rules.job, event.rules)
        else:
            host.rules[event.rules.job] = event.rules
        for admitted in event.urls:
            row = rows.url(admitted.fingerprint)
            if deletion.covers(host, admitted.url) or (row is not None and row.deleted):
                self._refuse(rows, host, admitted, row, replay=replay)
            elif admitted.past is not None:
                self._remember(event, admitted, admitted.past, rows, host, row, now, replay=replay)
            else:
                self._admit(event, admitted, rows, host, row, now, replay=replay)
        rows.save_host(host)

    def _refuse(
        self, rows: Rows, host: HostRow, admitted: AdmittedUrl, row: UrlRow | None, *, replay: bool
    ) -> None:
        """An operator has deleted it."""
        self._happened["deleted"] += 1
        deletion.refuse(rows, host, admitted.fingerprint, row)
        if replay and row is not None:
            rows.save_host(host)

    def _admit(  # noqa: PLR0917 - one call
        self,
        event: UrlAdmitted,
        admitted: AdmittedUrl,
        rows: Rows,
        host: HostRow,
        row: UrlRow | None,
        now: float,
        *,
        replay: bool,
    ) -> None:
        """Let a URL wait for its turn that is new, or wanted again."""
        name = admitted.fingerprint
        before = self._accounts.counted_as(rows, host, name, row)
        if row is None:
            if self._is_full(host):
                return
            row = _new(event, admitted)
            host.known += 1
        elif not self._wants_again(rows, event, host, admitted, row, now):
            self._happened["known"] += 1
            if replay:
                write_again(rows, host, name, row)
            return
        limit = self._settings.max_new_per_host
        overflow.file_new(rows, host, name, row, now, limit=limit)
        rows.save_url(name, row)
        self._accounts.move(host, before, self._accounts.state(host, name, row))

    def _wants_again(  # noqa: PLR0917 - one call
        self,
        rows: Rows,
        event: UrlAdmitted,
        host: HostRow,
        admitted: AdmittedUrl,
        row: UrlRow,
        now: float,
    ) -> bool:
        """`wants_again`, with the plan told of a priority that rises, and the trail kept."""
        if dead_ends.take_trail(host, row, admitted, now):
            rows.save_url(admitted.fingerprint, row)
        if admitted.priority <= row.priority:
            return wants_again(rows, event, host, admitted, row)
        self._recrawls.plan.leave(host, row)
        wanted = wants_again(rows, event, host, admitted, row)
        self._recrawls.plan.join(host, row)
        return wanted

    def _remember(  # noqa: PLR0917 - one call
        self,
        event: UrlAdmitted,
        admitted: AdmittedUrl,
        past: Past,
        rows: Rows,
        host: HostRow,
        row: UrlRow | None,
        now: float,
        *,
        replay: bool,
    ) -> None:
        """Take in a URL with its history, unless as much is known of it already."""
        name = admitted.fingerprint
        if row is not None and (name in host.flights or past.scheduled_at <= row.scheduled):
            self._happened["known"] += 1
            self._places.heal(rows, host, name, row, now=now, crashed=replay)
            if replay:
                write_again(rows, host, name, row)
            return
        before = self._accounts.counted_as(rows, host, name, row)
        counted = self._accounts.has_counted(host, name, past.scheduled_at)
        if row is None:
            if not counted and self._is_full(host):
                return
            row = _new(event, admitted)
            host.known += not counted
        if not counted:
            self._recrawls.plan.leave(host, row)
        policy = self._recrawls.policy(host, row)
        history.take(row, name, past, policy, settings=self._settings, now=now)
        if not counted:
            self._recrawls.plan.join(host, row)
        if row.fetched and not row.stored:
            row.stored = True
            self._accounts.page_stored(host, None if counted else event.rules)
        self._places.file(rows, host, name, row, now)
        after = self._accounts.state(host, name, row)
        self._accounts.move(host, before, after)
        self._accounts.note(host, name, past.scheduled_at, after)
        rows.save_url(name, row)

    def _is_full(self, host: HostRow) -> bool:
        """Whether the host has all the URLs that it may; that is counted."""
        full = 0 < self._settings.max_urls_per_host <= host.known
        if full:
            self._happened["host-full"] += 1
        return full


def _new(event: UrlAdmitted, admitted: AdmittedUrl) -> UrlRow:
    return UrlRow(
        url=admitted.url,
        job=event.rules.job,
        depth=admitted.depth,
        priority=admitted.priority,
        sitemap_level=admitted.sitemap_level,
        listing=admitted.sitemap_level > 0,
        trail=admitted.trail,
    )
