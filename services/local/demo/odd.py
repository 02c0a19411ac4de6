"""The odd pages: one for each thing that goes wrong, or is easily got wrong, on the web.

They live on the `odd` host, listed at /odd/ and, but for what one of them links to, nowhere else.
Decides what each answers and what should come of fetching it.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from random import Random
from typing import Any

from services.common.records import Outcome
from services.local.demo.reply import Reply, html
from services.local.demo.site import DemoWeb

PRIVATE = "http://10.0.0.1/"
UNRESOLVABLE = "http://does-not-exist.invalid/"
NEVER = ("/private/", "/nofollow/", "/fake/")
"""Path prefixes that no crawler may ask for: disallowed, linked with nofollow only, or no links.

`/private/open.html` is allowed by a longer match, and so is all of /private/ on the
`robots-missing` host.
"""
BIG = 3_000_000
"""Octets of the big page: above Kafka's usual record limit even when compressed."""
CALENDAR = "/calendar/2026/01.html"

_MONTH = re.compile(r"/calendar/(\d{4})/(0[1-9]|1[0-2])\.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """One odd page: its answers and the truth about it."""

    reply: Reply
    first: Reply | None = None
    """What the first request gets instead."""
    outcome: Outcome = Outcome.OK
    """What a fetch ends in, after retries."""
    reason: str | None = None
    """The fetcher's reason, where there is only one right one."""
    links: frozenset[str] = frozenset()
    """Canonical URLs of the links that are to be followed."""
    moved_to: str = ""
    """Canonical URL of a redirect's target."""
    listed: bool = True
    """Linked from /odd/ by a plain link."""


def calendar(web: DemoWeb, host: int, path: str) -> str | None:
    """The month after the one at a path of the trap; None if the path is none of its."""
    match = _MONTH.fullmatch(path)
    if not match or not web.trap or web.role(host) != "odd":
        return None
    year, month = int(match[1]), int(match[2])
    year, month = (year, month + 1) if month < 12 else (year + 1, 1)  # noqa: PLR2004 - months
    return f"/calendar/{year:04}/{month:02}.html" if year < 10_000 else CALENDAR  # noqa: PLR2004 - four digits


@lru_cache(maxsize=4)
def odd_pages(web: DemoWeb, host: int) -> dict[str, Odd]:
    """All odd pages of the odd host by path and query; of any other host, none."""
    if web.role(host) != "odd":
        return {}
    here = partial(web.url, host)
    pages = {
        **_redirects(here, web.home(0)),
        **_errors(),
        **_bodies(web.seed),
        **_directives(here),
    }
    return {**pages, "/odd/": _index(here, pages, trap=web.trap)}


def _index(here: Callable[[str], str], pages: dict[str, Odd], *, trap: bool) -> Odd:
    """The list of odd pages, with the odd links that fit nowhere else."""
    listed = [path for path, odd in pages.items() if odd.listed]
    listed += [CALENDAR] if trap else []
    rows = "\n".join(
        f'<li><a href="{path.replace("&", "&amp;")}">{path}</a></li>' for path in listed
    )
    inner = f"""<ul>
{rows}
<li><a href="/search?b=2&a=1">same page, other order</a></li>
<li><a href="../odd/missing#twice">twice</a> <a href=gone>unquoted</a></li>
<li><a href="{PRIVATE}">private address</a> <a href="{UNRESOLVABLE}">no such name</a></li>
<li><a href="mailto:a@b.invalid">mail</a> <a href="javascript:go('/fake/js.html')">script</a>
<a href="ftp://127.0.1.1/pub/">ftp</a> <a href="http://[bad/">broken</a> <a href="">empty</a>
<a name="anchor">no href</a> <a href="http://127.0.1.1:99999/">bad port</a></li>
<li><a rel="external NOFOLLOW" href="/nofollow/only.html">nofollow</a></li></ul>
<map name="m"><area shape="rect" coords="0,0,9,9" href="/odd/area-only.html" alt="area"></map>
<iframe src="/odd/frame-only.html"></iframe>
<form action="/fake/form.html" method="post">
<button formaction="/fake/button.html">go</button></form>
<!-- <a href="/fake/comment.html">x</a> -->
<script>var a = '<a href="/fake/script.html">x</a>';</script>
<template><a href="/fake/template.html">x</a></template>
<style>a::after {{ content: '<a href="/fake/style.html">x</a>' }}</style>
<textarea><a href="/fake/textarea.html">x</a></textarea>
<p data-href="/fake/data.html" title="<a href='/fake/title.html'>">end</p>"""
    links = frozenset(map(here, [*listed, "/odd/area-only.html", "/odd/frame-only.html"]))
    return Odd(
        reply=Reply(body=html("Odd pages", inner)),
        links=links | {PRIVATE, UNRESOLVABLE},
        listed=False,
    )


def _redirects(here: Callable[[str], str], elsewhere: str) -> dict[str, Odd]:
    # path: (status, Location as written, where that leads, listed)
    table: dict[str, tuple[int, str, str, bool]] = {
        "/odd/moved-permanently": (
            301,
            here("/odd/target-1.html"),
            here("/odd/target-1.html"),
            True,
        ),
        "/odd/moved-temporarily": (302, "/odd/target-2.html", here("/odd/target-2.html"), True),
        "/odd/see-other": (303, "target-3.html", here("/odd/target-3.html"), True),
        "/odd/moved-307": (307, "./x/../target-4.html#part", here("/odd/target-4.html"), True),
        "/odd/moved-308": (308, here("/odd/target-5.html")[5:], here("/odd/target-5.html"), True),
        "/odd/moved-across": (301, elsewhere, elsewhere, True),
        "/odd/loop-a": (302, "/odd/loop-b", here("/odd/loop-b"), True),
        "/odd/loop-b": (302, "/odd/loop-a", here("/odd/loop-a"), False),
        "/odd/chain-1": (301, "/odd/chain-2", here("/odd/chain-2"), True),
        "/odd/chain-2": (302, "/odd/chain-3", here("/odd/chain-3"), False),
        "/odd/chain-3": (301, "/odd/target-6.html", here("/odd/target-6.html"), False),
        "/odd/moved-private": (302, f"{PRIVATE}latest/", f"{PRIVATE}latest/", True),
        "/odd/moved-disallowed": (
            302,
            "/private/behind-redirect.html",
            here("/private/behind-redirect.html"),
            True,
        ),
    }
    moved = {
        path: Odd(
            reply=_moved(status, location),
            outcome=Outcome.MOVED,
            reason="redirect",
            moved_to=target,
            listed=listed,
        )
        for path, (status, location, target, listed) in table.items()
    }
    targets = {f"/odd/target-{n}.html": _plain(f"Target {n}", listed=False) for n in range(1, 7)}
    nowhere = Odd(
        reply=Reply(status=302),
        outcome=Outcome.PERMANENT,
        reason="redirect-without-location",
    )
    loop = Odd(
        reply=_moved(301, "/odd/loop-self"), outcome=Outcome.PERMANENT, reason="redirect-loop"
    )
    return {**moved, **targets, "/odd/moved-nowhere": nowhere, "/odd/loop-self": loop}


def _moved(status: int, location: str) -> Reply:
    body = html("Moved", '<a href="/fake/redirect-body.html">here</a>')
    return Reply(status=status, headers=(("Location", location),), body=body)


def _errors() -> dict[str, Odd]:
    table = {
        "/odd/missing": (404, Outcome.GONE, "not-found"),
        "/odd/gone": (410, Outcome.GONE, "gone"),
        "/odd/unauthorised": (401, Outcome.BLOCKED, "unauthorized"),
        "/odd/forbidden": (403, Outcome.BLOCKED, "forbidden"),
        "/odd/legal": (451, Outcome.BLOCKED, "legal"),
        "/odd/broken": (500, Outcome.TRANSIENT, "server-error"),
        "/odd/gateway": (502, Outcome.TRANSIENT, "server-error"),
        "/odd/bad-request": (400, Outcome.PERMANENT, "client-error"),
        "/odd/teapot": (418, Outcome.PERMANENT, "client-error"),
    }
    errors = {
        path: Odd(reply=_error(status), outcome=outcome, reason=reason)
        for path, (status, outcome, reason) in table.items()
    }
    busy = Odd(
        reply=Reply(body=html("Back", "<p>At your service again.</p>")),
        first=Reply(status=503, headers=(("Retry-After", "1"),), body=html("Busy", "")),
    )
    return {**errors, "/odd/busy-once": busy}


def _error(status: int) -> Reply:
    body = html(f"Error {status}", '<p><a href="/fake/error-body.html">home</a></p>')
    return Reply(status=status, body=body)


def _bodies(seed: int) -> dict[str, Odd]:
    text = "".join(f"<p>Line {n} of a page that travels oddly.</p>\n" for n in range(200))
    body = html("Odd body", text)

    def odd(**fields: Any) -> Odd:  # noqa: ANN401 - fields of Reply
        return Odd(reply=replace(Reply(body=body), **fields))

    return {
        "/odd/gzip.html": odd(coding="gzip"),
        "/odd/deflate.html": odd(coding="deflate"),
        "/odd/brotli.html": odd(coding="br"),
        "/odd/drip.html": odd(pieces=15),
        "/odd/short.html": odd(missing=500),
        "/odd/big.html": Odd(reply=_big(seed)),
        "/odd/empty.html": odd(body=b""),
        "/odd/utf16.html": odd(body=body.decode().encode("utf-16"), content_type="text/html"),
        "/odd/lying-meta.html": odd(
            body=html("Врёт", "<p>Заголовок прав.</p>").decode().encode("cp1251"),
            content_type='text/html; charset="windows-1251"',
        ),
        "/odd/bad-octet.html": odd(body=body.replace(b"Line 7 ", b"Line\xff7 ")),
        "/odd/notes.txt": odd(
            body=b"Plain text.\nhttp://127.0.1.1/fake/plain.html is no link here.\n",
            content_type="text/plain; charset=utf-8",
        ),
        "/odd/report.pdf": odd(
            body=b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", content_type="application/pdf"
        ),
        "/odd/photo.jpg": odd(body=b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", content_type="image/jpeg"),
        "/search?a=1&b=2": odd(body=html("Search", "<p>Two results.</p>")),
    }


def _big(seed: int) -> Reply:
    """Random text, which does not compress to less than three quarters."""
    text = b64encode(Random(seed).randbytes(BIG * 3 // 4))  # noqa: S311 - repeatable by design
    lines = (text[start : start + 60].decode() for start in range(0, len(text), 60))
    return Reply(body=html("Big", "<p>" + " ".join(lines) + "</p>"))


def _directives(here: Callable[[str], str]) -> dict[str, Odd]:
    def odd(title: str, inner: str, *paths: str, head: str = "") -> Odd:
        links = frozenset(map(here, paths))
        return Odd(reply=Reply(body=html(title, inner, head)), links=links)

    return {
        "/odd/noindex.html": odd(
            "Noindex",
            '<a href="after-noindex.html">still followed</a>',
            "/odd/after-noindex.html",
            head='<meta name="robots" content="noindex">',
        ),
        "/odd/after-noindex.html": _plain("After noindex", listed=False),
        "/odd/nofollow.html": odd(
            "Nofollow",
            '<a href="/nofollow/meta.html">not followed</a>',
            head='<meta name="ROBOTS" content="Index, NoFollow">',
        ),
        "/odd/header-nofollow.html": Odd(
            reply=Reply(
                body=html("By header", '<a href="/nofollow/header.html">not followed</a>'),
                headers=(("X-Robots-Tag", "noindex, nofollow"),),
            )
        ),
        "/odd/base.html": odd(
            "Base",
            '<a href="../based.html">see base</a>',
            "/odd/deep/based.html",
            head='<base href="/odd/deep/er/"><base href="/fake/second-base/">',
        ),
        "/odd/deep/based.html": _plain("Based", listed=False),
        "/odd/bad-base.html": odd(
            "Bad base",
            '<a href="target-1.html">base is ignored</a>',
            "/odd/target-1.html",
            head='<base href="http://[/">',
        ),
        "/odd/canonical.html": odd(
            "Canonical",
            "",
            "/odd/canonical-target.html",
            head='<link rel="canonical" href="/odd/canonical-target.html">',
        ),
        "/odd/refresh.html": odd(
            "Refresh",
            "",
            "/odd/refresh-only.html",
            head="<meta http-equiv=Refresh content='3; URL=refresh-only.html'>",
        ),
        "/odd/refresh-only.html": _plain("After refresh", listed=False),
        "/odd/hreflang.html": odd(
            "Other languages",
            "",
            "/odd/hreflang-de.html",
            head='<link rel="alternate" hreflang="de" href="/odd/hreflang-de.html">',
        ),
        "/odd/hreflang-de.html": _plain("Andere Sprache", listed=False),
        "/odd/canonical-target.html": _plain("Canonical target", listed=True),
        "/odd/area-only.html": _plain("Area", listed=False),
        "/odd/frame-only.html": _plain("Frame", listed=False),
        "/private/open.html": _plain("Open", listed=True),
    }


def _plain(title: str, *, listed: bool) -> Odd:
    body = html(title, f"<p>This is the page called {title}, and there is little else to it.</p>")
    return Odd(reply=Reply(body=body), listed=listed)
