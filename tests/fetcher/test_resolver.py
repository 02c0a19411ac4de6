"""Names are asked for once, remembered for a while, and fail by name."""

import asyncio
import contextlib
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


async def test_a_given_name_is_never_looked_up() -> None:
    resolver = Resolver(lambda _: FetchFailed("dns-failure"), given={"Demo.Test": "127.0.1.1"})
    assert await resolver.addresses("demo.test") == ("127.0.1.1",)
    resolver.close()


@pytest.mark.parametrize(
    ("answer", "fresh", "stale"),
    [
        (("127.0.1.1",), 59, 61),
        (FetchFailed("dns-failure"), 29, 31),
        (FetchFailed("dns-not-found"), 299, 301),
    ],
)
async def test_an_answer_is_remembered_for_a_time_of_its_kind(
    answer: tuple[str, ...] | FetchFailed,
    fresh: float,
    stale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NET-03: a host that moved is found within a minute, trouble is tried again in half."""
    asked: list[str] = []

    def ask(name: str) -> tuple[str, ...] | FetchFailed:
        asked.append(name)
        return answer

    resolver = Resolver(ask)
    loop = asyncio.get_running_loop()
    now = loop.time()
    counts = []
    for later in (0, fresh, stale):
        with monkeypatch.context() as patch:
            patch.setattr(loop, "time", lambda later=later: now + later)
            with contextlib.suppress(FetchFailed):
                await resolver.addresses("a.test")
        counts.append(len(asked))
    resolver.close()
    assert counts == [1, 1, 2]


async def test_a_name_without_an_answer_fails_in_time_and_its_late_answer_counts() -> None:
    """NET-03."""
    answer = threading.Event()

    def ask(_: str) -> tuple[str, ...]:
        answer.wait()
        return ("127.0.1.1",)

    resolver = Resolver(ask, patience=0.05)
    for _ in range(2):
        with pytest.raises(FetchFailed, match=r"dns-failure: .*no answer"):
            await resolver.addresses("slow.test")
    answer.set()
    while True:
        with contextlib.suppress(FetchFailed):
            assert await resolver.addresses("slow.test") == ("127.0.1.1",)
            break
        await asyncio.sleep(0.01)
    resolver.close()


async def test_two_hundred_dead_names_do_not_delay_a_live_one() -> None:
    """NET-03."""
    over = threading.Event()

    def ask(name: str) -> tuple[str, ...] | FetchFailed:
        if name.startswith("dead"):
            over.wait()
            return FetchFailed("dns-failure", name)
        return ("127.0.1.1",)

    resolver = Resolver(ask, patience=60)
    dead = [asyncio.ensure_future(resolver.addresses(f"dead-{n}.test")) for n in range(200)]
    await asyncio.sleep(0)
    assert await resolver.addresses("ok.test") == ("127.0.1.1",)
    assert not any(task.done() for task in dead)
    over.set()
    await asyncio.gather(*dead, return_exceptions=True)
    resolver.close()
