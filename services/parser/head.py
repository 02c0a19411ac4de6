"""What a page says about itself: title, description, language, canonical URL.

Decides which of several places counts. Never guesses what is not written down.
"""

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from services.common.urls import BadUrl, parse
from services.parser.clean import one_line

MAX_FIELD = 1000
"""Characters kept of each field."""


@dataclass(frozen=True, slots=True)
class Head:
    """Empty where the page says nothing."""

    title: str = ""
    description: str = ""
    language: str = ""
    canonical: str = ""


def read_head(tree: LexborHTMLParser, base: str) -> Head:
    """The head of a page whose links are relative to `base`."""
    meta = _metas(tree)
    return Head(
        title=_text(tree, "head > title") or meta.get("og:title", "") or _text(tree, "h1"),
        description=meta.get("description", "") or meta.get("og:description", ""),
        language=(_attribute(tree, "html[lang]", "lang") or meta.get("content-language", ""))[:35],
        canonical=_canonical(tree, base),
    )


def _metas(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        content = one_line(attributes.get("content") or "", MAX_FIELD)
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _text(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return one_line(node.text(deep=True), MAX_FIELD) if node else ""


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return one_line(node.attributes.get(name) or "", MAX_FIELD) if node else ""


def _canonical(tree: LexborHTMLParser, base: str) -> str:
    for node in tree.css("link[rel][href]"):
        attributes = node.attributes
        if "canonical" in (attributes["rel"] or "").lower().split():
            try:
                return parse(attributes["href"] or "", base).href
            except BadUrl:
                return ""
    return ""
