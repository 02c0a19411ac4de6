"""What a crawl of a directory that a web server shows must find, worked out from the files alone.

    truth.py DIRECTORY SEED

Prints JSON: URL -> what is there, for every URL that links lead to from SEED. Knows nothing of
the crawler: HTML is read by the standard library's html.parser, URLs by urllib.parse.
"""

import json
import re
import sys
from collections import Counter, deque
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

FOLLOWED = frozenset(
    {
        *("alternate", "amphtml", "canonical", "chapter", "contents", "first", "index", "last"),
        *("next", "prev", "previous", "section", "start", "up"),
    }
)
"""Relations of <link> that lead to documents, as docs/tables.md lists them."""
INLINE = frozenset(
    {
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
        *("em", "font", "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)
UNSEEN = frozenset({"head", "script", "style", "template", "svg", "iframe", "object", "select"})
"""`noscript` is none of them: who runs no scripts sees it."""
VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
    }
)
KEPT = "!#$%&'()*+,/:;=?@[]~"
"""Octets beside letters, digits and -._~ that a URL's path and query may hold as they are."""


class Page(HTMLParser):
    """Links and text of one page."""

    def __init__(self, url: str, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.url = self.base = url
        self.links: dict[str, bool] = {}
        """Absolute URL -> whether it may be followed."""
        self.title = ""
        self.nofollow = False
        self.seen: list[str] = []
        """Pieces of visible text."""
        self.main: list[str] = []
        """Those of them that are the page's own, not its frame."""
        self.linked: list[str] = []
        """Those of `main` that are links."""
        self.inside: list[tuple[str, str]] = []
        """Open elements, each with its role."""
        self.roles: Counter[str] = Counter()
        self.feed(markup)
        self.close()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}
        rel = values.get("rel", "").lower().split()
        if tag == "base" and "href" in values:
            self.base = urljoin(self.url, values["href"])
        elif (
            tag in ("a", "area")
            or (tag == "link" and FOLLOWED & set(rel) and "stylesheet" not in rel)
        ) and "href" in values:
            self.link(values["href"], follow="nofollow" not in rel)
        elif tag in ("iframe", "frame") and "src" in values:
            self.link(values["src"], follow=True)
        elif tag == "meta" and values.get("name", "").lower() == "robots":
            asked = re.split(r"[\s,]+", values.get("content", "").lower())
            self.nofollow = self.nofollow or bool({"nofollow", "none"} & set(asked))
        if tag not in INLINE:
            self.add(" ")
        if tag not in VOID:
            self.inside.append((tag, role_of(tag, values)))
            self.roles[self.inside[-1][1]] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in (name for name, _ in self.inside):
            closed = ""
            while closed != tag:
                closed, role = self.inside.pop()
                self.roles[role] -= 1
            self.linked.append(" ")
        if tag not in INLINE:
            self.add(" ")

    def handle_data(self, data: str) -> None:
        if [name for name, _ in self.inside[-2:]] == ["head", "title"]:
            self.title += data
        self.add(data)

    def add(self, data: str) -> None:
        if self.roles["unseen"]:
            return
        self.seen.append(data)
        if self.roles["main"] and not self.roles["frame"]:
            self.main.append(data)
            if self.roles["link"]:
                self.linked.append(data)

    def link(self, raw: str, *, follow: bool) -> None:
        url = absolute(raw, self.base)
        if url is not None and url != self.url:
            self.links.setdefault(url, follow)


def role_of(tag: str, values: dict[str, str]) -> str:
    """What an element decides. Sphinx marks its main part, DocBook its frame."""
    classes = values.get("class", "").split()
    if tag in UNSEEN:
        return "unseen"
    if tag == "a" and "href" in values:
        return "link"
    if values.get("role") == "main" or values.get("id") == "docContent":
        return "main"
    return "frame" if {"navheader", "navfooter"} & set(classes) else ""


def absolute(raw: str, base: str) -> str | None:
    """The URL without fragment, escaped as browsers do; None if it is not HTTP."""
    raw = re.sub(r"[\t\n\r]", "", raw.strip("".join(map(chr, range(0x21)))))
    url = urldefrag(urljoin(base, raw))[0]
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = parts.hostname if parts.port in (None, 80) else f"{parts.hostname}:{parts.port}"
    query = f"?{quote(parts.query, safe=KEPT)}" if parts.query else ""
    return f"{parts.scheme}://{host}{quote(parts.path, safe=KEPT) or '/'}{query}"


def answer(root: Path, url: str) -> tuple[int, Path | None]:
    """The status that a static server gives, and the file it sends with it."""
    path = unquote(urlsplit(url).path)
    file = (root / path.lstrip("/")).resolve() if path.strip("/") else root
    if path.endswith("/"):
        if not file.is_dir():
            return 404, None
        index = file / "index.html"
        return (200, index) if index.is_file() else (403, None)
    if file.is_dir():
        return 301, None
    return (200, file) if file.is_file() else (404, None)


def describe(root: Path, url: str) -> tuple[dict[str, Any], list[str]]:
    """What is at `url`, and where its links lead that may be followed."""
    status, file = answer(root, url)
    found: dict[str, Any] = {"status": status, "file": None if file is None else str(file)}
    if status == 301:
        return found, [f"{url}/"]
    if file is None or file.suffix not in (".html", ".htm"):
        return found, []
    page = Page(url, file.read_text(encoding="utf-8"))
    found |= {"links": list(page.links), "title": folded([page.title])}
    found |= {"seen": folded(page.seen), "main": folded(page.main), "linked": folded(page.linked)}
    return found, [] if page.nofollow else [url for url, follow in page.links.items() if follow]


def folded(pieces: list[str]) -> str:
    """One text, white space folded, in Unicode's composed form (NFC)."""
    return re.sub(r"\s+", " ", normalize("NFC", "".join(pieces))).strip()


def reachable(root: Path, seed: str) -> dict[str, dict[str, Any]]:
    """Everything that links lead to on the seed's host, breadth first."""
    host = urlsplit(seed).netloc
    found: dict[str, dict[str, Any]] = {}
    waiting = deque([seed])
    while waiting:
        url = waiting.popleft()
        if url in found or urlsplit(url).netloc != host:
            continue
        found[url], links = describe(root, url)
        waiting += links
    return found


if __name__ == "__main__":
    json.dump(reachable(Path(sys.argv[1]).resolve(), sys.argv[2]), sys.stdout)
