"""What a job left in Cassandra, URL by URL. Reads every partition: for demos and tests only."""

import asyncio

from services.common.cassandra import connect
from services.common.cql import Statement
from services.common.settings import Cassandra
from services.common.urls import KNOWN, parse

_SCAN = Statement("scan_pages", "SELECT url, job, outcome, reason FROM pages")
PAGE = ("ok", "unchanged", "incomplete")
"""What means that the page is stored."""


def outcomes(settings: Cassandra, job: str) -> dict[str, str]:
    """URL, as its identity, -> outcome of the job's newest fetch of it.

    `incomplete` is the outcome of a page that is stored though its end is missing.

    Raises:
        Retry, Stop: Cassandra does not answer, or refuses us.
    """
    return asyncio.run(_outcomes(settings, job))


async def _outcomes(settings: Cassandra, job: str) -> dict[str, str]:
    async with await connect(settings) as cassandra:
        rows = await cassandra.execute(_SCAN)
    found: dict[str, str] = {}
    for row in rows:
        if row.job == job:
            cut = row.reason == "incomplete"
            # The newest comes first.
            found.setdefault(
                parse(row.url, schemes=KNOWN).identity, "incomplete" if cut else row.outcome
            )
    return found
