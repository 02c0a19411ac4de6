"""Migrations: the numbered .cql files, each applied once and in order.

Decides which are missing. Never changes a table that is there: a change is a new file. Safe to
run again and to run twice at once: one runner holds a lock row while the other waits.
"""

import logging
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

from services.common.cassandra import mapped, open_cluster
from services.common.errors import RecrawlError, Retry, Stop
from services.common.settings import Cassandra as CassandraSettings

_LOCK = "lock"
_LOCK_TTL = 120
"""Seconds after which the lock of a runner that died is free; renewed with each file."""
_WAIT = 300
"""Seconds to wait for another runner."""
_LEDGER = (
    "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, owner text, applied_at"
    " timestamp) WITH comment = 'the .cql files that were applied, and the lock of who applies'"
)

_log = logging.getLogger(__name__)


def migrate(settings: CassandraSettings) -> list[str]:
    """Makes the keyspace and the tables; the names of the files applied now, in order.

    Raises:
        Retry: Cassandra does not answer.
        Stop: it refuses, or another runner has not finished within 5 minutes.
    """
    cluster = open_cluster(settings)
    try:
        session = cluster.connect()
        session.execute(_keyspace(settings), timeout=60)
        session.set_keyspace(settings.keyspace)
        session.execute(_LEDGER, timeout=60)
        with _lock(session) as owner:
            return _apply_missing(session, owner)
    except RecrawlError:
        raise
    except Exception as error:
        raise mapped(error) from error
    finally:
        cluster.shutdown()


def files() -> list[tuple[str, list[str]]]:
    """Name and statements of each migration, in order."""
    folder = resources.files("services.common.cql")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".cql")), key=str)
    return [(file.name.removesuffix(".cql"), _statements(file.read_text())) for file in found]


def _statements(text: str) -> list[str]:
    """The statements of a file: no literal of ours holds `;` or `--`."""
    code = re.sub(r"--[^\n]*", "", text)
    return [part.strip() for part in code.split(";") if part.strip()]


def _keyspace(settings: CassandraSettings) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,47}", settings.keyspace):
        raise Stop(
            f"RECRAWL_CASSANDRA__KEYSPACE is {settings.keyspace!r}: it must be a lower-case letter"
            " and up to 47 more, digits and underscores"
        )
    if settings.datacenter is None:
        strategy = f"'class': 'SimpleStrategy', 'replication_factor': {settings.replication}"
    else:
        name = settings.datacenter.replace("'", "''")
        strategy = f"'class': 'NetworkTopologyStrategy', '{name}': {settings.replication}"
    return f"CREATE KEYSPACE IF NOT EXISTS {settings.keyspace} WITH replication = {{{strategy}}}"


@contextmanager
def _lock(session: Any) -> Iterator[str]:  # noqa: ANN401 - the driver is untyped
    """Waits for the lock row and holds it; a lightweight transaction decides who has it."""
    owner = uuid.uuid4().hex
    take = session.prepare(
        f"INSERT INTO migrations (name, owner) VALUES ('{_LOCK}', ?) IF NOT EXISTS"  # noqa: S608 - our own constants
        f" USING TTL {_LOCK_TTL}"
    )
    deadline = time.monotonic() + _WAIT
    while not session.execute(take, (owner,)).was_applied:
        if time.monotonic() > deadline:
            raise Stop("another `recrawl migrate` is still at work; wait for it, then try again")
        time.sleep(0.2)
    try:
        yield owner
    finally:
        session.execute(
            f"DELETE FROM migrations WHERE name = '{_LOCK}' IF owner = %s",  # noqa: S608 - our own constants
            (owner,),
        )


def _apply_missing(session: Any, owner: str) -> list[str]:  # noqa: ANN401 - the driver is untyped
    done = {row.name for row in session.execute("SELECT name FROM migrations")}
    renew = session.prepare(
        f"UPDATE migrations USING TTL {_LOCK_TTL} SET owner = ? WHERE name = '{_LOCK}'"  # noqa: S608 - our own constants
        " IF owner = ?"
    )
    applied = []
    for name, statements in files():
        if name in done:
            continue
        if not session.execute(renew, (owner, owner)).was_applied:
            raise Retry("the migration lock was lost: Cassandra is too slow; try again")
        for statement in statements:
            session.execute(statement, timeout=60)
        _await_agreement(session)
        session.execute(
            "INSERT INTO migrations (name, applied_at) VALUES (%s, toTimestamp(now()))", (name,)
        )
        _log.info("migration %s applied", name)
        applied.append(name)
    return applied


def _await_agreement(session: Any) -> None:  # noqa: ANN401 - the driver is untyped
    """A statement that uses a table before every node knows it would fail at random."""
    if not session.cluster.control_connection.wait_for_schema_agreement():
        raise Retry("the Cassandra nodes do not agree on the schema yet; try again")
