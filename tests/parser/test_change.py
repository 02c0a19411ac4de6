"""Whether a page changed (D7, CHG-03)."""

from services.common.records import FetchCompleted, FetchRequested, Outcome, Rules
from services.parser.change import Verdict, compare, same_body, unchanged


def request(body: bytes | None, text: bytes | None = None) -> FetchRequested:
    return FetchRequested(
        url="http://h.test/",
        fingerprint=b"f" * 16,
        host="h.test",
        rules=Rules(),
        depth=0,
        reason="due",
        scheduled_at=0,
        lease_until=0,
        gap=1,
        body_digest=body,
        text_digest=text,
    )


def fetch(body: bytes | None, text: bytes | None = None) -> FetchCompleted:
    return FetchCompleted(
        request=request(body, text),
        outcome=Outcome.OK,
        reason="ok",
        started_at=0,
        elapsed=0,
    )


def test_a_first_fetch_has_nothing_to_compare_with() -> None:
    assert compare(fetch(None), b"B", b"T", complete=True) == Verdict(None, b"B", b"T")
    assert not same_body(request(None), b"B")


def test_other_text_is_a_change() -> None:
    """D7."""
    assert compare(fetch(b"A", b"S"), b"B", b"T", complete=True) == Verdict(True, b"B", b"T")  # noqa: FBT003 - a tuple's field


def test_the_same_text_in_other_octets_is_none_and_the_stored_body_stays() -> None:
    """D7; case CHG-01 as far as equal text goes."""
    assert compare(fetch(b"A", b"T"), b"B", b"T", complete=True) == Verdict(False, b"A", b"T")  # noqa: FBT003 - a tuple's field


def test_a_page_without_text_is_judged_by_its_body() -> None:
    assert compare(fetch(b"A"), b"B", None, complete=True).changed is True
    assert same_body(request(b"A"), b"A")


def test_a_cut_body_says_nothing_and_replaces_nothing() -> None:
    assert compare(fetch(b"A", b"S"), b"B", b"T", complete=False) == Verdict(None, b"A", b"S")
    assert compare(fetch(None), b"B", b"T", complete=False) == Verdict(None, None, None)


def test_a_304_keeps_the_digests() -> None:
    """Case CHG-03: the comparison after a 304 is with what was stored before it."""
    assert unchanged(request(b"A", b"T")) == Verdict(False, b"A", b"T")  # noqa: FBT003 - a tuple's field
