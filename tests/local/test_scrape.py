"""Counters of services that come and go, added up."""

from services.local.scrape import Tally, samples

TEXT = """\
# HELP recrawl_fetches_total Fetches finished.
# TYPE recrawl_fetches_total counter
recrawl_fetches_total{outcome="ok",reason="ok"} 5.0
recrawl_fetches_total{outcome="gone",reason="not-found"} 2.0
# HELP recrawl_pages_parsed_total Pages read.
# TYPE recrawl_pages_parsed_total counter
recrawl_pages_parsed_total{verdict="new"} 4.0
# HELP other_total Not watched.
# TYPE other_total counter
other_total 1.0
"""
GONE = ("recrawl_fetches_total", ("gone", "not-found"))
NEW = ("recrawl_pages_parsed_total", ("new",))


def test_the_watched_counters_are_read() -> None:
    assert samples(TEXT) == {("recrawl_fetches_total", ("ok", "ok")): 5, GONE: 2, NEW: 4}


def test_what_was_counted_before_the_crawl_is_not_its_own() -> None:
    tally = Tally()
    tally.add({1: {NEW: 100.0}})
    tally.add({1: {NEW: 103.0, GONE: 2.0}})
    assert tally.stored == 3
    assert tally.failures == {("gone", "not-found"): 2}


def test_a_restarted_service_counts_on_from_nought() -> None:
    tally = Tally()
    tally.add({1: {NEW: 10.0}})
    tally.add({1: {NEW: 15.0}})
    tally.add({})
    tally.add({1: {NEW: 2.0}})
    assert tally.stored == 7
