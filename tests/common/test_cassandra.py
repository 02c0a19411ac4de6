"""What Cassandra's errors mean to the caller; no server is asked."""

import pytest
from cassandra import (  # type: ignore[import-untyped]  # it ships no types
    AuthenticationFailed,
    InvalidRequest,
    OperationTimedOut,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteTimeout,
)
from cassandra.cluster import NoHostAvailable  # type: ignore[import-untyped]  # it ships no types
from cassandra.connection import (  # type: ignore[import-untyped]  # it ships no types
    ConnectionBusy,
    ConnectionShutdown,
)
from cassandra.protocol import (  # type: ignore[import-untyped]  # it ships no types
    OverloadedErrorMessage,
    SyntaxException,
)

from services.common.cassandra import connect, mapped, open_cluster
from services.common.errors import DeadLetter, RecrawlError, Retry, Stop
from services.common.migrations import files
from services.common.settings import Cassandra


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NoHostAvailable("none", {"h": OSError("refused")}), Retry),
        (NoHostAvailable("none", ["127.0.0.1"]), Retry),
        (NoHostAvailable("none", {"h": AuthenticationFailed("no")}), Stop),
        (NoHostAvailable("none", {"h": OSError("refused"), "i": Unauthorized("no")}), Stop),
        (OperationTimedOut(), Retry),
        (ReadTimeout("late"), Retry),
        (WriteTimeout("late", write_type=0), Retry),
        (Unavailable("few"), Retry),
        (ConnectionShutdown("gone"), Retry),
        (ConnectionBusy("full"), Retry),
        (OverloadedErrorMessage(0x1001, "busy", None), Retry),
        (TimeoutError(), Retry),
        (AuthenticationFailed("no"), Stop),
        (Unauthorized("no"), Stop),
        (InvalidRequest("table x does not exist"), Stop),
        (InvalidRequest("unconfigured table x"), Stop),
        (InvalidRequest("Key may not be empty"), DeadLetter),
        (SyntaxException(0x2000, "line 1", None), Stop),
        (ZeroDivisionError(), Stop),
    ],
)
def test_an_error_becomes_what_the_caller_can_do(
    error: Exception, kind: type[RecrawlError]
) -> None:
    assert type(mapped(error)) is kind


def test_missing_tables_say_what_to_run() -> None:
    assert "recrawl migrate" in str(mapped(InvalidRequest("table x does not exist")))


@pytest.mark.parametrize("points", ["", "host", "host:x", ":9042", "a:1,b:2", "a:1,,b:1"])
def test_bad_contact_points_name_the_setting(points: str) -> None:
    with pytest.raises(Stop, match="RECRAWL_CASSANDRA__CONTACT_POINTS"):
        open_cluster(Cassandra(contact_points=points))


async def test_a_node_that_does_not_answer_is_worth_another_try() -> None:
    with pytest.raises(Retry):
        await connect(Cassandra(contact_points="127.0.0.1:1", timeout=2))


def test_migrations_are_numbered_without_a_gap() -> None:
    names = [name for name, _ in files()]
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    assert all(statements for _, statements in files())
