"""What a page says at a version: the known text that a crawler should take from it.

Decides titles, paragraphs, lists, tables and comments; never their HTML.
"""

import re
from dataclasses import dataclass
from typing import Literal

from services.local.demo.site import DemoWeb
from services.local.demo.words import Language, paragraph, phrase

Kind = Literal["p", "h2", "ul", "table", "figure"]

LENGTHS = (2, 2, 3, 3, 4, 4, 6, 9)
"""Sections of an article; most are short and a few are long."""
INLINE_LINKS = 4

_EDITION = re.compile(r"\bNo\. (\d+): \d+\.\d\d EUR")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of an article; `lines` are list items, table cells in rows of 3, or one text."""

    kind: Kind
    lines: tuple[str, ...]
    anchor: str = ""
    """Link text that ends the paragraph; part of its text."""

    @property
    def text(self) -> str:
        """What a reader sees of a paragraph, heading or caption."""
        return f"{self.lines[0]} {self.anchor}" if self.anchor else self.lines[0]


@dataclass(frozen=True, slots=True)
class Article:
    """The content of one page at one version."""

    title: str
    author: str
    language: Language
    blocks: tuple[Block, ...]
    comments: tuple[str, ...]

    @property
    def paragraphs(self) -> list[str]:
        """The texts that every extraction must hold."""
        return [block.text for block in self.blocks if block.kind == "p"]


def title(web: DemoWeb, host: int, page: int) -> str:
    """A page's title; the same at every version, and cheap, for it is the anchor of its links."""
    language = web.language(host, page)
    dice = web.dice(host, page, "title")
    words = [language.words[(dice >> shift & 0xFFF) % len(language.words)] for shift in (0, 12, 24)]
    text = language.glue.join(words)
    return f"{text[:1].upper()}{text[1:]} {page}"


def article(web: DemoWeb, host: int, page: int, version: int = 0) -> Article:
    """A page's content; versions differ in the second paragraph only."""
    language = web.language(host, page)
    rng = web.random(host, page, "text")
    blocks = [Block("p", (paragraph(rng, language, 4),)), _edition(web, host, page, version)]
    for section in range(rng.choice(LENGTHS)):
        blocks.append(Block("h2", (phrase(rng, language, 4),)))
        for nth in range(rng.randrange(2, 5)):
            anchor = phrase(rng, language, 3) if nth == 0 and section < INLINE_LINKS else ""
            blocks.append(Block("p", (paragraph(rng, language, rng.randrange(3, 8)),), anchor))
        if section == 0:
            items = tuple(phrase(rng, language, 9) for _ in range(rng.randrange(3, 7)))
            blocks.append(Block("ul", items))
        elif section == 1:
            cells = [f"{rng.randrange(10, 9999)}" for _ in range(12)]
            cells[::3] = [phrase(rng, language, 2) for _ in range(4)]
            blocks.append(Block("table", tuple(cells)))
        elif section % 2 == 0:
            blocks.append(Block("figure", (phrase(rng, language, 6),)))
    return Article(
        title=title(web, host, page),
        author=phrase(rng, language, 2),
        language=language,
        blocks=tuple(blocks),
        comments=tuple(paragraph(rng, language, 2) for _ in range(rng.randrange(7))),
    )


def edition(text: str) -> int | None:
    """The version that an article's text, however it was extracted, is of."""
    match = _EDITION.search(text)
    return int(match[1]) if match else None


def _edition(web: DemoWeb, host: int, page: int, version: int) -> Block:
    rng = web.random(host, page, f"edition{version}")
    price = rng.randrange(100, 99_999) / 100
    text = paragraph(rng, web.language(host, page), 3)
    return Block("p", (f"{text} No. {version}: {price:.2f} EUR",))
