"""One example of each record, as a crawl of example.org might make it."""

from services.common import records
from services.common.urls import fingerprint

_URL = "https://example.org/news/1"
_FINGERPRINT = fingerprint(_URL)
_RULES = records.Rules(job="docs", root="example.org", max_depth=5)
_AT = 1_790_000_000.0
_BODY = fingerprint("the body of the page")
_TEXT = fingerprint("the text of the page")

_REQUEST = records.FetchRequested(
    url=_URL,
    fingerprint=_FINGERPRINT,
    host="example.org",
    rules=_RULES,
    depth=1,
    reason="due",
    scheduled_at=_AT,
    lease_until=_AT + 600,
    gap=1.0,
    group="192.0.2.1",
    etag='"5f3a"',
    body_digest=_BODY,
    text_digest=_TEXT,
)

ALL: tuple[records.Record, ...] = (
    records.Seed(url="https://example.org/", job="docs", scope="domain", max_depth=5),
    records.UrlDiscovered(
        host="example.org",
        source="https://example.org/",
        rules=_RULES,
        depth=1,
        links=[records.Link(url=_URL, anchor="First news")],
        found_at=_AT,
    ),
    records.UrlAdmitted(
        host="example.org",
        rules=_RULES,
        urls=[records.AdmittedUrl(url=_URL, fingerprint=_FINGERPRINT, depth=1)],
    ),
    _REQUEST,
    records.FetchCompleted(
        request=_REQUEST,
        outcome=records.Outcome.UNCHANGED,
        reason="not-modified",
        status=304,
        headers=[("etag", '"5f3a"')],
        started_at=_AT + 0.2,
        elapsed=0.08,
        first_byte=0.08,
        address="93.184.216.34",
        fetcher="fetcher-0",
    ),
    records.CrawlReported(
        host="example.org",
        fingerprint=_FINGERPRINT,
        scheduled_at=_AT,
        url=_URL,
        job="docs",
        outcome=records.Outcome.UNCHANGED,
        reason="not-modified",
        status=304,
        changed=False,
        fetched_at=_AT + 0.28,
        elapsed=0.08,
        etag='"5f3a"',
        body_digest=_BODY,
        text_digest=_TEXT,
        fetcher="fetcher-0",
    ),
    records.HostUpdated(
        host="example.org",
        at=_AT,
        mapped_to="www.example.org",
        mapped_scheme="https",
        mapped_until=_AT + 30 * 86_400,
        crawl_delay=2.0,
    ),
    records.PageParsed(
        url=_URL,
        fingerprint=_FINGERPRINT,
        host="example.org",
        job="docs",
        depth=1,
        fetched_at=_AT,
        status=200,
        content_type="text/html",
        title="First news",
        text="Something happened.",
        text_source="main",
        language="en",
        links=12,
    ),
    records.ClockTicked(at=_AT),
    records.PartitionPlanned(
        partition=3, at=_AT, planned=0.4, urls=500_000, priorities=210_000.0, handed=0.38
    ),
    records.PriceSet(price=190_000.0, longest=30 * 86_400.0, priority=0.42, at=_AT),
    records.Command(id="5b0c", name="status", asked_at=_AT),
    records.CommandResult(
        id="5b0c", name="status", partition=3, worker="scheduler-0", result={"known": 12, "ok": 9}
    ),
    records.DeadLetter(
        topic="seeds",
        partition=0,
        offset=41,
        value=b"{broken",
        value_size=7,
        reason="malformed",
        detail="JSON is malformed: expected '\"' (byte 1)",
        service="frontier",
        at=_AT,
    ),
)
