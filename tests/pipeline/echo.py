"""A service for the runtime's tests: each seed comes out as a `page-parsed`, or misbehaves.

Run as a process of its own with the settings in the environment. What it does is in the URL:
`slow:<seconds>:...` takes long, `fault:` raises, `retry:` fails twice before it works, `kill:`
ends the process as a segmentation fault does.
"""

import asyncio
import os
import signal
import sys
from typing import ClassVar

from services.common import codec, logs, records, runtime, settings, topics
from services.common.errors import DeadLetter, Retry
from services.common.kafka import Incoming, Producer


class Echo:
    name: ClassVar[str] = "echo"
    inputs: ClassVar[tuple[topics.Topic, ...]] = (topics.SEEDS, topics.URL_DISCOVERED)

    def __init__(self, _settings: settings.Settings, producer: Producer) -> None:
        self.concurrency = 16
        self._producer = producer
        self._tries: dict[str, int] = {}

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def problems(self) -> list[str]:
        return []

    async def handle(self, message: Incoming) -> None:
        record = codec.decode(message.topic, message.value or b"")
        url = record.url if isinstance(record, records.Seed) else record.source
        size = 0 if isinstance(record, records.Seed) else len(record.links)
        await self._misbehave(url)
        await self._producer.send(
            topics.PAGE_PARSED,
            records.PageParsed(
                url=url,
                fingerprint=b"",
                host="",
                job="",
                depth=message.partition,
                fetched_at=message.offset,
                status=200,
                content_type="",
                links=size,
            ),
            key=url,
        )

    async def _misbehave(self, url: str) -> None:
        kind, _, rest = url.partition(":")
        if kind == "slow":
            await asyncio.sleep(float(rest.partition(":")[0]))
        elif kind == "fault":
            raise ValueError(url)
        elif kind == "kill":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif kind == "refuse":
            raise DeadLetter("refused", url)
        elif kind == "retry":
            self._tries[url] = self._tries.get(url, 0) + 1
            if self._tries[url] < 3:
                raise Retry(url)


if __name__ == "__main__":
    loaded = settings.load()
    logs.set_up(loaded.runtime, "echo")
    sys.exit(runtime.run(Echo, loaded))
