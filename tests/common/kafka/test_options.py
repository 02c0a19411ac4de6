"""Names in Kafka, and how much is logged."""

import logging

from services.common import topics
from services.common.kafka.options import SPARING, Sparing, client, group, logical, physical
from services.common.settings import Kafka

SETTINGS = Kafka(prefix="p-", options={"acks": "1", "security.protocol": "ssl"})


def test_the_users_options_win() -> None:
    options = client(SETTINGS, {"acks": "all"})
    assert (options["acks"], options["security.protocol"]) == ("1", "ssl")


def test_the_prefix_separates_crawls_that_share_a_kafka() -> None:
    assert physical(SETTINGS, topics.FETCH_REQUESTED) == "p-fetch-requested"
    assert logical(SETTINGS, "p-fetch-requested") is topics.FETCH_REQUESTED
    assert group(SETTINGS, "parser") == "p-parser"


def logged(at: float, text: str) -> logging.LogRecord:
    record = logging.LogRecord("recrawl.kafka", logging.ERROR, "", 0, text, None, None)
    record.created = at
    return record


def test_an_outage_fills_no_log() -> None:
    sparing = Sparing()
    lines = [
        (0.0, "FAIL [c-1] [a] refused", True),
        (1.0, "FAIL [c-1] [b] refused", False),
        (1.0, "FAIL [c-2] [a] refused", True),
        (1.0, "SESSTMOUT [c-1] timed out", True),
        (SPARING, "FAIL [c-1] [a] refused", True),
    ]
    assert [sparing.filter(logged(at, text)) for at, text, _ in lines] == [
        passes for *_, passes in lines
    ]
