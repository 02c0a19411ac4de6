"""Turns at a shared address that would come too late are not waited for."""

import asyncio

import pytest

from services.fetcher.turns import Claim, HeldBack, Turns

ADDRESS = "192.0.2.1"


async def test_what_an_address_cannot_serve_in_time_is_given_back_at_once() -> None:
    """NET-01: a thousand hosts on one address; another address is not affected."""
    turns = Turns(10, 600.0, ip_slots=2, ip_gap=0.5)
    waiting = [
        asyncio.create_task(turns.begin(Claim(host=f"h{n}.test", gap=1.0, address=ADDRESS)))
        for n in range(100)
    ]
    await asyncio.sleep(0)
    late = Claim(host="late.test", gap=1.0, address=ADDRESS, patience=20.0)
    with pytest.raises(HeldBack) as held:
        await turns.begin(late)
    assert held.value.seconds == 49.5  # one of them has begun
    other = Claim(host="other.test", gap=1.0, address="192.0.2.2", patience=20.0)
    await turns.begin(other)
    turns.end("other.test")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
