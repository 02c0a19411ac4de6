"""Each job is told of a host's sitemaps once per reading of its robots.txt."""

from collections.abc import Callable

from services.common import urls
from services.common.records import FetchRequested, Rules
from services.fetcher import robots
from services.fetcher.announced import Announced
from services.fetcher.robots_facts import Facts

Request = Callable[..., FetchRequested]
URL = urls.parse("https://h.test/a")
MAP = ["https://h.test/s.xml"]


def facts(text: str = "Sitemap: /s.xml", read_at: float = 1.0) -> Facts:
    rules = robots.parse(text.encode(), "Recrawl")
    return Facts(rules=rules, until=9e9, read_at=read_at, result="read")


def test_the_first_request_of_a_job_carries_them_and_no_other(request_for: Request) -> None:
    told = Announced(10)
    assert told.take(URL, facts(), request_for("https://h.test/a")) == MAP
    assert told.take(URL, facts(), request_for("https://h.test/b", fingerprint=b"b" * 16)) == []


def test_another_job_is_told_too(request_for: Request) -> None:
    """A second crawl finds them as well, though robots.txt is still known."""
    told = Announced(10)
    told.take(URL, facts(), request_for("https://h.test/a"))
    again = request_for("https://h.test/a", rules=Rules(fresh_after=5.0), scheduled_at=7.0)
    assert told.take(URL, facts(), again) == MAP


def test_they_are_carried_anew_after_the_next_reading(request_for: Request) -> None:
    told = Announced(10)
    told.take(URL, facts(), request_for("https://h.test/a"))
    later = request_for("https://h.test/b", scheduled_at=7.0)
    assert told.take(URL, facts("Sitemap: /new.xml", 2.0), later) == ["https://h.test/new.xml"]


def test_a_request_done_again_has_them_again(request_for: Request) -> None:
    """Its report may have been lost."""
    told = Announced(10)
    request = request_for("https://h.test/a", scheduled_at=7.0)
    assert told.take(URL, facts(), request) == told.take(URL, facts(), request) == MAP


def test_with_a_depth_limit_a_request_nearer_to_the_seed_has_them_again(
    request_for: Request,
) -> None:
    for limit, right in ((None, []), (5, MAP)):
        told = Announced(10)
        rules = Rules(max_depth=limit)
        told.take(URL, facts(), request_for("https://h.test/a", rules=rules, depth=3))
        nearer = request_for("https://h.test/b", rules=rules, depth=1, scheduled_at=7.0)
        assert told.take(URL, facts(), nearer) == right
        deeper = request_for("https://h.test/c", rules=rules, depth=2, scheduled_at=8.0)
        assert told.take(URL, facts(), deeper) == ([] if limit or right == [] else MAP)


def test_what_is_not_known_or_names_none_is_not_told(request_for: Request) -> None:
    told = Announced(10)
    closed = Facts(rules=None, until=9e9, read_at=1.0, result="unreachable")
    assert told.take(URL, closed, request_for("https://h.test/a")) == []
    assert told.take(URL, facts("Disallow: /"), request_for("https://h.test/a")) == []


def test_the_memory_is_bounded_by_origins_and_jobs(request_for: Request) -> None:
    told = Announced(2)
    for name in ("a", "b", "c"):
        told.take(
            urls.parse(f"https://{name}.test/"), facts(), request_for(f"https://{name}.test/")
        )
    # forgotten, so told once more
    assert told.take(urls.parse("https://a.test/"), facts(), request_for("https://a.test/x"))
    for number in range(2000):
        rules = Rules(job=f"{number}")
        assert told.take(URL, facts(), request_for("https://h.test/a", rules=rules)) == MAP
