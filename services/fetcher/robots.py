"""Decides what a robots.txt means for us (RFC 9309). Never fetches it and has no clock.

Groups and product tokens are chosen here; only the rules of the group that applies to us are
handed to Protego, which matches paths well and groups loosely.
"""

import re
from dataclasses import dataclass

from protego import Protego

from services.common import urls

MAX_BYTES = 500 * 1024
"""RFC 9309, 2.5: what a crawler must read at least, and we at most."""

MAX_SITEMAPS = 500
"""Sitemap lines of one file that are used."""
MAX_SITEMAP_URL = 2048

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_FIELDS = {
    "user-agent": "agent",
    "user agent": "agent",
    "useragent": "agent",
    "allow": "allow",
    "disallow": "disallow",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
    "crawl-delay": "delay",
    "crawl delay": "delay",
    "crawldelay": "delay",
    "sitemap": "sitemap",
    "site-map": "sitemap",
    "sitemaps": "sitemap",
}
_TOKEN = re.compile(r"[A-Za-z_-]+")
_DELAY = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]\+?[0-9]+)?")


class Rules:
    """What one robots.txt says to one product token. Immutable in effect."""

    def __init__(
        self, lines: list[str], crawl_delay: float | None, sitemaps: tuple[str, ...]
    ) -> None:
        self.crawl_delay = crawl_delay
        """Seconds, as asked, without any cap; None if not asked."""
        self.sitemaps = sitemaps
        """As written; see `sitemap_urls`."""
        self._protego = Protego.parse("\n".join(["User-agent: *", *lines])) if lines else None

    def allow(self, url: str) -> bool:
        """Whether the absolute `url` may be fetched: longest match, `allow` wins a tie."""
        return self._protego is None or self._protego.can_fetch(url, "*")


OPEN = Rules([], None, ())
"""No robots.txt, or nothing in it for us."""


def sitemap_urls(rules: Rules, base: str) -> list[str]:
    """Absolute sitemap URLs, each once, in order; `base` is where the file is.

    At most `MAX_SITEMAPS` of at most `MAX_SITEMAP_URL` characters. They may be on other hosts.
    """
    found: dict[str, None] = {}
    for raw in rules.sitemaps:
        if len(found) == MAX_SITEMAPS:
            break
        try:
            url = urls.parse(raw[: 4 * MAX_SITEMAP_URL], base).href
        except urls.BadUrl:
            continue
        if len(url) <= MAX_SITEMAP_URL:
            found[url] = None
    return list(found)


@dataclass
class _Group:
    agents: set[str]
    rules: list[str]
    delays: list[float]
    closed: bool = False
    """Whether a rule was seen, so that the next user-agent line opens a new group."""


def parse(body: bytes, agent: str) -> Rules:
    """The rules of `body` for the product token `agent`.

    All groups that name our token apply, merged; if none does, all groups of `*`; if there is
    none of those either, everything is allowed. Of several Crawl-delay values the largest counts.
    """
    groups, sitemaps = _read(_text(body))
    token = _token(agent)
    ours = [group for group in groups if token in group.agents]
    chosen = ours or [group for group in groups if "*" in group.agents]
    return Rules(
        [line for group in chosen for line in group.rules],
        max((delay for group in chosen for delay in group.delays), default=None),
        tuple(sitemaps),
    )


def _text(body: bytes) -> str:
    if len(body) > MAX_BYTES:
        # A line cut in two could forbid or allow more than it was meant to.
        body = body[:MAX_BYTES].rpartition(b"\n")[0]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace")
    return body.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def _read(text: str) -> tuple[list[_Group], list[str]]:
    groups: list[_Group] = []
    sitemaps: list[str] = []
    for line in re.split(r"\r\n|\r|\n", text):
        field, value = _field(line)
        if field == "sitemap" and value:
            sitemaps.append(value.encode("utf-8", "replace").decode())
        elif field == "agent":
            if not groups or groups[-1].closed:
                groups.append(_Group(set(), [], []))
            groups[-1].agents.add(_token(value))
        elif groups and field in ("allow", "disallow"):
            groups[-1].closed = True
            if value:
                groups[-1].rules.append(f"{field}: {_quoted(value)}")
        elif groups and field == "delay" and _DELAY.fullmatch(value):
            groups[-1].delays.append(min(float(value), 1e12))
    return groups, sitemaps


def _field(line: str) -> tuple[str, str]:
    """Our name for the line's field, and its value; an unknown field gives ("", "")."""
    text = line.partition("#")[0].strip()
    name, colon, value = text.partition(":")
    if not colon or name.strip().lower() not in _FIELDS:
        # Written without the colon, as some do; anything else is not for us.
        name, _, value = text.partition(" ")
    return _FIELDS.get(name.strip().lower(), ""), value.strip()


def _token(value: str) -> str:
    """The product token at the start of a user-agent value (RFC 9309, 2.2.1), lower case."""
    match = _TOKEN.match(value)
    if match:
        return match[0].lower()
    return "*" if value.split()[:1] == ["*"] else ""


def _quoted(value: str) -> str:
    """Octets outside printable ASCII percent-escaped, so that none can be read as a line end."""
    octets = value.encode("utf-8", "surrogateescape")
    return "".join(chr(o) if 0x21 <= o <= 0x7E else f"%{o:02X}" for o in octets)  # noqa: PLR2004 - ASCII
