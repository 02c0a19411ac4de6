"""What the demo web answers to a request.

Decides status, headers and body from the path, the time and how often the path was asked for
before; never keeps state and never sends.
"""

from collections.abc import Callable
from html import escape
from urllib.parse import unquote

from services.local.demo import render
from services.local.demo.lists import list_reply, lone_page, named_by_robots
from services.local.demo.odd import NEVER, calendar, odd_pages
from services.local.demo.reply import Reply, html
from services.local.demo.site import DemoWeb, Version

# What a label means in browsers (WHATWG Encoding), for Python's stricter codecs.
_CODECS = {"iso-8859-1": "cp1252", "windows-1251": "cp1251", "shift_jis": "cp932"}
_CODINGS = ("gzip", "gzip", "gzip", "gzip", "gzip", "gzip", "br", "")
# A third of the pages each has both validators, the entity tag only, the date only.
_VALIDATORS = ("etag date", "etag", "date")
_PIXEL = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xcc\xcc\xcc\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00"
    b"\x00\x02\x02D\x01\x00;"
)
_STYLE = b"body{font:16px/1.5 serif;max-width:60em;margin:auto}nav li,aside li{font-size:80%}"


def answer(web: DemoWeb, host: int, target: str, at: float, visit: int = 0) -> Reply:
    """The answer of `host` to a request for `target` (path and query).

    `at` is the time (seconds since the epoch), `visit` the number of earlier requests for the
    target. Equal arguments give equal answers.
    """
    path, _, query = target.partition("?")
    path = unquote(path)
    odd = odd_pages(web, host).get("?".join([path, *filter(None, [_sorted(query)])]))
    if odd is not None:
        return odd.first if odd.first is not None and visit == 0 else odd.reply
    page = web.find(host, path)
    if page is not None:
        return article_reply(web, host, page, web.version(host, page, at), visit)
    reply = list_reply(web, host, path, at) or lone_page(web, host, path)
    return reply or _special(web, host, path) or Reply(status=404, body=html("Not found", ""))


def article_reply(web: DemoWeb, host: int, page: int, version: Version, visit: int = 0) -> Reply:
    """An article page at a version."""
    text = render.page(web, host, page, version.number)
    charset = web.charset(host, page)
    dice = web.dice(host, page, "reply")
    noisy = web.change(host, page) == "noise"
    if noisy:
        text = text.replace(render.VISIT, f"{visit + 1000}")
    in_header = charset in {"utf-8", "windows-1251"} or (charset == "iso-8859-1" and dice % 2)
    validators = _VALIDATORS[dice % len(_VALIDATORS)] if not noisy else ""
    return Reply(
        content_type=f"text/html; charset={charset}" if in_header else "text/html",
        body=text.encode(_CODECS.get(charset, charset), "xmlcharrefreplace"),
        headers=(("Cache-Control", "max-age=0"), ("Vary", "Accept-Encoding")),
        etag=f'"{page:x}-{version.number:x}"' if "etag" in validators else "",
        modified=version.since if "date" in validators else None,
        coding=_CODINGS[(dice >> 8) % len(_CODINGS)] if not noisy else "",
    )


def _robots(web: DemoWeb, host: int, path: str) -> Reply | None:
    role = web.role(host)
    if path == "/robots.txt" and role == "robots-missing":
        return None
    if path == "/robots.txt" and role == "closed":
        return Reply(status=503, body=html("Busy", ""))
    if path == "/robots.txt" and role == "robots-moved":
        return Reply(status=301, headers=(("Location", "/robots-rules.txt"),))
    lines = ["User-agent: *", "Disallow: /private/", "Allow: /private/open.html"]
    if role == "delay":
        lines.append(f"Crawl-delay: {web.crawl_delay:g}")
    sitemap = named_by_robots(web, host)
    lines += ["", f"Sitemap: {sitemap}"] if sitemap else []
    text = "\n".join([*lines, ""])
    return Reply(content_type="text/plain", body=text.encode())


def _directory(web: DemoWeb, host: int, path: str) -> Reply | None:
    index = web.directory_index(host, path)
    return None if index is None else Reply(body=render.directory(web, index).encode())


def _calendar(web: DemoWeb, host: int, path: str) -> Reply | None:
    month = calendar(web, host, path)
    inner = f'<p>No events this month.</p><a href="{month}">next month</a>'
    return None if month is None else Reply(body=html(path, inner))


def _keep_out(_web: DemoWeb, _host: int, path: str) -> Reply:
    return Reply(body=html("Keep out", f"<p>Nobody should have asked for {escape(path)}.</p>"))


# By prefix: what there is besides pages.
_SPECIAL: dict[str, Callable[[DemoWeb, int, str], Reply | None]] = {
    "/robots": _robots,
    "/all-hosts/": _directory,
    "/calendar/": _calendar,
    "/static/": lambda _web, _host, _path: Reply(content_type="text/css", body=_STYLE),
    "/media/": lambda _web, _host, _path: Reply(content_type="image/gif", body=_PIXEL),
    **dict.fromkeys(NEVER, _keep_out),
}


def _special(web: DemoWeb, host: int, path: str) -> Reply | None:
    makers = (make for prefix, make in _SPECIAL.items() if path.startswith(prefix))
    return next((make(web, host, path) for make in makers), None)


def _sorted(query: str) -> str:
    return "&".join(sorted(query.split("&")))
