"""Seeds as people and programs write them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.common.errors import DeadLetter
from services.common.records import Seed
from services.frontier.seeds import REASONS, read


def refusal(value: bytes | None, max_length: int = 2048) -> str:
    with pytest.raises(DeadLetter) as caught:
        read(value, max_length)
    return caught.value.reason


@pytest.mark.parametrize(
    ("value", "href"),
    [
        (b"http://h.test/a", "http://h.test/a"),
        (b"  http://h.test/a \r\n", "http://h.test/a"),
        (b"\xef\xbb\xbfhttp://h.test/a\n", "http://h.test/a"),
        (b"h.test", "https://h.test/"),
        (b"H.test/a?b", "https://h.test/a?b"),
        (b"h.test:8080/x", "https://h.test:8080/x"),
        (b"localhost:8080", "https://localhost:8080/"),
        (b"localhost", "https://localhost/"),
        (b"127.0.1.1:8000/", "https://127.0.1.1:8000/"),
        (b"//h.test/a", "https://h.test/a"),
        (b"h.test/a?u=http://k.test", "https://h.test/a?u=http://k.test"),
        ("http://bücher.test/ä".encode(), "http://xn--bcher-kva.test/%C3%A4"),
        (b"http://h.test/a b", "http://h.test/a%20b"),
        (b'{"url": "http://h.test/a"}', "http://h.test/a"),
        (b'\xef\xbb\xbf {"url": " h.test "}\n', "https://h.test/"),
        (b'{"url": "h.test", "priority": 3, "headers": {"x": []}}', "https://h.test/"),
    ],
)
def test_a_seed_is_a_url_bare_or_in_json(value: bytes, href: str) -> None:
    """F4."""
    assert read(value, 2048)[1].href == href


def test_a_json_seed_says_what_its_job_may_do() -> None:
    value = (
        b'{"url": "h.test", "job": "news", "scope": "domain", "max_depth": 0,'
        b' "max_pages": 10, "fresh_after": 1700000000}'
    )
    assert read(value, 2048)[0] == Seed(
        url="h.test", job="news", scope="domain", max_depth=0, max_pages=10, fresh_after=1.7e9
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "empty"),
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b'{"url": " "}', "empty"),
        (b"\xff\xfeh\x00t\x00t\x00p\x00", "encoding"),
        (b"http://h.test/caf\xe9", "encoding"),
        (b'{"url": "http://h.test/caf\xe9"}', "encoding"),
        (b'{"url": "h.test"', "malformed"),
        (b"{not json}", "malformed"),
        (b'{"url": "h.test"} {"url": "k.test"}', "malformed"),
        (b'{"url": "h.test", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "malformed"),
        (b'{"url": "\\ud800"}', "malformed"),
        (b"{}", "schema"),
        (b'["http://h.test/"]', "schema"),
        (b'"http://h.test/"', "schema"),
        (b'{"url": null}', "schema"),
        (b'{"url": "h.test", "v": 2}', "schema"),
        (b'{"url": "h.test", "scope": "world"}', "schema"),
        (b'{"url": "h.test", "job": ""}', "schema"),
        (b'{"url": "h.test", "job": "a\\nb"}', "schema"),
        (b'{"url": "h.test", "job": "' + b"x" * 129 + b'"}', "schema"),
        (b'{"url": "h.test", "max_depth": -1}', "schema"),
        (b'{"url": "h.test", "max_depth": 1.5}', "schema"),
        (b'{"url": "h.test", "max_depth": 2147483648}', "schema"),
        (b'{"url": "h.test", "max_pages": 0}', "schema"),
        (b'{"url": "h.test", "fresh_after": -1}', "schema"),
        (b'{"url": "h.test", "priority": 0}', "schema"),
        (b'{"url": "h.test", "priority": 100.5}', "schema"),
        (b'{"url": "h.test", "priority": "high"}', "schema"),
        (b'{"url": "h.test", "fresh_after": 1e999}', "schema"),
        (b"http://h.test/\nhttp://k.test/", "several"),
        (b"http://h.test/ http://k.test/", "several"),
        (b"http://h.test/\tnews", "several"),
        (b'{"url": "http://h.test/\\nhttp://k.test/"}', "several"),
        (b"http://h.test/" + b"a" * 2035, "too-long"),
        (b"http://h.test/" + b"\xc3\xa9" * 400, "too-long"),
        (b"a" * 1_000_000, "too-long"),
        (b"\x00" * 1_000_000, "too-long"),
        (b'{"url": "http://h.test/' + b"a" * 1_000_000 + b'"}', "too-long"),
        (b"ftp://h.test/", "url-scheme"),
        (b"mailto:a@h.test", "url-scheme"),
        (b"tel:12345", "url-scheme"),
        (b"javascript:alert(1)", "url-scheme"),
        (b"http://.../", "url-host"),
        (b"hello world", "url-host"),
        (b"\x00\x01\x02", "url-host"),
        (b"h.test:99999", "url-port"),
        (b"/etc/passwd", "url-malformed"),
        (b"?q", "url-malformed"),
    ],
)
def test_a_bad_seed_gets_its_reason(value: bytes | None, reason: str) -> None:
    """F4: bare, broken, huge, binary; never silence."""
    assert refusal(value) == reason
    assert reason in REASONS


def test_the_limit_is_met_by_the_url_as_fetched() -> None:
    assert read(b"http://h.test/" + b"a" * 86, 100)[1].href.endswith("a")
    assert refusal(b"http://h.test/" + b"a" * 87, 100) == "too-long"


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode()))
@example(b'{"url":"http://h.test/\\u0000"}')
def test_any_octets_are_a_seed_or_a_documented_refusal(value: bytes) -> None:
    for octets in (value, b"{" + value, b"http://" + value, b'{"url": "' + value + b'"}'):
        try:
            _, url = read(octets, 2048)
        except DeadLetter as error:
            reason = error.reason
        else:
            assert url.href.startswith(("http://", "https://"))
            continue
        assert reason in REASONS
