"""The rules file, and where it is wrong."""

from pathlib import Path

import pytest

from services.common import rules_file
from services.common.errors import Stop
from services.common.urls import parse

GOOD = """
# all hosts
["*"]
ignore_trailing_slash = true

["*.shop.test"]
drop = ["ref", "aff_*"]

"""


def test_a_file_says_which_rules_hold_where(tmp_path: Path) -> None:
    """D3."""
    path = tmp_path / "rules.toml"
    path.write_text(GOOD)
    rules = rules_file.load(path)
    assert rules.name(parse("http://a.shop.test/x/?ref=1")).identity == "http://a.shop.test/x"
    assert rules.name(parse("http://h.test/x/?ref=1")).identity == "http://h.test/x?ref=1"


def test_without_a_file_there_is_the_standard() -> None:
    assert rules_file.load(None).name(parse("http://h.test/x/")).identity == "http://h.test/x/"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('["*"]\ndrop = [\n"a"\n"b"]', 4, "no TOML"),
        ('["*"]\n\ndrops = ["a"]', 3, "unknown field `drops`"),
        ('["*"]\ndrop = "a"', 2, "Expected `array`"),
        ('["*"]\nkeep = ["a"]\ndrop = [1]', 3, "Expected `str`"),
        ('["a.test"]\ndrop=["x"]\n["h.test"]\nignore_www = "yes"', 4, "Expected `bool"),
        ('["h.test"]\ndrop = ["a=b"]', 2, "`a=b` is no parameter's name"),
        ('["h.test"]\ndrop = ["a*b"]', 2, "`a*b` is no parameter's name"),
        ('["h.test"]\ndrop = [""]', 2, "`` is no parameter's name"),
        ('\n["www.h.test"]\nignore_www = true', 3, "name without www"),
        ("\n[h.test]\ndrop = []", 2, "goes into quotes"),
        ('drop = ["a"]', 1, "outside a host's block"),
        ('["H.test"]', 1, "write it as `h.test`"),
        ('["h.test:80"]', 1, "write it as `h.test`"),
        ('\n["h..test"]', 2, "is no host"),
        ('["a.*.test"]', 1, "is no host"),
        ('["*"]\n["*"]', 2, "no TOML"),
    ],
)
def test_a_bad_file_stops_the_process_naming_line_and_fault(
    text: str, line: int, what: str
) -> None:
    with pytest.raises(Stop) as caught:
        rules_file.read(text, "r.toml")
    message = str(caught.value)
    assert what in message
    assert f"r.toml:{line}:" in message or f"line {line}" in message


def test_a_file_that_cannot_be_read_stops_the_process(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="cannot be read"):
        rules_file.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'["*"]\n# caf\xe9')
    with pytest.raises(Stop, match="cannot be read"):
        rules_file.load(tmp_path / "latin.toml")
