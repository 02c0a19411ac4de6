"""C3: protocols are found by URL scheme."""

import subprocess
import sys
from pathlib import Path

import pytest

from services.common.errors import Stop
from services.common.settings import Browser, Fetcher
from services.fetcher.browser.chromium import program
from services.fetcher.protocols.http import Http
from services.fetcher.protocols.registry import load, load_modules


async def test_http_and_https_share_one_object() -> None:
    protocols = load(Fetcher())
    assert isinstance(protocols["http"], Http)
    assert protocols["http"] is protocols["https"]
    await protocols["http"].close()


def test_a_module_is_imported_only_if_a_rule_names_it() -> None:
    """C12: a browser's client costs a quarter of a second that most fetchers do not need."""
    code = (
        "import sys, services.fetcher.service\n"
        "from services.fetcher.protocols.registry import load_modules\n"
        "assert load_modules([]) == {}\n"
        "assert 'playwright' not in sys.modules\n"
        "assert load_modules(['browser'])['browser'].__name__ == 'Browser'\n"
        "assert 'playwright' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_that_is_not_there_stops_the_fetcher() -> None:
    with pytest.raises(Stop, match=r"no such module; known: \['browser'\]"):
        load_modules(["telepathy"])


def test_a_browser_that_is_not_there_stops_the_fetcher() -> None:
    with pytest.raises(Stop, match=r"apt|`chromium`"):
        program(Browser(path=Path("/nowhere/chromium")))
