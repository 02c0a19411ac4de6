"""Text that can be stored and sent anywhere: no control characters, valid Unicode."""

import re

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """Without NUL, other control characters, lone surrogates and noncharacters."""
    return _CONTROLS.sub("", text)


def one_line(text: str, limit: int) -> str:
    """Cleaned, white space collapsed and trimmed, at most `limit` characters."""
    # cut first: a node may hold megabytes of white space
    return _SPACES.sub(" ", clean(text[: limit * 20])).strip()[:limit].rstrip()
