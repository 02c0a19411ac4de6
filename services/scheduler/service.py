"""`recrawl run scheduler`: the Faust worker and its health server, until a signal."""

import logging
import os
import socket
from typing import NoReturn

import faust

from services.common.errors import Stop
from services.common.health import HealthServer
from services.common.kafka import admin, options
from services.common.settings import Kafka, Settings
from services.common.topics import FETCH_REQUESTED, HOST_UPDATED
from services.scheduler.events import INPUTS
from services.scheduler.stream import Stream, application

_NOT_YET = ("security.", "sasl.", "ssl.")


def run(settings: Settings) -> NoReturn:
    """Run until SIGTERM or SIGINT, then exit the process.

    Raises:
        Stop: the topics are missing or unequal, or the settings ask for what Faust cannot do.
        Retry: no broker answers.
    """
    unsupported = [name for name in settings.kafka.options if name.startswith(_NOT_YET)]
    if unsupported:
        raise Stop(f"the scheduler does not support these Kafka options yet: {unsupported}")
    partitions, fetch_partitions = _partitions(settings.kafka)
    app = application(settings, partitions)
    worker_name = f"{socket.gethostname()}-{os.getpid()}"
    stream = Stream(app, settings, worker_name, fetch_partitions)
    # Made by us and known to all before Faust looks: it refuses a table whose changelog it sees
    # without partitions, which is what a topic that is only just being made looks like.
    admin.create_changelogs(settings.kafka, stream.changelogs(), partitions)
    with HealthServer(settings.health, live=list, ready=stream.problems):
        worker = faust.Worker(
            app,
            loglevel=logging.WARNING,
            override_logging=False,
            redirect_stdouts=False,
            quiet=True,
        )
        # Leaves by SystemExit with the exit code, after a graceful stop on SIGTERM or SIGINT.
        worker.execute_from_commandline()


def _partitions(settings: Kafka) -> tuple[int, int]:
    """The partition count that all input topics have, and that of `fetch-requested`."""
    counts = admin.partition_counts(settings)
    names = [options.physical(settings, topic) for topic in INPUTS]
    # Faust would wait for ever for a topic to send to that nobody makes.
    requested = options.physical(settings, FETCH_REQUESTED)
    needed = [*names, options.physical(settings, HOST_UPDATED), requested]
    missing = [name for name in needed if name not in counts]
    if missing:
        raise Stop(f"topics are missing: {', '.join(missing)}; run `recrawl topics`")
    distinct = {counts[name] for name in names}
    if len(distinct) > 1:
        raise Stop(f"{', '.join(names)} must have equal partition counts, not {distinct}")
    return distinct.pop(), counts[requested]
