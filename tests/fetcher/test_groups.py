"""D6: with which hosts a host shares its fetcher."""

import pytest

from services.fetcher.groups import group
from services.fetcher.host_rules import DEFAULT, Options, Proxy

HOST = "www.example.org:8080"
ALONE = Options(per_ip=False)
PROXIED = Options(proxy=Proxy(host="proxy.test", port=3128, tls=False))


def test_hosts_with_the_same_addresses_share_a_group_in_any_order() -> None:
    assert group(HOST, DEFAULT, ("192.0.2.2", "192.0.2.1"), "") == "192.0.2.1"
    assert group("b.test", DEFAULT, ("192.0.2.1", "192.0.2.2"), "") == "192.0.2.1"


@pytest.mark.parametrize("options", [ALONE, PROXIED])
def test_a_host_that_shares_no_pace_is_alone(options: Options) -> None:
    assert group(HOST, options, ("192.0.2.1",), "192.0.2.1") == HOST


@pytest.mark.parametrize("addresses", [None, ()])
def test_without_an_address_it_stays_where_it_is(addresses: tuple[str, ...] | None) -> None:
    """A resolver that fails for a minute moves nobody."""
    assert group(HOST, DEFAULT, addresses, "") == HOST
    assert group(HOST, DEFAULT, addresses, "192.0.2.1") == "192.0.2.1"
