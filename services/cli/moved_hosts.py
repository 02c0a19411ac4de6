"""The hosts that have moved, for commands that take a URL as the frontier would (E9)."""

from services.common.kafka import Table
from services.common.kafka.commands import TIMEOUT
from services.common.settings import Settings
from services.common.topics import HOST_UPDATED
from services.frontier.host_mapping import Hosts, place_of


def moved_hosts(settings: Settings) -> Hosts:
    """As every frontier is told.

    Raises:
        Retry: they cannot be read now.
        Stop: the cluster refuses us.
    """
    table = Table(settings.kafka, HOST_UPDATED, place_of, settings.frontier.host_mappings)
    try:
        table.open()
        table.await_complete(TIMEOUT)
    finally:
        table.close()
    return table
