"""Which fetcher serves a host: that of its group, as the fetchers report it (D6).

A host changes its group only when nothing of it is under way, and rests for its gap before it
goes on, so that never two fetchers ask one host at once.
"""

from services.common.records import CrawlReported
from services.common.settings import Scheduler
from services.scheduler import pace
from services.scheduler.rows import HostRow


def learn(host: HostRow, report: CrawlReported, settings: Scheduler, now: float) -> None:
    """Take in the group that a report names, after its flight has landed."""
    if report.group == host.group:
        host.moving = ""
    elif report.group:
        host.moving = report.group
    if host.moving and not host.flights:
        if host.group:  # the first was asked by the fetcher of the group that it names
            host.not_before = max(host.not_before, now + pace.gap(host, settings))
        host.group, host.moving = host.moving, ""


def stay(host: HostRow) -> None:
    """A request was lost: its fetcher may be at the host still, so the host moves later."""
    host.moving = ""
