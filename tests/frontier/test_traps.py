"""URLs that a site makes without end, and real ones that look like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.urls import parse
from services.frontier.traps import REASONS, Thresholds, repeats, trap, year_of

YEAR = 2026
OFF = Thresholds(max_segments=0, max_repeats=0, max_parameters=0, years_ahead=0, years_back=0)


def verdict(tail: str, thresholds: Thresholds = Thresholds()) -> str | None:  # noqa: B008 - frozen
    return trap(parse(f"http://t.test{tail}"), thresholds, YEAR)


def test_a_link_without_a_scheme_is_followed_three_times_at_most() -> None:
    """TRAP-01: the link is relative by RFC 3986, so only the frontier can stop it."""
    url = parse("http://t.test/de/info/")
    followed = 0
    while trap(url, Thresholds(), YEAR) is None:
        url = parse("www.other.test/privacy/", base=url.href)
        followed += 1
    assert followed == 4  # the fourth is the one refused
    assert trap(url, Thresholds(), YEAR) == "trap-repeat"


@pytest.mark.parametrize(
    "tail",
    [
        "/",
        "/img/img/img/1.jpg",
        "/a/b/a/b/",
        "/0/0/0.png",
        "/web/2020/https://other.test/a//b",
        "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/",
        "/?" + "&".join(f"p{n}" for n in range(30)),
        "/2026/11/30/",
        "/archive/1927/01/01/front-page",
        "/events/2029/",
        "/size/2048/10/x.jpg",
        "/item/2999",
        "/part-2900-12-x",
        "/x?price=2999&id=19000101",
        "/x?year=2029&month=5",
        "/x?updated=2029-12-31",
        "/spec/1234-56",
    ],
)
def test_a_real_url_is_no_trap(tail: str) -> None:
    """TRAP-01, so_real; a wrong refusal loses a page."""
    assert verdict(tail) is None


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u", "trap-depth"),
        ("/x/x/x/x", "trap-repeat"),
        ("/x/x/x/x?q", "trap-repeat"),
        ("//////", "trap-repeat"),
        ("/start/a/b/a/b/a/b/a/b/end", "trap-repeat"),
        ("/a/b/b/a/c/a/a/b/a/c/a/d/a", "trap-repeat"),
        ("/?" + "&".join(f"p{n}" for n in range(31)), "trap-parameters"),
        ("/events/2031-05/", "trap-calendar"),
        ("/calendar/2031/5", "trap-calendar"),
        ("/kalender/2031", "trap-calendar"),
        ("/2031/05/17/", "trap-calendar"),
        ("/1825/1/1", "trap-calendar"),
        ("/cal?date=2031-05-17", "trap-calendar"),
        ("/cal?date=20310517&view=day", "trap-calendar"),
        ("/cal?view=x&Year=2031", "trap-calendar"),
        ("/cal?start=2031-05-17T00:00", "trap-calendar"),
    ],
)
def test_a_trap_has_its_reason(tail: str, reason: str) -> None:
    """D10."""
    assert verdict(tail) == reason
    assert reason in REASONS
    assert verdict(tail, OFF) is None


def test_a_calendar_that_is_followed_month_by_month_ends() -> None:
    year, month, seen = 2026, 11, 0
    while verdict(f"/calendar?month={year}-{month:02}") is None:
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        seen += 1
    assert seen == 2 + 3 * 12


def test_the_year_is_that_of_the_time_given() -> None:
    assert [year_of(now) for now in (0.0, 1_767_312_000.0, 1_798_600_000.0)] == [1970, 2026, 2026]


@given(st.lists(st.sampled_from("ab"), max_size=12), st.integers(1, 3))
def test_what_repeats_is_what_a_search_by_hand_finds(segments: list[str], most: int) -> None:
    text = "".join(segments)
    runs = {text[i:j] * (most + 1) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    often = max(text.count("a"), text.count("b")) > 2 * most
    assert repeats(segments, most) == (often or any(run in text for run in runs))
