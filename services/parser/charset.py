"""Octets to text: which encoding, by what evidence.

Order (HTML, "determining the character encoding"): byte order mark, the zero octets of UTF-16,
Content-Type header, declaration in the document, valid UTF-8, a detector's guess. Labels mean
what the WHATWG Encoding standard says. Never raises; what cannot be decoded becomes U+FFFD.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import charset_normalizer
import webencodings  # type: ignore[import-untyped]  # it ships no types

from services.parser.media import utf16_pattern

Source = Literal["bom", "pattern", "header", "document", "utf-8", "detector", "default"]

PRESCAN = 16 * 1024
"""Octets searched for a declaration; the standard asks for 1024, real pages for more."""
_DETECT = 4096
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_CODECS = {"gbk": "gb18030"}
"""The standard decodes gbk with the gb18030 decoder; Python's own gbk lacks characters."""
_CANDIDATES = [
    "cp1252", "cp1251", "koi8_r", "cp1250", "iso8859_2", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp1257", "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
_PYTHON_NAMES = {
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "cp874": "windows-874",
    "koi8_r": "koi8-r",
    "iso8859_2": "iso-8859-2",
}
_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
_XML = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")
_TAGS = re.compile(rb"<!--.*?(?:-->|\Z)|<meta[\s/]([^>]*)", re.IGNORECASE | re.DOTALL)
_ATTRIBUTES = re.compile(rb"""([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text and how it was read; `encoding` is a WHATWG name."""

    text: str
    encoding: str
    source: Source


def decode(body: bytes, content_type: str = "") -> Decoded:
    """The text of `body`, served with this Content-Type header."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            return Decoded(_read(body[len(bom) :], name), name, "bom")
    pattern = utf16_pattern(body[:1024])
    if pattern:
        return Decoded(_read(body, pattern), pattern, "pattern")
    for name, source in _declared(body, content_type):
        return Decoded(_read(body, name), name, source)
    if _is_utf8(body):
        return Decoded(body.decode("utf-8", "replace"), "utf-8", "utf-8")
    guess = _detect(body)
    if guess:
        return Decoded(_read(body, guess), guess, "detector")
    return Decoded(_read(body, "windows-1252"), "windows-1252", "default")


def _declared(body: bytes, content_type: str) -> Iterator[tuple[str, Source]]:
    header = _HEADER.search(content_type)
    served = _name(header[1]) if header else None
    # UTF-16 would have shown zero octets: the label is wrong
    if served and not served.startswith("utf-16"):
        yield served, "header"
    for label in _labels(body[:PRESCAN]):
        written = _name(label.decode("latin-1"))
        if written:
            # HTML, prescan: a declaration that could be read in ASCII cannot be UTF-16
            yield ("utf-8" if written.startswith("utf-16") else written), "document"


def _labels(start: bytes) -> Iterator[bytes]:
    """Labels that the document gives itself: the XML declaration, then meta in order."""
    xml = _XML.match(start)
    if xml:
        yield xml[1]
    for tag in _TAGS.finditer(start):
        if tag[1] is None:
            continue
        attributes = {
            name.lower(): double or single or bare
            for name, double, single, bare in _ATTRIBUTES.findall(tag[1])
        }
        if b"charset" in attributes:
            yield attributes[b"charset"].strip()
        # http-equiv is often misspelt; what says charset= in a content attribute means it
        found = re.search(rb"charset\s*=\s*[\"']?([^\s\"';]+)", attributes.get(b"content", b""))
        if found:
            yield found[1]


def _name(label: str) -> str | None:
    """The encoding's name; None for a label that is unknown or must not be obeyed."""
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None or encoding.name == "replacement":
        return None
    return "windows-1252" if encoding.name == "x-user-defined" else str(encoding.name)


def _read(body: bytes, name: str) -> str:
    codec = _CODECS.get(name)
    info = codecs.lookup(codec) if codec else webencodings.lookup(name).codec_info
    text: str = info.decode(body, "replace")[0]
    return text


def _is_utf8(body: bytes) -> bool:
    """Valid up to its end, where a character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _detect(body: bytes) -> str | None:
    """A guess from the part where the first foreign octets are; bounded in time."""
    first = re.search(rb"[\x80-\xff]", body)
    start = max(0, first.start() - 256) if first else 0
    guess = charset_normalizer.from_bytes(
        body[start : start + _DETECT], cp_isolation=_CANDIDATES, enable_fallback=False
    ).best()
    if guess is None:
        return None
    python = guess.encoding
    return _PYTHON_NAMES.get(python) or _name(python.replace("_", "-"))
