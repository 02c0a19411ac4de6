"""The edge to Cassandra: bounded asynchronous requests, and its errors as ours.

Decides how a request is sent (prepared, token-aware, at LOCAL_QUORUM, client timestamps) and
what a failure means to the caller. Never decides what is stored: see the services' tables.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from cassandra import (  # type: ignore[import-untyped]  # it ships no types
    AuthenticationFailed,
    ConsistencyLevel,
    DriverException,
    InvalidRequest,
    RequestValidationException,
    Unauthorized,
)
from cassandra.auth import PlainTextAuthProvider  # type: ignore[import-untyped]  # it ships no types
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable  # type: ignore[import-untyped]  # it ships no types
from cassandra.cluster import Session as DriverSession
from cassandra.connection import ConnectionBusy, ConnectionException  # type: ignore[import-untyped]  # it ships no types
from cassandra.policies import (  # type: ignore[import-untyped]  # it ships no types
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.protocol import ErrorMessage, SyntaxException  # type: ignore[import-untyped]  # it ships no types
from cassandra.query import PreparedStatement, named_tuple_factory  # type: ignore[import-untyped]  # it ships no types

from services.common import metrics
from services.common.cql import Statement
from services.common.errors import DeadLetter, RecrawlError, Retry, Stop
from services.common.settings import Cassandra as CassandraSettings

__all__ = ["Cassandra", "connect", "mapped", "open_cluster"]

PROTOCOL = 5
"""Native protocol of Cassandra 4 and 5; said outright so that none is tried in vain. It lets a
statement name its keyspace, so the session needs none (which Cassandra warns of)."""

_FAILURES = (
    DriverException,
    NoHostAvailable,
    ErrorMessage,
    ConnectionException,
    ConnectionBusy,
    OSError,
)
"""What the driver raises when a request fails; anything else is a fault of the caller's."""

Row = Any  # a named tuple whose fields are the statement's columns


async def connect(settings: CassandraSettings) -> "Cassandra":
    """A session in the settings' keyspace.

    Raises:
        Retry: no node answers (yet).
        Stop: the keyspace is missing, or the log-in is refused.
    """
    return await asyncio.to_thread(Cassandra, settings)


