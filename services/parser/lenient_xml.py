"""XML as it is found: read to its end or to where it breaks, without entities and network.

Decides what is taken for markup. Only what follows the root's start is given to the parser, so
there is never a document type and nothing to expand; namespaces are told apart by local name.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from html.entities import html5
from typing import NamedTuple

import lxml.etree

from services.parser.clean import clean

PROLOG = 16 * 1024
"""Characters in which a root must begin."""
_STEP = 128 * 1024
_MAX_TEXT = 16 * 1024
"""Characters kept of the text of one element; no URL or date is longer."""
_MAX_PARTS = 1000
_MAX_DEPTH = 256
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)(?=[\s>/])")
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)(?=[\s>])", re.IGNORECASE)
_ODD = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|<(?![A-Za-z_:/!?])"
    r"|&(?:#(?P<decimal>\d{1,7});|#[xX](?P<hex>[0-9a-fA-F]{1,6});|(?P<name>\w{1,32};))?",
    re.DOTALL,
)
_BARE = re.compile(r"&|<[^A-Za-z_:/!?]")
_XML_NAMES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


class Root(NamedTuple):
    """Where a document begins."""

    name: str
    """Local name, lower case."""
    at: int


class Element(NamedTuple):
    """An element that began (`text` is None) or ended (it is what the element itself holds)."""

    name: str
    """Local name, lower case."""
    inside: str
    """Name of the one around it; empty for the root."""
    attributes: dict[str, str]
    """By local name; `base` is `xml:base` where an element has one."""
    text: str | None


def root_of(text: str, names: frozenset[str], *, strict: bool) -> Root | None:
    """The root of a document whose root may be one of `names`; None if it is none of them.

    `strict`: nothing but declarations and comments comes before it. Else there may be dirt, as
    of a server's warnings, but no HTML page.
    """
    prolog = _COMMENT.sub(lambda found: " " * len(found[0]), text[:PROLOG])
    for tag in _TAG.finditer(prolog):
        name = tag[1].lower()
        if name in names:
            before = prolog[: tag.start()]
            if not strict:
                return None if _HTML.search(before) else Root(name, tag.start())
            return Root(name, tag.start()) if before.lstrip()[:1] in ("", "<") else None
        if strict:
            return None
    return None


def elements(text: str, root: Root) -> Iterator[Element]:
    """The elements of `text` from its root on, as far as they can be read; never raises."""
    data = _mended(clean(text[root.at :])).encode("utf-8", "ignore")
    target = _Target()
    parser = lxml.etree.XMLParser(
        target=target,  # type: ignore[arg-type]  # the stubs want what lxml does not
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    for start in range(0, len(data), _STEP):
        try:
            parser.feed(data[start : start + _STEP])
        except lxml.etree.LxmlError:
            break
        yield from target.take()
        if target.depth > _MAX_DEPTH:
            return
    # what the parser closes by itself may be cut: half a URL is another URL
    with suppress(lxml.etree.LxmlError):
        parser.close()


def _mended(text: str) -> str:
    """With each `&` and `<` that begins no markup written as a reference.

    The parser would leave out the name after a bare `&`, and end at a bare `<`.
    """
    return _ODD.sub(_reference, text) if _BARE.search(text) else text


def _reference(found: re.Match[str]) -> str:
    whole = found[0]
    if whole[0] == "<":
        return whole if len(whole) > 1 else "&lt;"
    if found["decimal"] or found["hex"]:
        number = int(found["decimal"]) if found["decimal"] else int(found["hex"], 16)
        return whole if clean(_character(number)) else ""
    name = found["name"]
    if name is None or name in _XML_NAMES:
        return whole if name else "&amp;"
    return html5.get(name) or f"&amp;{name}"


def _character(number: int) -> str:
    return chr(number) if number <= 0x10FFFF else ""  # noqa: PLR2004 - Unicode's last


def _local(name: str) -> str:
    """Without namespace or, where that is not declared, prefix."""
    return name.rpartition("}")[2].rpartition(":")[2].lower()


class _Target:
    """What the parser calls; holds one step's elements."""

    def __init__(self) -> None:
        self._done: list[Element] = []
        self._path: list[str] = []
        self._open: list[tuple[dict[str, str], list[str]]] = []

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._open)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        named = {_local(key): value for key, value in attributes.items()} if attributes else {}
        self._done.append(Element(name, self._around(), named, None))
        self._path.append(name)
        self._open.append((named, []))

    def end(self, _tag: str) -> None:
        if self._open:
            named, parts = self._open.pop()
            name = self._path.pop()
            text = "".join(parts)[:_MAX_TEXT]
            self._done.append(Element(name, self._around(), named, text))

    def _around(self) -> str:
        return self._path[-1] if self._path else ""

    def data(self, text: str) -> None:
        if self._open:
            parts = self._open[-1][1]
            if len(parts) < _MAX_PARTS:
                parts.append(text[:_MAX_TEXT])

    def close(self) -> None:
        """Nothing is built."""

    def take(self) -> list[Element]:
        """What was found since the last time."""
        done, self._done = self._done, []
        return done
