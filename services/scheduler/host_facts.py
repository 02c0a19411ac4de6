"""What the other services are told of a host."""

from services.common.records import HostUpdated
from services.common.settings import Scheduler
from services.scheduler import quarantine
from services.scheduler.host_mapping import told
from services.scheduler.rows import HostRow


def host_facts(host: HostRow, settings: Scheduler, now: float) -> HostUpdated:
    """All that its row knows and others may use."""
    mapping = told(host.mapping)
    return HostUpdated(
        host=host.name,
        at=now,
        mapped_to=mapping.host,
        mapped_scheme=mapping.scheme,
        mapped_until=mapping.until,
        crawl_delay=host.crawl_delay,
        backoff=host.backoff,
        quarantined_until=quarantine.until(host, settings),
    )
