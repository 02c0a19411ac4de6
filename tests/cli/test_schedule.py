"""What `recrawl schedule` makes of what is typed."""

import pytest

from services.cli.schedule import moment, target
from services.common.errors import Stop
from services.common.settings import Settings
from services.common.urls import fingerprint
from services.frontier.service import limits_of

LIMITS = limits_of(Settings())


def test_a_url_goes_by_its_identity_and_a_prefix_by_its_path() -> None:
    url = target(LIMITS, "HTTP://h.test/a#top")
    assert (url.host, url.fingerprint, url.prefix) == ("h.test", fingerprint("http://h.test/a"), "")
    assert target(LIMITS, "", prefix="http://h.test/p/q?x=").prefix == "/p/q?x="
    assert target(LIMITS, "", prefix="http://h.test").prefix == "/"
    assert target(LIMITS, "", host="H.test:8080") == ("h.test:8080", b"", "")


@pytest.mark.parametrize("given", [{}, {"host": "h.test", "prefix": "http://h.test/"}])
def test_exactly_one_target_must_be_named(given: dict[str, str]) -> None:
    with pytest.raises(Stop, match="name one URL"):
        target(LIMITS, "", **given)


def test_times_are_utc_unless_they_say_otherwise() -> None:
    assert moment("1970-01-02") == moment("1970-01-02T00:00Z") == 86_400
    assert moment("1970-01-02T01:00+01:00") == 86_400
    with pytest.raises(Stop, match="2030-01-31"):
        moment("tomorrow")
