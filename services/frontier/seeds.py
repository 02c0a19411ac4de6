"""Seeds as people and programs write them: one URL, bare or in a JSON object.

Decides what one record of the `seeds` topic asks for. One record is one seed; anything else is
a dead letter with a reason of `REASONS`, so that no seed vanishes without an answer. Never
decides what follows from a seed: core.py does.
"""

import re
from collections.abc import Container

from services.common.codec import decode
from services.common.errors import DeadLetter
from services.common.records import Seed
from services.common.topics import SEEDS
from services.common.urls import SCHEMES, BadUrl, Url, parse

REASONS = (
    "empty",
    "encoding",
    "malformed",
    "schema",
    "several",
    "pattern",
    "too-long",
    "url-scheme",
    "url-host",
    "url-port",
    "url-malformed",
)

_BOM = b"\xef\xbb\xbf"
_JSON = (b"{", b"[", b'"')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_PORT = re.compile(r"(?:localhost|[^/?#:@]*\.[^/?#:@]*):[0-9]+(?:[/?#]|\Z)")
_SEVERAL = re.compile(r"[\t\r\n]|\s\S*://")
_MAX_JOB = 128
_MAX_COUNT = 2**31 - 1
_MAX_PRIORITY = 100


def read(
    value: bytes | None, max_length: int, schemes: Container[str] = SCHEMES
) -> tuple[Seed, Url]:
    """The seed in a record's value and its URL.

    A URL without a scheme gets `https://`. `max_length` is in characters, of the URL as given
    and as fetched; `schemes` are those admitted.

    Raises:
        DeadLetter: with a reason of `REASONS`.
    """
    text = (value or b"").strip().removeprefix(_BOM).strip()
    seed = _from_json(text) if text.startswith(_JSON) else _from_line(text)
    return seed, _url(seed.url.strip(), max_length, schemes)


def _from_line(text: bytes) -> Seed:
    if not text:
        raise DeadLetter("empty")
    return Seed(url=_decoded(text))


def _from_json(text: bytes) -> Seed:
    _decoded(text)
    seed: Seed = decode(SEEDS, text)
    if not (0 < len(seed.job) <= _MAX_JOB and seed.job.isprintable()):
        raise DeadLetter("schema", f"`job` must be 1 to {_MAX_JOB} printable characters")
    for name, count, least in (("max_depth", seed.max_depth, 0), ("max_pages", seed.max_pages, 1)):
        if count is not None and not least <= count <= _MAX_COUNT:
            raise DeadLetter("schema", f"`{name}` must be {least} to {_MAX_COUNT}")
    if not 0 < seed.priority <= _MAX_PRIORITY:
        raise DeadLetter("schema", f"`priority` must be above 0 and at most {_MAX_PRIORITY}")
    if seed.fresh_after < 0:
        raise DeadLetter("schema", "`fresh_after` must not be negative")
    return seed


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise DeadLetter("encoding", f"not UTF-8: {error.reason} at {error.start}") from error


def _url(text: str, max_length: int, schemes: Container[str]) -> Url:
    if not text:
        raise DeadLetter("empty", "no URL")
    if len(text) > max_length:
        raise DeadLetter("too-long", f"{len(text)} characters; {max_length} are allowed")
    if _SEVERAL.search(text):
        raise DeadLetter("several", "one record is one seed")
    try:
        url = parse(_with_scheme(text), schemes=schemes)
    except BadUrl as error:
        raise DeadLetter(f"url-{error.reason}", error.detail) from error
    if len(url.href) > max_length:
        raise DeadLetter("too-long", f"{len(url.href)} characters; {max_length} are allowed")
    return url


def _with_scheme(text: str) -> str:
    """`h.test`, `h.test:8080/x` and `//h.test` mean https; a path alone means nothing."""
    if text.startswith("//"):
        return f"https:{text}"
    if _HOST_PORT.match(text) or not (
        _SCHEME.match(text) or text.startswith(("/", "\\", "?", "#"))
    ):
        return f"https://{text}"
    return text
