"""What follows from a fetch: rows, links to pass on, the report."""

from collections.abc import Callable

import pytest

from services.common.records import (
    FetchCompleted,
    FetchRequested,
    Link,
    Outcome,
    Rules,
)
from services.common.settings import Settings
from services.parser import tables
from services.parser.core import (
    Effects,
    Limits,
    Reading,
    decide,
    needs_reading,
    task_of,
    wants_stored_links,
)
from services.parser.document import Document

Requested = Callable[..., FetchRequested]
Completed = Callable[..., FetchCompleted]

DAY = 86_400
LIMITS = Limits(agent="Recrawl", max_links=100, max_text=1000, max_body=10_000, retention=90 * DAY)
A, B, S, T = b"A" * 16, b"B" * 16, b"S" * 16, b"T" * 16
LINKS = [
    Link(url="http://h.test/a", anchor="A"),
    Link(url="http://other.test:81/x"),
    Link(url="http://h.test/b", rel="nofollow"),
]
DOCUMENT = Document(
    kind="html",
    content_type="text/html",
    charset="utf-8",
    title="Title",
    text="words",
    text_source="main",
    text_digest=T,
    links=LINKS,
    cut={"scheme": 2},
)


def reading(**fields: object) -> Reading:
    values: dict[str, object] = {"body_digest": B, "chunks": [b"frame"], "document": DOCUMENT}
    return Reading(**(values | fields))  # type: ignore[arg-type] # a test's shorthand


def written(effects: Effects) -> list[str]:
    return [write.statement.name for write in effects.rows]


def page(effects: Effects) -> dict[str, object]:
    names = effects.page.statement.cql.split("(")[1].split(")")[0].split(", ")
    return dict(zip([*names, "ttl"], effects.page.params, strict=True))


def test_a_first_page_is_stored_passed_on_and_reported(completed: Completed) -> None:
    """D1, D2, E6."""
    fetch = completed(b"<p>words", headers=[("etag", '"e"'), ("last-modified", "then")])
    effects = decide(fetch, reading(), LIMITS)
    assert written(effects) == ["put_content", "put_text", "put_outlinks"]
    row = page(effects)
    assert (row["outcome"], row["title"], row["changed"], row["ttl"]) == ("ok", "Title", None, 0)
    assert (row["body_digest"], row["text_digest"], row["links"]) == (B, T, 3)
    assert [(found.host, found.depth, found.links) for found in effects.discovered] == [
        ("h.test", 2, [LINKS[0]]),
        ("other.test:81", 2, [LINKS[1]]),
    ]
    assert effects.parsed is not None
    assert (effects.parsed.text, effects.parsed.text_source) == ("words", "main")
    report = effects.reported
    assert (report.changed, report.body_digest, report.text_digest) == (None, B, T)
    assert (report.etag, report.last_modified, report.scheduled_at) == (
        '"e"',
        "then",
        fetch.request.scheduled_at,
    )
    assert effects.cut == {"scheme": 2, "nofollow": 1}
    assert effects.verdict == "new"


def test_a_changed_page_takes_away_versions_beyond_the_retention(
    requested: Requested, completed: Completed
) -> None:
    """D7; retention without a read."""
    request = requested(body_digest=A, text_digest=S)
    effects = decide(completed(b"x", request), reading(), LIMITS)
    assert written(effects)[-2:] == ["forget_pages", "forget_outlinks"]
    assert effects.rows[-1].params[-1] == tables.moment(request.scheduled_at - 90 * DAY)
    assert (effects.reported.changed, effects.verdict) == (True, "changed")
    for_ever = Limits(agent="x", max_links=1, max_text=1, max_body=1, retention=0)
    assert "forget_pages" not in written(decide(completed(b"x", request), reading(), for_ever))


