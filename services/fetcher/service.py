"""The fetcher as a service: `fetch-requested` in, `fetch-completed` out."""

import os
import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from services.common import codec, metrics
from services.common.errors import Stop
from services.common.kafka import Incoming, Producer
from services.common.kafka.partitions import partition_of
from services.common.records import FetchCompleted, FetchRequested
from services.common.settings import Settings
from services.common.topics import FETCH_COMPLETED, FETCH_REQUESTED, Topic
from services.fetcher.download import Download
from services.fetcher.host_rules import NO_RULES, HostRules, parse
from services.fetcher.protocols.registry import load, load_modules

if TYPE_CHECKING:
    from services.fetcher.protocols.port import Protocol


class Fetcher:
    """See `services.common.runtime.Service`."""

    name: ClassVar[str] = "fetcher"
    inputs: ClassVar[tuple[Topic, ...]] = (FETCH_REQUESTED,)
    concurrency = 4000
    """Far more than slots: most requests only wait for their host's turn."""

    def __init__(self, settings: Settings, producer: Producer) -> None:
        self._settings = settings
        self._producer = producer
        self._protocols: dict[str, Protocol] = {}
        self._download: Download | None = None

    async def open(self) -> None:
        """See `Service.open`."""
        rules = _rules(self._settings.fetcher.rules_file)
        modules = load_modules(rules.modules)
        self._protocols = load(self._settings.fetcher)
        self._download = Download(
            self._settings,
            self._protocols,
            version=_version(),
            fetcher=f"{self._settings.fetcher.machine or socket.gethostname()}/{os.getpid()}",
            rules=rules,
            modules=modules,
        )
        metrics.fetch_oldest_seconds.set_function(self._download.turns.oldest)

    async def close(self) -> None:
        """See `Service.close`."""
        if self._download is not None:
            await self._download.close()
        for protocol in set(self._protocols.values()):
            await protocol.close()

    async def handle(self, message: Incoming) -> None:
        """See `Service.handle`: a request whose lease is over is dropped, the rest is reported.

        One whose group is not known yet may belong to another fetcher, and is sent there.
        """
        assert self._download is not None  # noqa: S101 - the runtime opens before it handles
        assert message.value is not None  # noqa: S101 - the runtime's promise
        request: FetchRequested = codec.decode(FETCH_REQUESTED, message.value)
        if message.inherited:
            await self._report(request, self._download.give_back(request))
            return
        if not request.group and not self._download.is_late(request):
            group = await self._download.group(request)
            request = msgspec.structs.replace(request, group=group)
            partition = partition_of(group, await self._producer.partitions(FETCH_REQUESTED))
            if partition != message.partition:
                metrics.requests_forwarded.inc()
                await self._producer.send(
                    FETCH_REQUESTED, request, key=request.host, partition=partition
                )
                return
        await self._report(request, await self._download.run(request, since=message.since))

    async def _report(self, request: FetchRequested, completed: FetchCompleted | None) -> None:
        if completed is not None:
            await self._producer.send(FETCH_COMPLETED, completed, key=request.host)

    def problems(self) -> list[str]:
        """See `Service.problems`."""
        return [] if self._download is not None else ["not open"]


def _rules(path: Path | None) -> HostRules:
    if path is None:
        return NO_RULES
    try:
        return parse(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Stop(f"RECRAWL_FETCHER__RULES_FILE: {path}: {error}") from error


def _version() -> str:
    try:
        return version("recrawl")
    except PackageNotFoundError:
        return "0"
