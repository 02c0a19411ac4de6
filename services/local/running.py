"""What `recrawl up` tells other commands about itself: `running.json` in the data directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from services.common.settings import Settings, load
from services.local.choice import given


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """Where the parts of a running pipeline are."""

    pid: int
    kafka: str
    prefix: str
    cassandra: str
    keyspace: str
    ports: dict[str, int]
    """Service -> health port on loopback."""


@contextmanager
def announce(settings: Settings, ports: dict[str, int]) -> Iterator[None]:
    """Keep the file for this block."""
    running = Running(
        pid=os.getpid(),
        kafka=settings.kafka.bootstrap,
        prefix=settings.kafka.prefix,
        cassandra=settings.cassandra.contact_points,
        keyspace=settings.cassandra.keyspace,
        ports=ports,
    )
    path = _path(settings)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(running))
    part.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find(settings: Settings) -> Running | None:
    """The pipeline that runs on this data directory; None if there is none."""
    with suppress(OSError, msgspec.MsgspecError):
        running = msgspec.json.decode(_path(settings).read_bytes(), type=Running)
        os.kill(running.pid, 0)
        return running
    return None


def joined(settings: Settings, running: Running | None) -> Settings:
    """The settings, with the running pipeline's addresses where the user gave none."""
    if running is None:
        return settings
    known = given(settings)
    kafka, cassandra = settings.kafka, settings.cassandra
    if "kafka" not in known:
        update = {"bootstrap": running.kafka, "prefix": running.prefix}
        kafka = kafka.model_copy(update=update)
    if "cassandra" not in known:
        place = {"contact_points": running.cassandra, "keyspace": running.keyspace}
        cassandra = cassandra.model_copy(update=place)
    return settings.model_copy(update={"kafka": kafka, "cassandra": cassandra})


def current() -> Settings:
    """The user's settings, with those of the pipeline that runs on their data directory."""
    settings = load()
    return joined(settings, find(settings))


def _path(settings: Settings) -> Path:
    return settings.local.data_dir.absolute() / "running.json"