class Cassandra:
    """One session. Made by `connect`; all its coroutines belong to one event loop."""

    def __init__(self, settings: CassandraSettings) -> None:
        self._keyspace = settings.keyspace
        self._timeout = settings.timeout
        self._in_flight = asyncio.Semaphore(settings.in_flight)
        self._prepared: dict[str, asyncio.Future[PreparedStatement]] = {}
        self._cluster = open_cluster(settings)
        self._preparing = ThreadPoolExecutor(1, thread_name_prefix="cassandra-prepare")
        try:
            self._session: DriverSession = self._cluster.connect()
        except Exception as error:
            self._cluster.shutdown()
            raise mapped(error) from error
        if settings.keyspace not in self._cluster.metadata.keyspaces:
            self._cluster.shutdown()
            raise Stop(f"Cassandra has no keyspace {settings.keyspace!r}; run `recrawl migrate`")

    async def execute(self, statement: Statement | str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of one request; a bare CQL text counts as `adhoc` and as not idempotent.

        A timed-out write may or may not have been applied: what is written here must be such
        that writing it again does no harm.

        Raises:
            Retry: Cassandra did not answer in time, or cannot at the moment.
            Stop: the tables are missing, or access to them.
            DeadLetter: Cassandra refuses these parameters (`cassandra-refused`).
        """
        if isinstance(statement, str):
            statement = Statement("adhoc", statement, idempotent=False)
        async with self._in_flight:
            start = time.perf_counter()
            try:
                prepared = await self._prepare(statement)
                rows = await self._send(prepared.bind(params))
            except _FAILURES as error:
                metrics.cassandra_errors.labels(type(error).__name__).inc()
                raise mapped(error) from error
            seconds = time.perf_counter() - start
            metrics.cassandra_seconds.labels(statement.name).observe(seconds)
            return rows

    async def pages(
        self, statement: Statement, params: Sequence[Any] = (), *, at_once: int = 1000
    ) -> AsyncIterator[list[Row]]:
        """The rows of a long read, `at_once` at a time; the next are asked for when wanted.

        Raises:
            Retry, Stop, DeadLetter: as `execute`.
        """
        state: bytes | None = None
        while True:
            try:
                prepared = await self._prepare(statement)
                bound = prepared.bind(params)
                bound.fetch_size = at_once
                found = await asyncio.to_thread(self._session.execute, bound, paging_state=state)
            except _FAILURES as error:
                metrics.cassandra_errors.labels(type(error).__name__).inc()
                raise mapped(error) from error
            yield found.current_rows
            state = found.paging_state
            if not found.has_more_pages:
                return

    def problems(self) -> list[str]:
        """Why requests would fail now; empty if a node is up."""
        hosts = self._cluster.metadata.all_hosts()
        return [] if any(host.is_up for host in hosts) else ["cassandra: no node is up"]

    async def close(self) -> None:
        """Ends the session; requests under way fail."""
        self._preparing.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._cluster.shutdown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _prepare(self, statement: Statement) -> PreparedStatement:
        """The statement, prepared once however many ask for it at the same time."""
        known = self._prepared.get(statement.cql)
        if known is None:
            loop = asyncio.get_running_loop()
            known = loop.run_in_executor(
                self._preparing, self._session.prepare, statement.cql, None, self._keyspace
            )
            self._prepared[statement.cql] = known
        try:
            prepared = await asyncio.shield(known)
        except BaseException:
            if known.done() and self._prepared.get(statement.cql) is known:
                del self._prepared[statement.cql]
            raise
        prepared.is_idempotent = statement.idempotent
        return prepared

    async def _send(self, bound: Any) -> list[Row]:  # noqa: ANN401 - the driver is untyped
        """Sends and gathers all pages; the driver answers on its own thread."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[Row]] = loop.create_future()
        rows: list[Row] = []
        response = self._session.execute_async(bound)

        def settle(error: BaseException | None) -> None:
            if done.done():  # the caller was cancelled
                return
            if error is None:
                done.set_result(rows)
            else:
                done.set_exception(error)

        def answer(error: BaseException | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, error)

        def page(found: list[Row] | None) -> None:
            rows.extend(found or ())
            if response.has_more_pages:
                response.start_fetching_next_page()
            else:
                answer(None)

        response.add_callbacks(page, answer)
        # The driver's own timer ends a request; this one only guards against a lost callback.
        async with asyncio.timeout(self._timeout * 3):
            return await done


class _RetryIdempotent(RetryPolicy):  # type: ignore[misc] # the driver is untyped
    """Once more, on another node if there is one, and only what may run twice."""

    def _again(self, query: Any, retry_num: int) -> tuple[int, int | None]:  # noqa: ANN401 - the driver is untyped
        once_more = retry_num == 0 and bool(query.is_idempotent)
        return (self.RETRY_NEXT_HOST if once_more else self.RETHROW), None

    def on_read_timeout(self, query: Any, *_: object, retry_num: int, **__: object) -> Any:  # noqa: ANN401 - the driver is untyped
        return self._again(query, retry_num)

    def on_write_timeout(self, query: Any, *_: object, retry_num: int, **__: object) -> Any:  # noqa: ANN401 - the driver is untyped
        return self._again(query, retry_num)

    def on_request_error(self, query: Any, *_: object, retry_num: int, **__: object) -> Any:  # noqa: ANN401 - the driver is untyped
        return self._again(query, retry_num)


def open_cluster(settings: CassandraSettings) -> Cluster:
    """A cluster object by the settings, not yet connected.

    Raises:
        Stop: the contact points are not `host:port`, comma-separated.
    """
    points = _contact_points(settings.contact_points)
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(
            DCAwareRoundRobinPolicy(local_dc=settings.datacenter or "")
        ),
        retry_policy=_RetryIdempotent(),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        request_timeout=settings.timeout,
        row_factory=named_tuple_factory,
    )
    auth = settings.username and PlainTextAuthProvider(settings.username, settings.password)
    return Cluster(
        contact_points=[host for host, _ in points],
        port=points[0][1],
        auth_provider=auth or None,
        protocol_version=PROTOCOL,
        compression=False,  # bodies are compressed already
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ExponentialReconnectionPolicy(0.5, 10.0),
        connect_timeout=settings.timeout,
        control_connection_timeout=settings.timeout,
        monitor_reporting_enabled=False,
    )


def _contact_points(text: str) -> list[tuple[str, int]]:
    try:
        pairs = [point.strip().rpartition(":") for point in text.split(",")]
        points = [(host.strip("[]"), int(port)) for host, _, port in pairs]
    except ValueError:
        points = []
    if not points or not all(host for host, _ in points) or len({port for _, port in points}) > 1:
        raise Stop(
            f"RECRAWL_CASSANDRA__CONTACT_POINTS is {text!r}: it must be `host:port`, several"
            " separated by commas and with the same port"
        )
    return points


def mapped(error: BaseException) -> RecrawlError:
    """The driver's error as one of ours, by what the caller can do about it."""
    for cause in _causes(error):
        if isinstance(cause, AuthenticationFailed | Unauthorized):
            return Stop(
                f"Cassandra refuses access: {cause}; check RECRAWL_CASSANDRA__USERNAME and"
                " RECRAWL_CASSANDRA__PASSWORD and what the user may do"
            )
        if isinstance(cause, RequestValidationException | SyntaxException):
            return _refused(cause)
    if isinstance(error, _FAILURES):
        return Retry(f"Cassandra: {type(error).__name__}: {error}")
    return Stop(f"Cassandra: unexpected {type(error).__name__}: {error}")


def _causes(error: BaseException) -> list[BaseException]:
    """What each node said; the driver keeps it by node, or as texts where it knows no node."""
    if not isinstance(error, NoHostAvailable):
        return [error]
    errors = error.errors.values() if isinstance(error.errors, dict) else error.errors
    return [each for each in errors if isinstance(each, BaseException)]


def _refused(error: Exception) -> RecrawlError:
    text = str(error)
    if any(sign in text for sign in ("does not exist", "unconfigured", "No keyspace")):
        return Stop(f"Cassandra: {text}; run `recrawl migrate` to make the tables")
    if isinstance(error, InvalidRequest):
        return DeadLetter("cassandra-refused", text)
    return Stop(f"Cassandra refuses a statement of ours: {text}; is its version supported?")
