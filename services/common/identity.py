"""What makes two URLs one: the key under which a URL is known.

Works on what urls.py serialised, so scheme, host, port and dot segments are settled. Merges
only what is equivalent by RFC 3986 6.2.2 (hex case, encoded unreserved octets), then by the
form convention that parameters are a bag (sorted by name; values of one name keep their order),
and by the table of dropped parameters below. A wrong merge loses a page for ever, a missed one
costs a fetch: so it never decodes a reserved octet, changes an octet's charset, or touches
case, slashes, `www` or the scheme.

Everything beyond the standard is a rule that can be seen: `DROPPED`, `DROPPED_PREFIXES` and the
`;jsessionid=` of Java servers are all that is left out, because they name a visit or where it
came from, never a page. They are left out of the *identity* only; what is fetched keeps them as
the site wrote them. Names are compared as they are, case included.
"""

import re

DROPPED = frozenset(
    {
        # click identifiers that advertisers and networks add to links of other sites
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "srsltid",
        "fbclid",
        "msclkid",
        "yclid",
        "ysclid",
        "twclid",
        "ttclid",
        "igshid",
        "li_fat_id",
        # newsletters and cross-domain measurement
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "_hsenc",
        "_hsmi",
        "_ga",
        "_gl",
        # sessions of servers whose visitors refuse cookies
        "PHPSESSID",
        "JSESSIONID",
        "jsessionid",
    }
)
DROPPED_PREFIXES = ("utm_",)

_SESSION = re.compile(r"(?<!\.);jsessionid=[^/;]*")  # after a dot, a dot segment might be left
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_OCTETS = {
    f"{high}{low}": chr(octet) if octet in _UNRESERVED else f"%{octet:02X}"
    for octet in range(256)
    for high in {f"{octet >> 4:x}", f"{octet >> 4:X}"}
    for low in {f"{octet & 15:x}", f"{octet & 15:X}"}
}


def identity_of(href: str) -> str:
    """The identity of a serialised URL without fragment and credentials; idempotent.

    A `%` that starts no octet is data, hence `%25` (RFC 3986 2.4).
    """
    if "%" in href:
        href = _PERCENT.sub(_octet, href)
    path, mark, query = href.partition("?")
    if ";jsessionid=" in path:
        path = _SESSION.sub("", path)
    if not mark:
        return path
    kept = [part for part in query.split("&") if part and not _is_dropped(part)]
    if not kept:
        return path
    if len(kept) > 1:
        kept.sort(key=_name)
    return f"{path}?{'&'.join(kept)}"


def _octet(match: re.Match[str]) -> str:
    digits = match[1]
    return "%25" if digits is None else _OCTETS[digits]


def _name(part: str) -> str:
    return part.partition("=")[0]


def _is_dropped(part: str) -> bool:
    return part.startswith(DROPPED_PREFIXES) or _name(part) in DROPPED
