"""CPU per page, by step, and the whole parser against bare trafilatura; ratios of one run.

    python -m benchmarks.parser DIRECTORY [--pages 60] [--rounds 3]

DIRECTORY holds HTML files (a documentation package will do). Steps are timed one page after
another, round by round, so that a machine that slows down slows all of them down.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import trafilatura
import zstandard
from selectolax.lexbor import LexborHTMLParser

from services.common.records import FetchCompleted, FetchRequested, Outcome, Rules
from services.common.urls import fingerprint, parse
from services.parser import bodies
from services.parser.charset import decode
from services.parser.core import Limits, Reading, decide, task_of
from services.parser.document import read
from services.parser.head import read_head
from services.parser.links import read_links
from services.parser.text import main_text
from services.parser.worker import parse as parse_octets

T = TypeVar("T")
LIMITS = Limits(
    agent="Recrawl", max_links=5000, max_text=500_000, max_body=10 << 20, retention=90 * 86_400
)
HEADERS = [("content-type", "text/html; charset=utf-8")]


def main() -> None:
    """Prints a table of steps and the ratios."""
    arguments = _arguments()
    files = sorted(arguments.directory.rglob("*.html"), key=lambda file: file.stat().st_size)
    step = max(1, len(files) // arguments.pages)
    pages = [file.read_bytes() for file in files[::step]][: arguments.pages]
    if not pages:
        raise SystemExit(f"no .html files below {arguments.directory}")
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(arguments.rounds):
        for number, page in enumerate(pages):
            _measure(page, number, seconds)
    _report(pages, seconds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pages", type=int, default=60, help="pages taken, evenly by size")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _measure(page: bytes, number: int, seconds: dict[str, list[float]]) -> None:
    def timed(name: str, call: Callable[[], T]) -> T:
        start = time.process_time()
        result = call()
        seconds[name].append(time.process_time() - start)
        return result

    fetch = _fetch(page, number)
    url = fetch.request.url
    timed("zstd (in the fetcher)", lambda: zstandard.ZstdCompressor(level=3).compress(page))
    timed("unpack", lambda: bodies.unpack(fetch.body, fetch.size))
    digest = timed("digest", lambda: bodies.digest(page))
    html = timed("decode", lambda: decode(page, HEADERS[0][1])).text
    tree = timed("tree", lambda: LexborHTMLParser(html))
    timed("links", lambda: read_links(tree, url, url, limit=5000))
    timed("head", lambda: read_head(tree, url))
    timed("text", lambda: main_text(html, tree))
    timed("bare trafilatura", lambda: trafilatura.extract(page, fast=True, include_comments=False))
    task = task_of(fetch, LIMITS)
    document = timed("read (all in the process)", lambda: read(task))
    timed("and its IPC", lambda: parse_octets(_encoded(task)))
    timed("decide", lambda: decide(fetch, Reading(body_digest=digest, document=document), LIMITS))
    timed("whole parser", lambda: _whole(fetch))
    timed("unchanged, same octets", lambda: _whole(_known(fetch, digest)))
    timed("unchanged, 304", lambda: _whole(_unchanged(fetch, digest)))


def _encoded(task: object) -> bytes:
    return msgspec.msgpack.encode(task)


def _whole(fetch: FetchCompleted) -> None:
    """What the service does but for Cassandra and Kafka."""
    reading = Reading()
    if fetch.outcome is Outcome.OK:
        data = bodies.unpack(fetch.body, fetch.size)
        digest = bodies.digest(data)
        document = None if digest == fetch.request.body_digest else read(task_of(fetch, LIMITS))
        chunks = bodies.chunks(data, fetch.body) if document else ()
        reading = Reading(body_digest=digest, chunks=chunks, document=document)
    decide(fetch, reading, LIMITS)


def _fetch(page: bytes, number: int, digest: bytes | None = None) -> FetchCompleted:
    parsed = parse(f"http://bench.test/{number}.html")
    return FetchCompleted(
        request=FetchRequested(
            url=parsed.href,
            fingerprint=fingerprint(parsed.identity),
            host=parsed.host,
            rules=Rules(),
            depth=0,
            reason="new",
            scheduled_at=1_700_000_000,
            lease_until=1_700_000_600,
            gap=1,
            body_digest=digest,
        ),
        outcome=Outcome.OK,
        reason="ok",
        status=200,
        headers=HEADERS,
        started_at=1_700_000_000,
        elapsed=0.1,
        body=zstandard.ZstdCompressor(level=3).compress(page),
        size=len(page),
    )


def _known(fetch: FetchCompleted, digest: bytes) -> FetchCompleted:
    request = msgspec.structs.replace(fetch.request, body_digest=digest)
    return msgspec.structs.replace(fetch, request=request)


def _unchanged(fetch: FetchCompleted, digest: bytes) -> FetchCompleted:
    known = _known(fetch, digest)
    return msgspec.structs.replace(known, outcome=Outcome.UNCHANGED, body=b"", size=0)


def _report(pages: list[bytes], seconds: dict[str, list[float]]) -> None:
    sizes = [len(page) for page in pages]
    print(f"{len(pages)} pages, mean {statistics.fmean(sizes) / 1024:.0f} KiB")
    print(f"{'step':28}{'mean ms':>10}{'median ms':>12}")
    for name, values in seconds.items():
        mean, median = statistics.fmean(values), statistics.median(values)
        print(f"{name:28}{1000 * mean:10.3f}{1000 * median:12.3f}")
    total = {name: sum(values) for name, values in seconds.items()}
    whole, bare = total["whole parser"], total["bare trafilatura"]
    print(f"whole parser / bare trafilatura: {whole / bare:.2f} (aim <= 1.25)")
    for name in ("unchanged, same octets", "unchanged, 304"):
        print(f"new page / {name}: {whole / total[name]:.0f} (aim >= 10)")


if __name__ == "__main__":
    main()
