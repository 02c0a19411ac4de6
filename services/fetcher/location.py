"""Makes a redirect's target out of Location's octets. Decides nothing about following it."""

import re

from services.common import urls

_AUTHORITY = re.compile(rb"\A\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]{2,}[^/\\?#]*")


def resolve(octets: bytes, base: str) -> str | None:
    """The absolute URL that Location `octets` mean on a page `base`; None if there is none.

    The path's octets above 0x7f go through as they are, percent-escaped, since no charset is
    declared for them; a host name in raw octets is UTF-8, as browsers take it.
    """
    if not octets.strip():
        return None
    authority = _AUTHORITY.match(octets)
    end = authority.end() if authority else 0
    try:
        text = octets[:end].decode("utf-8") + _escaped(octets[end:])
        return urls.parse(text, base).href
    except (UnicodeDecodeError, urls.BadUrl):
        return None


def _escaped(octets: bytes) -> str:
    return re.sub(rb"[\x80-\xff]", lambda octet: b"%%%02X" % octet[0][0], octets).decode("ascii")
