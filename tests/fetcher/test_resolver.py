"""Names are asked for once, remembered for a while, and fail by name."""

import socket
import threading

import pytest

from services.fetcher.protocols import FetchFailed
from services.fetcher.resolver import Resolver, system


async def test_an_address_is_not_looked_up() -> None:
    resolver = Resolver(lambda _: FetchFailed("dns-failure"))
    found = [await resolver.addresses(name) for name in ("127.0.0.1", "[::1]", "::1")]
    resolver.close()
    assert found == [("127.0.0.1",), ("::1",), ("::1",)]


async def test_a_name_is_looked_up_once_off_the_event_loop() -> None:
    threads: list[str] = []

    def ask(_: str) -> tuple[str, ...]:
        threads.append(threading.current_thread().name)
        return ("127.0.1.1",)

    resolver = Resolver(ask)
    found = [await resolver.addresses("a.test") for _ in range(3)]
    resolver.close()
    assert found == [("127.0.1.1",)] * 3
    assert [name.partition("_")[0] for name in threads] == ["dns"]


async def test_a_failure_is_raised_by_name_and_remembered() -> None:
    asked: list[str] = []

    def ask(name: str) -> FetchFailed:
        asked.append(name)
        return FetchFailed("dns-not-found", name)

    resolver = Resolver(ask)
    for _ in range(2):
        with pytest.raises(FetchFailed, match="dns-not-found"):
            await resolver.addresses("a.test")
    resolver.close()
    assert asked == ["a.test"]


def test_the_system_knows_localhost_and_no_impossible_name() -> None:
    assert "127.0.0.1" in (found if isinstance(found := system("localhost"), tuple) else ())
    failure = system("x" * 70 + ".invalid")
    assert isinstance(failure, FetchFailed)
    assert failure.reason in {"dns-failure", "dns-not-found"}


@pytest.mark.parametrize("number", [socket.EAI_NONAME, socket.EAI_AGAIN])
def test_a_missing_name_is_told_from_a_resolver_in_trouble(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise socket.gaierror(number, "as the system says")

    monkeypatch.setattr(socket, "getaddrinfo", broken)
    failure = system("a.test")
    assert isinstance(failure, FetchFailed)
    expected = "dns-not-found" if number == socket.EAI_NONAME else "dns-failure"
    assert failure.reason == expected