def test_the_same_text_in_other_octets_stores_no_new_version(
    requested: Requested, completed: Completed
) -> None:
    """D7: what is stored stays what later fetches are compared with; links are passed on."""
    request = requested(body_digest=A, text_digest=T)
    effects = decide(completed(b"x", request), reading(), LIMITS)
    assert written(effects) == []
    row = page(effects)
    assert (row["changed"], row["body_digest"], row["ttl"]) == (False, A, 90 * DAY)
    assert (effects.reported.changed, effects.reported.body_digest) == (False, A)
    assert len(effects.discovered) == 2
    assert effects.parsed is None


def test_the_same_octets_are_never_read_or_written_again(
    requested: Requested, completed: Completed
) -> None:
    """D7, C7."""
    request = requested(body_digest=B, text_digest=T)
    fetch = completed(b"x", request)
    assert not needs_reading(fetch, B)
    assert not wants_stored_links(fetch, B)
    effects = decide(fetch, Reading(body_digest=B), LIMITS)
    assert (effects.rows, effects.discovered, effects.parsed) == ([], [], None)
    assert (effects.reported.changed, effects.verdict) == (False, "unchanged")


def test_a_304_is_a_row_and_a_report_that_keeps_what_is_known(
    requested: Requested, completed: Completed
) -> None:
    """C10."""
    request = requested(body_digest=A, text_digest=T, etag='"e"', last_modified="then")
    fetch = completed(b"", request, outcome=Outcome.UNCHANGED, status=304, headers=[])
    effects = decide(fetch, Reading(), LIMITS)
    assert (effects.rows, effects.discovered) == ([], [])
    row = page(effects)
    assert (row["outcome"], row["body_digest"], row["changed"]) == ("unchanged", A, False)
    report = effects.reported
    assert (report.changed, report.body_digest, report.etag, report.last_modified) == (
        False,
        A,
        '"e"',
        "then",
    )


@pytest.mark.parametrize("outcome", [Outcome.UNCHANGED, Outcome.OK])
def test_a_job_follows_the_stored_links_of_an_unchanged_page(
    outcome: Outcome, requested: Requested, completed: Completed
) -> None:
    """E10: a job that crawls anew must get beyond pages that did not change."""
    request = requested(body_digest=B, text_digest=T, follow=True)
    fetch = completed(b"x", request, outcome=outcome)
    assert wants_stored_links(fetch, B if outcome is Outcome.OK else None)
    effects = decide(fetch, Reading(body_digest=B, stored_links=LINKS), LIMITS)
    assert [found.host for found in effects.discovered] == ["h.test", "other.test:81"]
    assert effects.cut == {"nofollow": 1}


def test_links_that_were_not_stored_are_read_again(
    requested: Requested, completed: Completed
) -> None:
    request = requested(body_digest=B, text_digest=T, follow=True)
    effects = decide(completed(b"x", request), reading(), LIMITS)
    assert written(effects) == ["put_outlinks"]
    assert (effects.reported.changed, len(effects.discovered)) == (False, 2)


def test_a_move_passes_its_target_on_at_the_same_depth(
    requested: Requested, completed: Completed
) -> None:
    """D11: a redirect is no step deeper."""
    fetch = completed(
        request=requested(depth=3),
        outcome=Outcome.MOVED,
        reason="moved",
        status=301,
        location="http://new.test/p",
    )
    effects = decide(fetch, Reading(), LIMITS)
    (found,) = effects.discovered
    assert (found.host, found.depth, found.source) == ("new.test", 3, fetch.request.url)
    assert found.links == [Link(url="http://new.test/p", rel="redirect")]
    assert (effects.reported.outcome, effects.reported.changed) == (Outcome.MOVED, None)
    assert effects.reported.location == "http://new.test/p"


