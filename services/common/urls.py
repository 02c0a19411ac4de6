"""URLs by the WHATWG rules: what is fetched, whose it is, and what makes two of them one.

Decides whether a string is a URL that we could fetch at all, and its three names: `href` (what
is fetched), `host` (who is asked) and `identity` (what it is remembered by; the rules are in
identity.py). Never decides whether it may be crawled: that is the frontier's.

Departures from what a browser would fetch, each for safety:
- the fragment is dropped: it never reaches a server;
- user and password are dropped, so that no secret is stored or sent, and a page has one name;
- the root dot of a host name is dropped (`h.test.` is `h.test`), or one server would get two
  politeness limits;
- a host must be an IP address or a name that DNS can carry (RFC 1035 2.3.4: labels of 1 to 63
  octets, at most 253 in all), of letters, digits, `-` and `_`; port 0 is refused.
"""

import hashlib
import re
from collections.abc import Container

import can_ada
import msgspec

from services.common.domains import registered_domain
from services.common.errors import Drop
from services.common.identity import identity_of
from services.common.queries import encode_query

__all__ = [
    "KNOWN",
    "REASONS",
    "SCHEMES",
    "BadUrl",
    "Url",
    "fingerprint",
    "parse",
    "registered_domain",
]

SCHEMES = frozenset({"http", "https"})
"""The schemes of the protocols that are built in."""
REASONS = ("empty", "scheme", "host", "port", "malformed")

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\]")
_EDGES = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"[/\\]{2,}([^/\\?#]*)")
_MAX_PORT = 65535


class _Every(Container[str]):
    def __contains__(self, scheme: object) -> bool:
        return True


KNOWN: Container[str] = _Every()
"""Any scheme: for URLs that the frontier once admitted, whatever its setting was then."""


class BadUrl(Drop):
    """Not a URL that could be fetched.

    `reason` is one of `REASONS`: `empty` (nothing there), `scheme` (none of those accepted),
    `host` (missing, or none that DNS or IP could carry), `port` (no number of 1 to 65535),
    `malformed` (not a URL: relative without a base, or characters outside Unicode).
    """


class Url(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL under its names; all of them ASCII."""

    href: str
    """Absolute, WHATWG-serialised, without fragment and credentials: what is fetched."""
    identity: str
    """What two writings of one URL have in common; a fixed point of `parse`."""
    scheme: str
    host: str
    """`hostname`, and `:port` if it is not the scheme's own: "host" in all records."""
    hostname: str
    """Lower-case name (IDNA: `xn--`), or address (IPv6 in brackets)."""
    path: str
    """Path and query: what robots.txt rules are matched against (RFC 9309 2.2.2)."""


def parse(
    raw: str,
    base: str | None = None,
    *,
    charset: str | None = None,
    schemes: Container[str] = SCHEMES,
) -> Url:
    """The URL that `raw` means on a page at `base`; without `base` it must be absolute.

    `charset` is the page's encoding, which its links' queries are written in; None for UTF-8.
    `schemes` are those that are wanted, besides the base's own: a page leads to others of its
    protocol, but no web page leads to a file. A URL always needs a host.

    Raises:
        BadUrl: with a reason of `REASONS`; nothing else, whatever the strings hold.
    """
    if charset is not None:
        raw = encode_query(raw, charset)
    try:
        parsed = can_ada.parse(raw) if base is None else can_ada.parse(base) + raw
    except (ValueError, TypeError) as error:  # TypeError: a lone surrogate
        raise _refusal(raw, base, schemes) from error
    href = parsed.href
    scheme = href[: href.index(":")]
    if scheme not in schemes and not (base and base.startswith(f"{scheme}:")):
        raise BadUrl("scheme", scheme)
    if "@" in href and parsed.has_credentials():
        parsed.username = parsed.password = ""
        href = parsed.href
    hostname = parsed.hostname
    if hostname.endswith("."):
        hostname = hostname[:-1]
        _check_host(hostname)
        parsed.hostname = hostname
        href = parsed.href
    else:
        _check_host(hostname)
    if "#" in href:
        href = href[: href.index("#")]
    host = parsed.host
    if host.endswith(":0"):
        raise BadUrl("port", "0")
    return Url(
        href=href,
        identity=identity_of(href),
        scheme=scheme,
        host=host,
        hostname=hostname,
        path=href[len(scheme) + 3 + len(host) :],
    )


def fingerprint(identity: str) -> bytes:
    """16 octets that stand for a URL's identity (BLAKE2b)."""
    return hashlib.blake2b(identity.encode(), digest_size=16).digest()


def _check_host(hostname: str) -> None:
    if not (_NAME.fullmatch(hostname) or _ADDRESS.fullmatch(hostname)):
        raise BadUrl("host", hostname[:100])


def _refusal(raw: str, base: str | None, schemes: Container[str]) -> BadUrl:
    """Why the parser refused: it does not say, so the parts are looked at one by one."""
    text = re.sub(r"[\t\n\r]", "", raw.strip(_EDGES))
    detail = ascii(text[:100])
    if not text and base is None:
        return BadUrl("empty")
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1].lower() not in schemes:
        return BadUrl("scheme", scheme[1][:100])
    if not text.isprintable() and not _is_unicode(text):
        return BadUrl("malformed", detail)
    authority = _AUTHORITY.match(text, scheme.end() if scheme else 0)
    if authority is None:
        return BadUrl("malformed" if scheme is None else "host", detail)
    host = authority[1].rpartition("@")[2]
    return BadUrl("port" if _has_bad_port(host) else "host", detail)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_bad_port(host: str) -> bool:
    """Whether what follows the host is no port (RFC 3986 3.2.3; WHATWG: at most 65535)."""
    bracket, port = host.rfind("]"), host.rfind(":")
    if port <= max(bracket, 0) or (host.startswith("[") and bracket < 0):
        return False
    digits = host[port + 1 :]
    number = digits.isascii() and digits.isdigit() and int(digits[:6]) <= _MAX_PORT
    return not number or (bracket < 0 and ":" in host[:port])
