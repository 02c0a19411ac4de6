"""What holds for every URL and every string."""

from hypothesis import example, given
from hypothesis import strategies as st

from services.common.urls import REASONS, BadUrl, Url, parse

PIECES = st.sampled_from("aZ09-._~/?#[]@!$&'()*+,;=:% \\\t\n\x00\x7f\"<>^`{|}éß€😀\u0301") | (
    st.sampled_from(["%2e", "%2F", "%zz", "%41", "%e9", "%25", "..", "//"])
    | st.sampled_from(["&a=", "&utm_source=", ";jsessionid="])
)
TAILS = st.lists(PIECES, max_size=14).map("".join)
URLS = st.builds(
    "{}{}".format,
    st.sampled_from(["http://h.test/", "https://a.b.test:81/x?", "http://", "http://h.test", ""]),
    TAILS,
)
NAMES = st.sampled_from(["a", "b", "c", "utm_x", "a.b", ""])
QUERIES = st.lists(st.tuples(NAMES, st.integers(0, 9)), max_size=8)


def outcome(raw: str, base: str | None) -> Url | str:
    try:
        return parse(raw, base)
    except BadUrl as error:
        return error.reason


@given(URLS | st.text(st.characters(), max_size=30), st.none() | URLS)
@example("http://h.test/.;jsessionid=1/x", None)
@example("\ud800", "\ud800")
def test_any_string_is_a_url_with_a_fixed_identity_or_a_documented_refusal(
    raw: str, base: str | None
) -> None:
    url = outcome(raw, base)
    if isinstance(url, str):
        assert url in REASONS
        return
    assert parse(url.href) == url
    again = parse(url.identity)
    assert (again.identity, again.host) == (url.identity, url.host)
    assert f"{url.scheme}://{url.host}{url.path}" == url.href
    assert url.href.isascii()
    assert "#" not in url.href


@given(st.sampled_from(":/?#[]@!$&'()*+,;="), st.text("ab/", max_size=5), st.text("ab", min_size=1))
def test_a_reserved_octet_and_its_encoding_are_two_paths(
    reserved: str, before: str, after: str
) -> None:
    """URL-01."""
    bare = parse(f"http://h.test/{before}{reserved}{after}")
    encoded = parse(f"http://h.test/{before}%{ord(reserved):02x}{after}")
    assert bare.identity != encoded.identity


@given(st.sampled_from(":/?#[]@!$&()*+,;="), st.text("ab", max_size=5), st.text("ab", min_size=1))
def test_a_reserved_octet_and_its_encoding_are_two_queries(
    reserved: str, before: str, after: str
) -> None:
    """URL-01; without the apostrophe, which every client encodes in a query (WHATWG)."""
    bare = parse(f"http://h.test/?q{before}{reserved}{after}")
    encoded = parse(f"http://h.test/?q{before}%{ord(reserved):02x}{after}")
    assert bare.identity != encoded.identity


@given(QUERIES)
def test_parameters_are_a_bag_in_which_each_name_keeps_its_order(
    parameters: list[tuple[str, int]],
) -> None:
    """D4."""
    by_name = sorted(parameters, key=lambda parameter: parameter[0])
    one, other = (
        parse("http://h.test/?" + "&".join(f"{name}={value}" for name, value in order)).identity
        for order in (parameters, by_name)
    )
    assert one == other
    kept = [(name, value) for name, value in by_name if not name.startswith("utm_")]
    query = "&".join(f"{name}={value}" for name, value in kept)
    assert one == "http://h.test/" + (f"?{query}" if query else "")


@given(st.text("0123456789abcdefABCDEF", min_size=2, max_size=2))
def test_the_case_of_hex_digits_makes_no_difference(digits: str) -> None:
    lower = parse(f"http://h.test/x{digits.lower()}%{digits.lower()}y")
    upper = parse(f"http://h.test/x{digits.lower()}%{digits.upper()}y")
    assert lower.identity == upper.identity
