"""What changes when on the demo web."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.local.demo import DemoWeb, edition, live_version, paragraphs
from services.local.demo.article import article

EPOCH = 1_000_000
WEB = DemoWeb(change_period=10, epoch=EPOCH)
PLACES = st.integers(0, WEB.pages - 1).map(WEB.place)


def _places(change: str) -> list[tuple[int, int]]:
    places = map(WEB.place, range(WEB.pages))
    return [place for place in places if WEB.change(*place) == change]


@given(PLACES, st.floats(EPOCH - 100, EPOCH + 100_000), st.floats(0, 5000))
def test_versions_only_go_up_and_hold_since_their_second(
    place: tuple[int, int], at: float, later: float
) -> None:
    now, then = WEB.version(*place, at), WEB.version(*place, at + later)
    assert now.since <= at
    assert now.number <= then.number
    assert (now == then) == (then.since <= at)
    assert WEB.version(*place, now.since) == now


def test_nothing_changes_without_a_period() -> None:
    web = DemoWeb()
    for number in range(web.pages):
        place = web.place(number)
        assert web.version(*place, web.epoch - 1) == web.version(*place, web.epoch + 10**8)


def test_half_of_the_pages_never_changes() -> None:
    later = EPOCH + 10**6
    unchanged = [place for place in _places("never") if WEB.version(*place, later).number == 0]
    assert unchanged == _places("never")
    assert 0.4 < len(unchanged) / WEB.pages < 0.6


def test_periodic_pages_change_at_equal_intervals() -> None:
    for place in _places("period")[:20]:
        changes = _changes(place, 400)
        assert len({after - before for before, after in pairwise(changes)}) == 1


def test_random_pages_change_at_their_mean_rate() -> None:
    for place in _places("random")[:5]:
        mean = 10 * (1, 2, 4, 8)[WEB.dice(*place, "period") % 4]
        count = WEB.version(*place, EPOCH + 1600 * mean).number
        assert 1600 <= count <= 1602
        assert len({after - before for before, after in pairwise(_changes(place, 1000))}) > 3


def _changes(place: tuple[int, int], seconds: int) -> list[int]:
    versions = [WEB.version(*place, EPOCH + second) for second in range(seconds)]
    return [after.since for before, after in pairwise(versions) if before != after]


def test_a_new_version_alters_one_paragraph_and_says_its_number() -> None:
    place = _places("period")[0]
    old, new = article(WEB, *place, 3), article(WEB, *place, 4)
    differing = [
        (before, after)
        for before, after in zip(old.paragraphs, new.paragraphs, strict=True)
        if before != after
    ]
    assert len(differing) == 1
    assert [edition(text) for text in differing[0]] == [3, 4]
    assert (old.title, old.comments) == (new.title, new.comments)
    assert edition("no edition in here") is None


def test_the_truth_follows_the_versions() -> None:
    place = _places("period")[0]
    url = WEB.page_url(*place)
    at = EPOCH + 12_345.6
    assert edition(" ".join(paragraphs(WEB, url, at))) == live_version(WEB, url, at) > 0
