"""One line per event."""

import json
import logging

from services.common.logs import formatter
from services.common.settings import Runtime

RECORD = logging.LogRecord(
    "services.parser.core", logging.WARNING, "", 0, "too late url=%s", ("http://a/",), None
)
RECORD.created = 0.0


def test_text_says_when_how_bad_who_and_what() -> None:
    line = formatter(Runtime(), "parser").format(RECORD)
    assert line == "1970-01-01T00:00:00Z warning parser parser.core: too late url=http://a/"


def test_json_says_the_same() -> None:
    line = formatter(Runtime(log_format="json"), "parser").format(RECORD)
    assert json.loads(line) == {
        "at": 0.0,
        "level": "warning",
        "service": "parser",
        "logger": "services.parser.core",
        "message": "too late url=http://a/",
    }
