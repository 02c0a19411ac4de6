"""Serves the demo web to look at with a browser: `python -m services.local.demo --help`."""

import argparse
import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from services.local.demo.serving import run
from services.local.demo.site import DemoWeb


def main() -> None:
    """Serves until Ctrl-C; as a child, until the parent is gone."""
    usual = DemoWeb()
    parser = argparse.ArgumentParser(prog="python -m services.local.demo", description=__doc__)
    parser.add_argument("--hosts", type=int, default=usual.hosts)
    parser.add_argument("--pages", type=int, default=usual.pages)
    parser.add_argument("--port", type=int, default=usual.port)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--change-period", type=float, default=usual.change_period)
    parser.add_argument("--log", type=Path, help="file for one JSON line a request")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        web = msgspec.json.decode(given.child, type=DemoWeb)
        ready = _tell_parent
    else:
        web = DemoWeb(
            hosts=given.hosts,
            pages=given.pages,
            port=given.port,
            seed=given.seed,
            change_period=given.change_period,
        )
        ready = _tell_person
    with suppress(KeyboardInterrupt):
        asyncio.run(run(web, given.log, ready, with_parent=bool(given.child)))


def _tell_parent(web: DemoWeb) -> None:
    sys.stdout.write(msgspec.json.encode(web).decode() + "\n")
    sys.stdout.flush()


def _tell_person(web: DemoWeb) -> None:
    sys.stdout.write(f"{web.pages} pages on {web.hosts} hosts, from {web.seeds[0]}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
