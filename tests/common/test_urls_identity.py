"""What makes two URLs one, and what never does."""

import pytest

from services.common.urls import parse


@pytest.mark.parametrize(
    ("raw", "identity"),
    [
        # URL-01: reserved octets stay as they are, unreserved ones are decoded
        (
            "http://shop.example.test/a%2Fb%3Fc%23d%26e%3Bf%2Bg",
            "http://shop.example.test/a%2Fb%3Fc%23d%26e%3Bf%2Bg",
        ),
        ("http://shop.example.test/sale-50%25", "http://shop.example.test/sale-50%25"),
        ("http://shop.example.test/a%2541", "http://shop.example.test/a%2541"),
        (
            "http://shop.example.test/%7euser/%41bc/%e2%82%ac",
            "http://shop.example.test/~user/Abc/%E2%82%AC",
        ),
        # URL-05
        ("http://example.test/?", "http://example.test/"),
        ("http://example.test?", "http://example.test/"),
        ("http://example.test/#", "http://example.test/"),
        ("http://example.test/?#", "http://example.test/"),
        ("http://example.test/?utm_source=a", "http://example.test/"),
        ("http://example.test/p%2d1/p%2d2/?q=f", "http://example.test/p-1/p-2/?q=f"),
        ("http://example.test/?c", "http://example.test/?c"),
        ("http://example.test/?q=", "http://example.test/?q="),
        ("http://example.test/90%+of", "http://example.test/90%25+of"),
        ("http://example.test/?x=%zz&y=%u00e9", "http://example.test/?x=%25zz&y=%25u00e9"),
        ("http://example.test/100%", "http://example.test/100%25"),
        ("http://example.test/%%32e", "http://example.test/%252e"),
        ("http://example.test/%2%65", "http://example.test/%252e"),
        # URL-11: a URL inside a URL is data
        ("http://h.test/a?next=http://other.test/b", "http://h.test/a?next=http://other.test/b"),
        (
            "http://archive.h.test/web/2020/https://other.test/a",
            "http://archive.h.test/web/2020/https://other.test/a",
        ),
        (
            "http://h.test/login?return=https%3A%2F%2Fh.test%2Fx",
            "http://h.test/login?return=https%3A%2F%2Fh.test%2Fx",
        ),
        (
            "http://h.test/r?u=http://other.test/b?c=d",
            "http://h.test/r?u=http://other.test/b?c=d",
        ),
        # octets of another charset stay that charset's
        ("http://h.test/caf%e9?q=%82%a0", "http://h.test/caf%E9?q=%82%A0"),
        # parameters: sorted by name, order of one name's values kept
        ("http://h.test/?b=2&a=1&b=1", "http://h.test/?a=1&b=2&b=1"),
        ("http://h.test/?a=2&a&a=1", "http://h.test/?a=2&a&a=1"),
        ("http://h.test/?a10=x&a=x&a1=x", "http://h.test/?a=x&a1=x&a10=x"),
        ("http://h.test/?%62=1&a=2&b=0", "http://h.test/?a=2&b=1&b=0"),
        ("http://h.test/?&b&&a&", "http://h.test/?a&b"),
        ("http://h.test/?=x&=", "http://h.test/?=x&="),
        # dropped parameters, by their whole name only
        ("http://h.test/?utm%5Fsource=a&q=1&fbclid=x&gclid", "http://h.test/?q=1"),
        ("http://h.test/?PHPSESSID=1", "http://h.test/"),
        ("http://h.test/?sid=1", "http://h.test/?sid=1"),
        ("http://h.test/?gclid2=1&my_utm_source=2", "http://h.test/?gclid2=1&my_utm_source=2"),
        ("http://h.test/?q=gclid&r=utm_source=1", "http://h.test/?q=gclid&r=utm_source=1"),
        ("http://h.test/a;jsessionid=1F/b;jsessionid=2;v=1?q=1", "http://h.test/a/b;v=1?q=1"),
        ("http://h.test/;jsessionid=1F", "http://h.test/"),
        ("http://h.test/..;jsessionid=1/x", "http://h.test/..;jsessionid=1/x"),
        ("http://h.test/?u=/a;jsessionid=1", "http://h.test/?u=/a;jsessionid=1"),
    ],
)
def test_an_identity_is_what_the_standard_makes_of_it(raw: str, identity: str) -> None:
    """D3, D4, URL-01, URL-05, URL-11."""
    assert parse(raw).identity == identity
    assert parse(identity).identity == identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h.test/Products/Item-A", "http://h.test/products/item-a"),
        ("http://h.test/v?id=aB3", "http://h.test/v?id=ab3"),
        ("http://h.test/v?ID=1", "http://h.test/v?id=1"),
        ("http://www.h.test/x", "http://h.test/x"),
        ("http://h.test/x", "https://h.test/x"),
        ("http://h.test/x", "http://h.test:8080/x"),
        ("http://h.test/x/", "http://h.test/x"),
        ("http://h.test/x/", "http://h.test/x/index.html"),
        ("http://h.test/a//b", "http://h.test/a/b"),
        ("http://h.test/e\u0301", "http://h.test/\u00e9"),
        ("http://fa\u00df.h.test/", "http://fass.h.test/"),
        ("http://h.test/?a+b", "http://h.test/?a%20b"),
        ("http://h.test/?a+b", "http://h.test/?a%2Bb"),
        ("http://h.test/?a=1&a=2", "http://h.test/?a=2&a=1"),
        ("http://h.test/?a", "http://h.test/?a="),
        ("http://h.test/?a=1;b=2", "http://h.test/?a=1&b=2"),
        ("http://h.test/?a%3D1", "http://h.test/?a=1"),
        ("http://h.test/?a%26b", "http://h.test/?a&b"),
        ("http://h.test/caf%E9", "http://h.test/caf%C3%A9"),
        ("http://h.test/%00", "http://h.test/"),
    ],
)
def test_two_pages_are_never_taken_for_one(one: str, other: str) -> None:
    """URL-07: a wrong merge loses a page, a missed one costs a fetch."""
    assert parse(one).identity != parse(other).identity


@pytest.mark.parametrize(
    "raw",
    [
        "http://h.test/%7euser?b=1&a=%zz&utm_source=x&&",
        "http://h.test/?",
        "http://h.test/a;jsessionid=1",
    ],
)
def test_what_is_fetched_stays_as_the_site_wrote_it(raw: str) -> None:
    """D3: the URL fetched and the URL's identity are kept apart."""
    assert parse(raw).href == raw
    assert parse(raw).identity != raw