@pytest.mark.parametrize("location", [None, "", "ftp://x.test/", "http://"])
def test_a_move_to_nowhere_is_counted(location: str | None, completed: Completed) -> None:
    effects = decide(completed(outcome=Outcome.MOVED, location=location), Reading(), LIMITS)
    assert effects.discovered == []
    assert sum(effects.cut.values()) == 1


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome.GONE,
        Outcome.BLOCKED,
        Outcome.TRANSIENT,
        Outcome.PERMANENT,
        Outcome.DISALLOWED,
        Outcome.POLICY,
    ],
)
def test_a_failure_is_a_row_that_expires_and_a_report(
    outcome: Outcome, requested: Requested, completed: Completed
) -> None:
    """E6, C6: what is known of the page is not forgotten for one failure."""
    request = requested(body_digest=A, text_digest=T, etag='"e"')
    fetch = completed(b"", request, outcome=outcome, reason="some-reason", status=None)
    effects = decide(fetch, Reading(), LIMITS)
    row = page(effects)
    assert (row["outcome"], row["reason"], row["ttl"]) == (outcome.value, "some-reason", 90 * DAY)
    assert (row["body_digest"], effects.parsed, effects.discovered) == (None, None, [])
    assert (effects.reported.body_digest, effects.reported.etag) == (A, '"e"')
    gone = ["forget_pages", "forget_outlinks"] if outcome is Outcome.GONE else []
    assert written(effects) == gone


def test_a_cut_body_is_kept_but_replaces_nothing(
    requested: Requested, completed: Completed
) -> None:
    """C9: without validators, so that no 304 makes it the last that is read."""
    request = requested(body_digest=A, text_digest=S)
    fetch = completed(b"x", request, truncated=True, headers=[("etag", '"e"')])
    effects = decide(fetch, reading(), LIMITS)
    assert written(effects) == ["put_content", "put_text"]
    assert page(effects)["ttl"] == 90 * DAY
    report = effects.reported
    assert (report.changed, report.body_digest, report.etag) == (None, A, None)
    assert effects.verdict == "incomplete"


def test_a_body_cut_by_our_own_limit_can_be_compared(
    requested: Requested, completed: Completed
) -> None:
    request = requested(body_digest=A, text_digest=S)
    fetch = completed(b"x" * 10_000, request, truncated=True)
    assert decide(fetch, reading(), LIMITS).reported.changed is True


def test_a_page_that_could_not_be_read_is_stored_with_the_reason(completed: Completed) -> None:
    """C9: the body is kept."""
    effects = decide(completed(b"x"), reading(document=Document(failure="parse-timeout")), LIMITS)
    assert written(effects) == ["put_content", "put_outlinks"]
    assert page(effects)["reason"] == effects.reported.reason == "parse-timeout"
    assert effects.reported.body_digest == B


def test_many_links_to_a_host_travel_in_several_records(completed: Completed) -> None:
    links = [Link(url=f"http://h.test/{n}") for n in range(1200)]
    effects = decide(completed(b"x"), reading(document=Document(links=links)), LIMITS)
    assert [len(found.links) for found in effects.discovered] == [500, 500, 200]
    assert [link for found in effects.discovered for link in found.links] == links


def test_links_beyond_the_depth_limit_are_left_to_the_frontier(
    requested: Requested, completed: Completed
) -> None:
    request = requested(rules=Rules(max_depth=1), depth=1)
    found = decide(completed(b"x", request), reading(), LIMITS).discovered
    assert {record.depth for record in found} == {2}
    assert {record.rules.max_depth for record in found} == {1}


def test_a_parsing_process_gets_only_what_it_needs(completed: Completed) -> None:
    headers = [("content-type", "text/html"), ("set-cookie", "secret"), ("x-robots-tag", "none")]
    task = task_of(completed(b"x", headers=headers), LIMITS)
    assert task.headers == [headers[0], headers[2]]


def test_the_limits_are_those_of_the_settings() -> None:
    settings = Settings()
    limits = Limits.of(settings)
    assert (limits.agent, limits.max_body) == (settings.fetcher.agent, settings.fetcher.max_body)
    assert (limits.max_links, limits.max_text, limits.retention) == (
        settings.parser.max_links,
        settings.parser.max_text,
        settings.parser.retention,
    )
