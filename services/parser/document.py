"""One body read: what a parsing process gets and gives back.

Decides which readers a body goes through. Pure: octets in, document out.
"""

import re
from typing import Literal

import msgspec
from selectolax.lexbor import LexborHTMLParser

from services.common.records import Link
from services.parser import listings, media
from services.parser.bodies import digest, unpack
from services.parser.charset import Decoded, decode
from services.parser.directives import read_directives
from services.parser.head import read_head
from services.parser.links import base_of, read_links
from services.parser.listing import Listing, ListingKind
from services.parser.text import TextSource, body_text, main_text, plain_text

Failure = Literal["", "parse-timeout", "parse-crashed", "parse-memory", "parse-failed"]

_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)"
    r"([a-zA-Z][\w:-]*)((?:\s+[\w:.-]+(?:\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))?)*\s*)/>"
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a parsing process needs of a fetch and of the settings."""

    url: str
    body: bytes
    """Compressed, as in `FetchCompleted`."""
    size: int
    headers: list[tuple[str, str]]
    agent: str
    now: float
    """When the page was fetched; dated directives are measured against it."""
    max_links: int
    max_text: int
    sitemap_level: int = 0
    """As in `FetchRequested`."""
    listings: list[ListingKind] = []
    """Which kinds of list give links."""
    main: bool = True
    """Whether to look for the main text; without, the text is that of the whole body."""


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read from a body."""

    kind: media.Kind = "binary"
    content_type: str = ""
    charset: str = ""
    title: str = ""
    language: str = ""
    description: str = ""
    canonical: str = ""
    text: str = ""
    text_source: TextSource = "none"
    text_truncated: bool = False
    text_digest: bytes | None = None
    """Of the whole text, or of what a listing lists; None if there is none."""
    noindex: bool = False
    links: list[Link] = []
    """All links; `rel` holds `nofollow` where the link or the page says so."""
    cut: dict[str, int] = {}
    """Links not taken, by reason."""
    failure: Failure = ""
    """Why the main text is missing, or all that is read; empty if nothing went wrong."""
    detail: str = ""
    """What went wrong, for the log."""
    reason: str = ""
    """What is wrong with the body itself; empty if nothing is."""

    @property
    def is_listing(self) -> bool:
        """Whether it is a sitemap or feed (or should have been one): no page."""
        return self.kind in ("sitemap", "feed")


def read(task: Task) -> Document:
    """Reads a body.

    Raises:
        DeadLetter: the body is not what its record says.
    """
    body = unpack(task.body, task.size)
    content_type = header(task.headers, "content-type")
    kind = media.sniff(content_type, body)
    document = Document(kind=kind, content_type=media.essence(content_type))
    asked = listings.Asked(
        url=task.url,
        content_type=content_type,
        kind=kind,
        level=task.sitemap_level,
        now=task.now,
        max_links=task.max_links,
    )
    listing = listings.read(body, asked)
    if listing is not None:
        return _listed(document, listing, task)
    if kind in ("html", "xhtml"):
        decoded = decode(body, content_type)
        return _read_html(document, decoded, task)
    directives = read_directives(None, task.headers, task.agent, task.now)
    document = msgspec.structs.replace(document, noindex=directives.noindex)
    if kind == "text":
        decoded = decode(body, content_type)
        document = msgspec.structs.replace(document, charset=decoded.encoding)
        return _with_text(document, plain_text(decoded.text), "plain", task.max_text)
    return document


def _listed(document: Document, listing: Listing, task: Task) -> Document:
    """A list of links. What it asks of robots is for itself, not for the pages that it lists."""
    wanted = listing.kind in task.listings
    cut = listing.cut if wanted or not listing.links else {"switched-off": len(listing.links)}
    return msgspec.structs.replace(
        document,
        kind=listing.kind,
        title=listing.title,
        noindex=read_directives(None, task.headers, task.agent, task.now).noindex,
        links=listing.links if wanted else [],
        cut=cut,
        text_digest=listings.digest_of(listing),
        reason=listings.NOT_A_SITEMAP if listings.NOT_A_SITEMAP in listing.cut else "",
    )


def _read_html(document: Document, decoded: Decoded, task: Task) -> Document:
    html = decoded.text
    if document.kind == "xhtml":
        html = _as_html(html)
    tree = LexborHTMLParser(html)
    base = base_of(tree, task.url)
    head = read_head(tree, base)
    directives = read_directives(tree, task.headers, task.agent, task.now)
    found = read_links(tree, task.url, base, limit=task.max_links, charset=decoded.encoding)
    links = [_nofollow(link) for link in found.links] if directives.nofollow else found.links
    document = msgspec.structs.replace(
        document,
        charset=decoded.encoding,
        title=head.title,
        language=head.language or header(task.headers, "content-language")[:35],
        description=head.description,
        canonical=head.canonical,
        noindex=directives.noindex,
        links=links,
        cut=found.cut,
    )
    text = main_text(html, tree) if task.main else ""
    if text:
        return _with_text(document, text, "main", task.max_text)
    return _with_text(document, body_text(tree), "body", task.max_text)


def _with_text(document: Document, text: str, source: TextSource, limit: int) -> Document:
    if not text:
        return document
    return msgspec.structs.replace(
        document,
        text=text[:limit],
        text_source=source,
        text_truncated=len(text) > limit,
        text_digest=digest(text.encode()),
    )


def header(headers: list[tuple[str, str]], name: str) -> str:
    """The first value of a header, by its lower-case name; empty if it is not there."""
    return next((value for key, value in headers if key == name), "")


def _nofollow(link: Link) -> Link:
    if "nofollow" in link.rel.split():
        return link
    return Link(url=link.url, anchor=link.anchor, rel=f"{link.rel} nofollow".strip())


def _as_html(xhtml: str) -> str:
    """XHTML for an HTML parser: `<script/>` is closed in XML, in HTML it opens."""
    return _SELF_CLOSED.sub(r"<\1\2></\1>", _DECLARATION.sub("", xhtml, count=1))
