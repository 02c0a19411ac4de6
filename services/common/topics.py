"""The catalogue of topics: one per record type, its name derived from the type's name."""

import re
from dataclasses import dataclass
from typing import Literal

from services.common import records

DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class Topic:
    """One topic as it is created; the physical name is `prefix + name`."""

    record: type[records.Record]
    key: str
    """What the key is, for the docs."""
    codec: Literal["json", "msgpack"] = "json"
    partitions: int | None = None
    """None: the shared count. Topics that meet in one Faust table must have equal counts."""
    retention: int = 7 * DAY
    """Seconds that records are kept."""
    parts: bool = False
    """Values over the limit travel in parts; only where every reader is a service of ours that
    puts them together again (services/common/chunks.py)."""
    max_record: int | None = None
    """Octets a record may have; None: the shared setting."""
    compact: bool = False
    """The newest record of each key is kept for ever, older ones for a while."""
    shared_table: bool = False
    """Meets others in the scheduler's tables, so all such topics have equal partition counts."""

    @property
    def name(self) -> str:
        """`FetchCompleted` -> `fetch-completed`; plural where the topic reads as a queue."""
        kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", self.record.__name__).lower()
        return kebab + "s" if self.record in _PLURAL else kebab


_PLURAL = (records.Seed, records.Command, records.CommandResult, records.DeadLetter)

SEEDS = Topic(record=records.Seed, key="any or none")
URL_DISCOVERED = Topic(record=records.UrlDiscovered, key="target host", parts=True)
URL_ADMITTED = Topic(
    record=records.UrlAdmitted,
    key="host",
    # New URLs wait here while a scheduler takes none (`max_waiting`).
    retention=30 * DAY,
    shared_table=True,
)
FETCH_REQUESTED = Topic(record=records.FetchRequested, key="host", shared_table=True)
FETCH_COMPLETED = Topic(
    record=records.FetchCompleted, key="host", codec="msgpack", retention=DAY, parts=True
)
CRAWL_REPORTED = Topic(record=records.CrawlReported, key="host", shared_table=True)
HOST_UPDATED = Topic(record=records.HostUpdated, key="host", compact=True)
PAGE_PARSED = Topic(record=records.PageParsed, key="fingerprint in hex", max_record=8_000_000)
CLOCK_TICKED = Topic(record=records.ClockTicked, key="none", retention=3600, shared_table=True)
PARTITION_PLANNED = Topic(
    record=records.PartitionPlanned,
    key="none; all go to partition 0",
    retention=3600,
    shared_table=True,
)
PRICE_SET = Topic(
    record=records.PriceSet, key="none; every partition gets a copy", shared_table=True
)
COMMANDS = Topic(
    record=records.Command, key="host; none: every partition gets a copy", shared_table=True
)
COMMAND_RESULTS = Topic(record=records.CommandResult, key="command id", partitions=1)
DEAD_LETTERS = Topic(record=records.DeadLetter, key="as the source's", retention=30 * DAY)

ALL = (
    SEEDS,
    URL_DISCOVERED,
    URL_ADMITTED,
    FETCH_REQUESTED,
    FETCH_COMPLETED,
    CRAWL_REPORTED,
    HOST_UPDATED,
    PAGE_PARSED,
    CLOCK_TICKED,
    PARTITION_PLANNED,
    PRICE_SET,
    COMMANDS,
    COMMAND_RESULTS,
    DEAD_LETTERS,
)
BY_NAME = {topic.name: topic for topic in ALL}
