"""The rules file: identity rules by host pattern, in TOML; see docs/identity.md.

Decides whether a file says something, and where it is wrong. What the rules do is
identity_rules.py's.
"""

import re
import tomllib
from pathlib import Path

import msgspec

from services.common.errors import Stop
from services.common.identity_rules import Block, IdentityRules
from services.common.urls import BadUrl, parse

_AT = re.compile(r" - at `\$\.?(\w*).*`")
_UNKNOWN = re.compile(r"unknown field `(\w*)`")


def load(path: Path | None) -> IdentityRules:
    """The rules in the file; the standard alone without one.

    Raises:
        Stop: it cannot be read, or is wrong, naming the line.
    """
    if path is None:
        return IdentityRules()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Stop(f"the rules file {path} cannot be read: {error}") from error
    return read(text, str(path))


def read(text: str, file: str = "rules") -> IdentityRules:
    """The rules in the text of a file; `file` is its name in messages.

    Raises:
        Stop: naming the line, and what is wrong there.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Stop(f"{file}: no TOML: {error}") from error
    blocks = {}
    for pattern, table in tables.items():
        wrong = _wrong_pattern(pattern, table)
        if wrong:
            raise Stop(f"{file}:{_line(text, pattern)}: {wrong}")
        try:
            block = msgspec.convert(table, Block)
            _check(pattern, block)
        except msgspec.ValidationError as error:
            key = _UNKNOWN.search(str(error)) or _AT.search(str(error))
            line = _line(text, pattern, key[1] if key else "")
            raise Stop(f"{file}:{line}: {_AT.sub('', str(error))}") from error
        blocks[pattern] = block
    return IdentityRules(blocks)


def _wrong_pattern(pattern: str, table: object) -> str:
    """What is wrong with a host pattern; empty if nothing is."""
    if not isinstance(table, dict):
        return f'`{pattern}` stands outside a host\'s block: begin one, such as ["*"]'
    if any(isinstance(value, dict) for value in table.values()):
        return f'a host pattern with dots goes into quotes: ["{pattern}...."]'
    if pattern == "*":
        return ""
    name = pattern.removeprefix("*.")
    try:
        hostname = parse(f"http://{name}/").hostname
    except BadUrl:
        hostname = ""
    if not hostname:
        return f"`{pattern}` is no host, no `*.domain` and no `*`"
    return "" if name == hostname else f"`{pattern}`: write it as `{hostname}`"


def _check(pattern: str, block: Block) -> None:
    """What the types do not say."""
    if block.ignore_www and pattern.removeprefix("*.").startswith("www."):
        raise msgspec.ValidationError(
            "put `ignore_www` into the block of the name without www. - at `$.ignore_www`"
        )
    for key in ("drop", "keep", "keep_only", "session", "path_parameters"):
        for name in getattr(block, key) or ():
            if not name or "*" in name[:-1] or set(name) & set("=&#;/?"):
                raise msgspec.ValidationError(f"`{name}` is no parameter's name - at `$.{key}`")


def _line(text: str, pattern: str, key: str = "") -> int:
    """The line of a block, or of a key in it."""
    header = re.compile(rf"""\s*\[\s*["']?{re.escape(pattern)}["'.\]]""")
    wanted = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    found = 0
    for number, line in enumerate(text.splitlines(), 1):
        if found and line.lstrip().startswith("["):
            break
        if header.match(line):
            found = number
        if found and key and wanted.match(line):
            return number
    if not found:  # a key outside every block
        outside = re.compile(rf"""\s*["']?{re.escape(pattern)}["']?\s*[=.]""")
        lines = enumerate(text.splitlines(), 1)
        return next((number for number, line in lines if outside.match(line)), 1)
    return found
