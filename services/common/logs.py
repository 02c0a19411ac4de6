"""One line per event, on stderr. Decides the format and nothing else."""

import copy
import json
import logging
import sys
import time

from services.common.settings import Runtime


class _Text(logging.Formatter):
    """As `2026-01-31T12:00:00Z info frontier common.kafka: assigned partitions=8`."""

    def __init__(self, service: str) -> None:
        super().__init__(f"%(asctime)s %(level)s {service} %(name)s: %(message)s")
        self.converter = time.gmtime
        self.datefmt = "%Y-%m-%dT%H:%M:%SZ"

    def format(self, record: logging.LogRecord) -> str:
        shown = copy.copy(record)
        shown.level = record.levelname.lower()
        shown.name = record.name.removeprefix("services.")
        return super().format(shown)


class _Json(logging.Formatter):
    """One JSON object: at, level, service, logger, message, and the traceback if there is one."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": record.created,
            "level": record.levelname.lower(),
            "service": self._service,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def formatter(settings: Runtime, service: str) -> logging.Formatter:
    """The format that the settings ask for."""
    return _Json(service) if settings.log_format == "json" else _Text(service)


def set_up(settings: Runtime, service: str) -> None:
    """Send every logger's lines of this process to stderr, replacing what was set before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings, service))
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    for chatty in ("httpx", "httpcore", "faust", "mode", "aiokafka", "cassandra", "trafilatura"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("cassandra.protocol").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Cassandra warns of prepared statements in a session with a keyspace, which is all we use."""
    return "`USE <keyspace>`" not in record.getMessage()
