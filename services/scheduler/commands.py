"""What an operator's command does to one URL or to one host (A6, A7); see docs/operations.md.

A command about a whole host is one write of the host's row, whatever the host holds. Each may
come again, because Kafka delivers at least once, and then does nothing more. The answer counts
what was done, under names that docs/operations.md explains.
"""

from services.common.records import Command
from services.scheduler import deletion, timeline
from services.scheduler.accounts import Accounts
from services.scheduler.rows import NOWHERE, Bucket, Deleted, HostRow, Rows, UrlRow

Done = dict[str, int]
_OBEYED = 16
"""Ids of commands that a host's row remembers; 32 octets each."""
CREATING = frozenset({"delete", "pause"})
"""Commands that hold for a host that is not known yet, too."""


def to_url(
    command: Command, rows: Rows, accounts: Accounts, host: HostRow, row: UrlRow | None
) -> Done:
    """Do what it says to the URL `command.fingerprint`."""
    if row is None:
        return {"unknown": 1}
    fingerprint = command.fingerprint
    before = accounts.counted_as(rows, host, fingerprint, row)
    match command.name:
        case "delete":
            done = _delete(command, host, row)
        case "undelete":
            done = _undelete(command, rows, host, row)
        case "boost":
            done = _boost(command, rows, host, row)
        case "recrawl":
            done = _recrawl(command, rows, host, row)
        case _:
            return {"not_for_one_url": 1}
    # Written even if nothing changed: it may have been lost on its way to the changelog.
    rows.save_url(fingerprint, row)
    rows.save_host(host)
    accounts.move(host, before, accounts.state(host, fingerprint, row))
    return done


def to_host(command: Command, host: HostRow, now: float) -> Done:
    """Do what it says to a host as a whole; the caller writes its row."""
    match command.name:
        case "delete":
            return _delete_prefix(command, host)
        case "undelete":
            return _undelete_prefix(command, host)
        case "pause":
            host.paused = host.paused or command.asked_at
            return {"hosts_paused": 1}
        case "resume":
            resumed, host.paused = host.paused > 0, 0.0
            return {"hosts_resumed": int(resumed)}
        case "move" | "recrawl":
            return _reschedule(command, host, now)
        case _:
            return {"not_for_a_host": 1}


def _delete(command: Command, host: HostRow, row: UrlRow) -> Done:
    if row.deleted:
        return {"already": 1}
    row.deleted = command.asked_at
    return {"deleted": 1, "under_way": int(command.fingerprint in host.flights)}


def _undelete(command: Command, rows: Rows, host: HostRow, row: UrlRow) -> Done:
    if not row.deleted:
        return {"under_deleted_prefix" if deletion.covers(host, row.url) else "not_deleted": 1}
    row.deleted = 0.0
    if row.bucket == NOWHERE and command.fingerprint not in host.flights:
        timeline.file_now(rows, host, command.fingerprint, row)
    return {"undeleted": 1, "under_deleted_prefix": int(deletion.covers(host, row.url))}


def _boost(command: Command, rows: Rows, host: HostRow, row: UrlRow) -> Done:
    row.priority = command.weight
    waits = timeline.is_new(row.bucket) and command.fingerprint not in host.flights
    if waits and timeline.front(row.priority) != row.bucket:
        timeline.file_now(rows, host, command.fingerprint, row)
    return {"boosted": 1}


def _recrawl(command: Command, rows: Rows, host: HostRow, row: UrlRow) -> Done:
    fingerprint = command.fingerprint
    if deletion.holds(host, row):
        return {"deleted": 1}
    if fingerprint in host.flights:
        return {"under_way": 1}
    if row.bucket == NOWHERE:
        return {"over_limit": 1}
    if row.scheduled >= command.asked_at:
        return {"already": 1}
    if timeline.is_new(row.bucket) and timeline.is_filed(rows, host, fingerprint, row):
        return {"already": 1}
    row.attempt = 0
    timeline.file_now(rows, host, fingerprint, row)
    return {"asked": 1}


def _delete_prefix(command: Command, host: HostRow) -> Done:
    prefix = command.prefix or "/"
    if any(gone.prefix == prefix for gone in host.deleted):
        return {"already": 1}
    if len(host.deleted) >= deletion.LIMIT:
        return {"too_many_prefixes": 1}
    host.deleted = [*host.deleted, Deleted(prefix, command.asked_at)]
    return {"prefixes_deleted": 1, "host_urls": host.known}


def _undelete_prefix(command: Command, host: HostRow) -> Done:
    prefix = command.prefix or "/"
    kept = [gone for gone in host.deleted if gone.prefix != prefix]
    lifted, host.deleted = len(host.deleted) - len(kept), kept
    return {"prefixes_undeleted": lifted} if lifted else {"not_deleted": 1}


def _reschedule(command: Command, host: HostRow, now: float) -> Done:
    """Give buckets another due time: their URLs' rows stay as they are."""
    if command.id in host.obeyed:
        return {"already": 1}
    host.obeyed = [*host.obeyed, command.id][-_OBEYED:]
    chosen = [
        bucket
        for number, bucket in host.buckets.items()
        if not timeline.is_new(number) and _is_meant(command, bucket)
    ]
    for bucket in chosen:
        bucket.moved = True
        if command.name == "recrawl":
            bucket.due, bucket.asked = min(bucket.due, now), True
        else:
            bucket.due = command.at
    counted = "urls_moved" if command.name == "move" else "urls_asked"
    return {counted: sum(bucket.count for bucket in chosen), "buckets": len(chosen)}


def _is_meant(command: Command, bucket: Bucket) -> bool:
    until = command.due_to
    return command.due_from <= bucket.due and (until is None or bucket.due <= until)
