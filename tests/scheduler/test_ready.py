"""Which hosts can be asked, and when the others are looked at again."""

from services.common.settings import Scheduler
from services.scheduler import ready
from services.scheduler.rows import Bucket, Flight, HostRow


def test_wake_ups_take_memory_by_hosts_not_by_fetches() -> None:
    """A host that is fetched again and again leaves no wake-up behind for each time."""
    hosts = ready.Ready(Scheduler())
    host = HostRow(name="h.test", partition=0, buckets={1: Bucket(due=2e9, write=1)})
    for now in range(10_000):
        host.flights[b"f"] = Flight(now, now + 600.0, 0, "")
        hosts.place(host, float(now))
        host.flights.clear()
        hosts.place(host, float(now))
    assert len(hosts._clock) <= 2 + ready._SLACK + 1  # noqa: SLF001 - what it must not keep
    assert hosts.wake(1e9) is None
    assert hosts.wake(2e9) == "h.test"
