"""The text of a page: its main content, or else all of its body.

Decides what is text and where it is from. Never limits time: see pool.py. The title and the
like are head.py's: the extractor's own metadata would cost as much as the text.
"""

import re
from typing import Literal

import lxml.html
import trafilatura
from selectolax.lexbor import LexborHTMLParser

from services.parser.clean import clean

TextSource = Literal["main", "body", "plain", "none"]

_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre",
        "section", "summary", "table", "td", "th", "tr", "ul",
    }
)  # fmt: skip
_HIDDEN = ["script", "style", "noscript", "template", "svg", "iframe", "object", "select"]
_BODY = re.compile(r"<body[\s>]", re.IGNORECASE)
_REFERENCES = re.compile(
    r"&#0*(?:[1-8]|1[124-9]|2\d|3[01]|127|6553[45])(?!\d);?"
    r"|&#x0*(?:[1-8bc]|1[\da-f]|7f|fff[ef])(?![\da-f]);?",
    re.IGNORECASE,
)
"""References to characters that XML forbids: one of them and trafilatura gives no text at all."""
_EMPTY_LINES = re.compile(r"\s*\n\s*")
_SPACES = re.compile(r"[^\S\n]+")


def main_text(html: str, tree: LexborHTMLParser) -> str:
    """The main content, paragraphs on lines of their own; empty if none is found.

    `tree` is the same page by HTML's own rules; it stands in where lxml would lose a part.
    """
    if len(_BODY.findall(html)) > 1:  # lxml ends at the first </html>; HTML merges what follows
        html = tree.html or html
    try:
        # not lexbor's tree: trafilatura needs lxml's; and not its load_html, which guesses the
        # charset again at three times the cost
        parser = lxml.html.HTMLParser(
            encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False
        )
        octets = _REFERENCES.sub("", clean(html)).encode()
        root = lxml.html.document_fromstring(octets, parser=parser)
        text = trafilatura.extract(root, fast=True, include_comments=False)
    except Exception:  # noqa: BLE001 - whatever odd markup does to the extractor, body text stands in
        return ""
    return clean(text or "").strip()


def body_text(tree: LexborHTMLParser) -> str:
    """All visible text, blocks on lines of their own. Takes hidden elements out of `tree`."""
    tree.strip_tags(_HIDDEN)
    if tree.body is None:
        return ""
    parts: list[str] = []
    for node in tree.body.traverse(include_text=True):
        if node.is_text_node:
            parts.append(_SPACES.sub(" ", (node.text() or "").replace("\n", " ")))
        elif node.tag in _BLOCKS:
            parts.append("\n")
    text = clean("".join(parts))
    return _EMPTY_LINES.sub("\n", _SPACES.sub(" ", text)).strip()


def plain_text(text: str) -> str:
    """The text of a file that is nothing else."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
