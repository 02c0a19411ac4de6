"""Case NET-05: which addresses a fetch may connect to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.guard import networks, refused


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "2001:db8::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert refused(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1",
        "64:ff9b::1.1.1.1",
        "::ffff:1.1.1.1",
        "2002:101:101::",
    ],
)
def test_a_public_address_is_let_through(address: str) -> None:
    assert not refused(address)


def test_an_exempt_network_is_let_through_and_nothing_else() -> None:
    exempt = networks(["127.0.1.0/24"])
    verdicts = {
        address: refused(address, exempt)
        for address in ("127.0.1.7", "::ffff:127.0.1.7", "127.0.2.1", "10.0.0.1")
    }
    assert verdicts == {
        "127.0.1.7": False,
        "::ffff:127.0.1.7": False,
        "127.0.2.1": True,
        "10.0.0.1": True,
    }


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_in_ipv6_changes_nothing(address: object) -> None:
    plain = refused(str(address))
    assert refused(f"::ffff:{address}") == plain
    assert refused(f"64:ff9b::{address}") == plain
