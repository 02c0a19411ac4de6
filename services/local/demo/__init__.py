"""The demo web: a deterministic web of many hosts on loopback, with known truth.

`DemoWeb` says what it is, `serve` runs it, `expected` and its neighbours say what a crawl of it
should find, `read_log` tells what was asked for.
"""

from services.local.demo.access_log import Access, least_gaps
from services.local.demo.access_log import read as read_log
from services.local.demo.article import edition
from services.local.demo.server import Running, serve
from services.local.demo.site import DemoWeb
from services.local.demo.truth import (
    Expectation,
    deepest,
    expected,
    links,
    live_version,
    paragraphs,
)

__all__ = [
    "Access",
    "DemoWeb",
    "Expectation",
    "Running",
    "deepest",
    "edition",
    "expected",
    "least_gaps",
    "links",
    "live_version",
    "paragraphs",
    "read_log",
    "serve",
]
