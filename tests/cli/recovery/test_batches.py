"""Records of one host and job each, within their limits; nothing is left out."""

from hypothesis import given
from hypothesis import strategies as st

from services.cli.recovery.batches import MOST, Batches
from services.cli.recovery.job_rules import JobRules
from services.common import codec, topics
from services.common.records import AdmittedUrl, Rules, UrlAdmitted
from services.common.urls import fingerprint, parse


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 2000)), max_size=300),
    st.integers(1, 200),
)
def test_each_url_comes_out_once_in_a_record_that_fits(
    given_urls: list[tuple[str, int]], held: int
) -> None:
    batches = Batches(20_000, held)
    records: list[UrlAdmitted] = []
    for number, (host, length) in enumerate(given_urls):
        url = f"https://{host}.test/{number}/{'x' * length}"
        records += batches.add(host, Rules(), AdmittedUrl(url=url, fingerprint=fingerprint(url)))
    records += batches.rest()
    came = [url.url for record in records for url in record.urls]
    assert len(came) == len(set(came)) == len(given_urls)
    for record in records:
        assert 0 < len(record.urls) <= MOST
        assert len({url.url.split("/")[2] for url in record.urls}) == 1
        assert len(codec.encode(topics.URL_ADMITTED, record)) <= 20_000


def test_rules_are_those_of_the_seed_whose_scope_holds_the_page() -> None:
    rules = JobRules()
    own = Rules(job="j", scope="host", root="a.test", max_depth=1)
    other = Rules(job="j", scope="host", root="b.test", max_depth=2)
    rules.add(own)
    rules.add(other)
    assert rules.of("j", parse("https://a.test/x"), "a.test") == own
    moved = rules.of("j", parse("https://c.test/x"), "c.test")
    assert (moved.root, moved.max_depth) == ("c.test", 2)
    unknown = rules.of("k", parse("https://c.test/x"), "c.test")
    assert (unknown.job, unknown.max_depth) == ("k", 0)
    assert rules.missing == {"k": 1}
