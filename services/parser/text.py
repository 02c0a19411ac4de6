"""The text of a page: its main content, or else all of its body.

Decides what is text and where it is from. Never limits time: see pool.py. The title and the
like are head.py's: the extractor's own metadata would cost as much as the text.
"""

import re
from typing import Literal

import lxml.etree
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
_INLINE = ("em", "strong", "b", "i", "u", "code", "kbd", "samp", "var", "tt", "q", "sub", "sup")
"""Elements that only say how words look; nested, the extractor loses their words or the order."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TEXT_BLOCKS = ("p", "dt", "td", "th", *_HEADINGS)
"""Where a span is part of a sentence; the extractor drops some for what their class is called."""
_INSIDE_DIVISIONS = (
    *("div", "p", "li", "dd", "table", "pre", "blockquote", "form", "figure", "section"),
    *("article", *_HEADINGS),
)
"""A division with one of these is more than a paragraph."""
_WRITTEN_REFERENCES = re.compile(r"&amp;(?=#?\w+;)")
"""References that a page shows to its readers (`&amp;lt;`): the extractor resolves them twice."""
_TABLE_RULES = re.compile(r"^\|(?:---\|)+\n?", re.MULTILINE)
_TABLE_ROWS = re.compile(r"^\| .*\\\|.*$", re.MULTILINE)
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
        html = _WRITTEN_REFERENCES.sub("&amp;amp;", _REFERENCES.sub("", clean(html)))
        root = lxml.html.document_fromstring(html.encode(), parser=parser)
        _simplify(root)
        text = trafilatura.extract(root, fast=True, include_comments=False)
    except Exception:  # noqa: BLE001 - whatever odd markup does to the extractor, body text stands in
        return ""
    return clean(_without_markdown(text or "")).strip()


def _simplify(root: lxml.html.HtmlElement) -> None:
    """Make of a page what the extractor reads well.

    A page without `main` gets one around its body: the extractor's last resort, where it would
    else gather paragraphs and code from all over the page, without lists and out of order. An
    id that a heading links to is an address, not the role that the extractor would see in it
    ("menus", "related-functions"). Divisions of a list item are paragraphs, or the extractor
    would write the last word of one and the first of the next as one word.
    """
    for heading in root.iter(*_HEADINGS):
        section = heading.getparent()
        name = None if section is None else section.get("id")
        if name and any(link.get("href") == f"#{name}" for link in heading.iter("a")):
            del section.attrib["id"]
    for item in root.iter("li", "dd"):
        for division in item.iter("div"):
            if next(division.iterdescendants(*_INSIDE_DIVISIONS), None) is None:
                division.tag = "p"
    for block in root.iter(*_TEXT_BLOCKS):
        lxml.etree.strip_tags(block, "span", *_INLINE)
    lxml.etree.strip_tags(root, *_INLINE)
    body = root.find("body")
    if body is not None and root.find(".//main") is None:
        main = body.makeelement("main")
        main.text, body.text = body.text, None
        main.extend(list(body))
        body.append(main)


def _without_markdown(text: str) -> str:
    """Table rows as they read: no rule under the heads, no backslash before a bar."""
    text = _TABLE_RULES.sub("", text)
    return _TABLE_ROWS.sub(lambda row: row[0].replace("\\|", "|"), text)


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
