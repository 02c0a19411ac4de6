"""Cookies stay with their host, and there are never many."""

from services.fetcher import cookies
from services.fetcher.cookies import Cookies


def test_a_cookie_goes_back_to_its_host_by_its_own_rules() -> None:
    jar = Cookies()
    assert jar.take("a.test", "https://a.test/x", [("set-cookie", "k=1; Path=/x; Secure")])
    assert not jar.take("a.test", "https://a.test/x", [("set-cookie", "k=1; Path=/x; Secure")])
    assert jar.header("a.test", "https://a.test/x/y") == "k=1"
    assert jar.header("a.test", "http://a.test/x") == ""
    assert jar.header("a.test", "https://a.test/z") == ""
    assert jar.header("b.test", "https://b.test/x") == ""


def test_a_cookie_can_be_taken_back_and_nonsense_is_none() -> None:
    jar = Cookies()
    jar.take("a.test", "http://a.test/", [("set-cookie", "k=1"), ("x", "set-cookie: y=1")])
    assert jar.header("a.test", "http://a.test/") == "k=1"
    assert jar.take("a.test", "http://a.test/", [("set-cookie", "k=1; Max-Age=0")])
    assert not jar.take("a.test", "http://a.test/", [("set-cookie", ";=;;,"), ("set-cookie", "")])
    assert jar.header("a.test", "http://a.test/") == ""


def test_a_host_that_sets_very_many_starts_afresh() -> None:
    jar = Cookies()
    for n in range(cookies.COOKIES + 1):
        jar.take("a.test", "http://a.test/", [("set-cookie", f"k{n}=1")])
    assert jar.header("a.test", "http://a.test/") == ""


def test_the_host_not_heard_of_for_longest_is_forgotten() -> None:
    jar = Cookies()
    for n in range(cookies.HOSTS + 1):
        jar.take(f"h{n}.test", f"http://h{n}.test/", [("set-cookie", "k=1")])
    assert jar.header("h0.test", "http://h0.test/") == ""
    assert jar.header("h1.test", "http://h1.test/") == "k=1"
