"""What makes two URLs one: the key under which a URL is known.

Works on what urls.py serialised, so scheme, host, port and dot segments are settled. Merges
only what is equivalent by RFC 3986 6.2.2 (hex case, encoded unreserved octets), then by the
form convention that parameters are a bag (sorted by name; values of one name keep their order),
and by the table of dropped parameters below. A wrong merge loses a page for ever, a missed one
costs a fetch: so it never decodes a reserved octet, changes an octet's charset, or touches
case, slashes, `www` or the scheme.

Everything beyond the standard is a rule that can be seen: `TRACKING`, `TRACKING_PREFIXES`,
`SESSIONS`, the `;jsessionid=` of Java servers and the `/(S(...))` of ASP.NET are all that is left
out, because they name a visit or where it came from, never a page. They are left out of the
*identity* only; what is fetched keeps them as the site wrote them. Names are compared as they
are, case included. More rules, by host, are identity_rules.py's.
"""

import re

TRACKING = frozenset(
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
    }
)
TRACKING_PREFIXES = ("utm_",)
SESSIONS = frozenset({"PHPSESSID", "JSESSIONID", "jsessionid"})
"""Sessions of servers whose visitors refuse cookies."""

_DROPPED = TRACKING | SESSIONS
# After a dot, a dot segment might be left. All in a row at once, or a dot that ends one would
# save the next from the first pass only.
_SESSION = re.compile(r"(?<!\.)(?:;jsessionid=[^/;]*)+")
_COOKIELESS = re.compile(r"/\((?:[AFSX]\([^()/]*\))+\)(?=/)")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_OCTETS = {
    f"{high}{low}": chr(octet) if octet in _UNRESERVED else f"%{octet:02X}"
    for octet in range(256)
    for high in {f"{octet >> 4:x}", f"{octet >> 4:X}"}
    for low in {f"{octet & 15:x}", f"{octet & 15:X}"}
}


def identity_of(href: str) -> str:
    """The identity of a serialised URL without fragment and credentials; idempotent."""
    path, mark, query = in_one_writing(href).partition("?")
    path = without_session(path)
    if not mark:
        return path
    kept = [part for part in query.split("&") if part and not _is_dropped(part)]
    if not kept:
        return path
    if len(kept) > 1:
        kept.sort(key=name_of)
    return f"{path}?{'&'.join(kept)}"


def left_out(href: str) -> tuple[str, ...]:
    """Which of `tracking` and `session` make a serialised URL's identity shorter."""
    path, _, query = in_one_writing(href).partition("?")
    parts = query.split("&")
    tracking = any(
        part.startswith(TRACKING_PREFIXES) or name_of(part) in TRACKING for part in parts
    )
    session = any(name_of(part) in SESSIONS for part in parts) or without_session(path) != path
    return ("tracking",) * tracking + ("session",) * session


def in_one_writing(href: str) -> str:
    """Encoded octets in the one form that RFC 3986 6.2.2 takes for the normal one.

    A `%` that starts no octet is data, hence `%25` (RFC 3986 2.4).
    """
    return _PERCENT.sub(_octet, href) if "%" in href else href


def without_session(path: str) -> str:
    """A URL up to its query, without what servers put into paths in place of a cookie."""
    if ";jsessionid=" in path:
        path = _SESSION.sub("", path)
    if "/(" in path:
        path = _COOKIELESS.sub("", path)
    return path


def name_of(part: str) -> str:
    """The name in `name=value`."""
    return part.partition("=")[0]


def _octet(match: re.Match[str]) -> str:
    digits = match[1]
    return "%25" if digits is None else _OCTETS[digits]


def _is_dropped(part: str) -> bool:
    return part.startswith(TRACKING_PREFIXES) or name_of(part) in _DROPPED
