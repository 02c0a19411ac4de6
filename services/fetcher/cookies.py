"""Cookies of the hosts whose rule asks for them, one jar per host, in memory, bounded.

What a cookie means is the standard library's; nothing passes from one host to another.
"""

from collections import OrderedDict
from email.message import Message
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from typing import cast
from urllib.request import Request

from services.fetcher.protocols.port import Headers

HOSTS = 1000
COOKIES = 50
"""Cookies of one host; a host that sets more starts afresh."""


class Cookies:
    """Jars by host."""

    def __init__(self) -> None:
        self._jars: OrderedDict[str, CookieJar] = OrderedDict()

    def header(self, host: str, url: str) -> str:
        """The Cookie header for a request to `url`; empty if there is none."""
        jar = self._jars.get(host)
        if jar is None:
            return ""
        request = Request(url)  # noqa: S310 - never opened
        jar.add_cookie_header(request)
        return request.get_header("Cookie", "")

    def take(self, host: str, url: str, headers: Headers) -> bool:
        """Keep what a response sets; whether that changes what is sent to `url`."""
        if not any(name == "set-cookie" for name, _ in headers):
            return False
        before = self.header(host, url)
        jar = self._jars.setdefault(host, CookieJar())
        self._jars.move_to_end(host)
        jar.extract_cookies(_response(headers), Request(url))  # noqa: S310 - never opened
        if len(jar) > COOKIES:
            jar.clear()
        if len(self._jars) > HOSTS:
            self._jars.popitem(last=False)
        return self.header(host, url) != before


class _Response:
    """As much of a response as a jar looks at."""

    def __init__(self, headers: Headers) -> None:
        self._headers = Message()
        for name, value in headers:
            if name == "set-cookie":
                self._headers[name] = value

    def info(self) -> Message:
        return self._headers


def _response(headers: Headers) -> HTTPResponse:
    return cast("HTTPResponse", _Response(headers))
