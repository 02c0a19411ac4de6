"""The query of a link as its page's encoding writes it (WHATWG URL, query state).

A browser sends the non-ASCII part of a path in UTF-8 always, but that of a query in the
encoding of the page, so `?q=é` on a windows-1252 page means `?q=%E9`. Never touches what is
ASCII already.
"""

import re

import webencodings  # type: ignore[import-untyped]  # it ships no types

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_ESCAPED = frozenset(b"\"#<>'") | frozenset(range(0x21)) | frozenset(range(0x7F, 0x100))


def encode_query(raw: str, charset: str) -> str:
    """`raw` with its query's non-ASCII characters as percent-encoded octets of `charset`.

    Unchanged if there are none, or if `charset` is unknown or a Unicode one (then UTF-8 holds).
    """
    if raw.isascii():
        return raw
    encoding = webencodings.lookup(charset)
    if encoding is None or encoding.name.startswith(("utf-", "x-user-defined", "replacement")):
        return raw
    location, hash_mark, fragment = raw.partition("#")
    path, mark, query = location.partition("?")
    query = _FOREIGN.sub(lambda match: _escape(match[0], encoding), query)
    return path + mark + query + hash_mark + fragment


def _escape(text: str, encoding: webencodings.Encoding) -> str:
    try:
        octets, _ = encoding.codec_info.encode(text, "strict")
    except UnicodeEncodeError:
        if len(text) > 1:
            return "".join(_escape(character, encoding) for character in text)
        # the standard's answer to a character that the encoding lacks: its HTML reference
        return f"%26%23{ord(text)}%3B"
    return "".join(f"%{octet:02X}" if octet in _ESCAPED else chr(octet) for octet in octets)
