"""The HTML of article and directory pages: an article amid the furniture of a real site.

Decides markup only: the same arguments give the same octets. Never touches the network.
"""

import json
from functools import lru_cache
from html import escape
from random import Random

from services.local.demo.article import Article, Block, article, title
from services.local.demo.site import DIRECTORY_PAGE, DemoWeb, Targets
from services.local.demo.spelling import spell
from services.local.demo.words import SECTIONS, SLUGS

VISIT = "@@visit@@"
"""Stands in pages that change at every request for the number of the request."""


def page(web: DemoWeb, host: int, number: int, version: int) -> str:
    """An article page's HTML at a version."""
    content = article(web, host, number, version)
    targets = web.targets(host, number)
    rng = web.random(host, number, "markup")
    base = web.page_url(host, number)
    head_base = ""
    if number and web.dice(host, number, "base") % 16 == 0:
        base = web.url(host, f"/{SECTIONS[number % len(SECTIONS)]}/")
        head_base = f'<base href="{base if number % 2 else base[base.index("/", 7) :]}">'
    links = _Links(web, rng, web.page_url(host, number), base)
    return "".join(
        [
            _head(web, host, number, content, head_base + _feeds(targets)),
            f'<body class="post page-{number}">\n{_sprite()}',
            _header(web, host, content, targets, links),
            '<main id="content" class="layout">\n',
            _article(content, targets, links),
            _comments(content),
            "</main>\n",
            _sidebar(content, targets, links),
            _footer(web, host, number, content, links),
        ]
    )


def directory(web: DemoWeb, index: int) -> str:
    """A page of host 0's directory of hosts."""
    first = index * DIRECTORY_PAGE + 1
    rows = "\n".join(f'<li><a href="{url}">{url}</a></li>' for url in web.directory(index))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>All hosts</title>'
        f'</head>\n<body><h1>All hosts</h1>\n<ol start="{first}">\n{rows}\n</ol></body></html>\n'
    )


class _Links:
    """Writes the links of one page."""

    def __init__(self, web: DemoWeb, rng: Random, page: str, base: str) -> None:
        self._web, self._rng, self._page, self._base = web, rng, page, base

    def href(self, url: str) -> str:
        return spell(self._rng, url, self._base)

    def fragment(self, name: str) -> str:
        """A link within the page; with a base URL, a bare fragment would lead elsewhere."""
        return f"#{name}" if self._page == self._base else f"{self._page}#{name}"

    def item(self, url: str, kind: str) -> str:
        """A list item as menus have it."""
        name = SLUGS[hash_of(url) % len(SLUGS)]
        return (
            f'<li class="{kind}-item {kind}-item-{name}"><a class="{kind}-link" href="'
            f'{self.href(url)}" data-track="{kind}:{name}"><svg class="icon" width="16" height="16"'
            f' aria-hidden="true"><use href="#icon-{name}"></use></svg><span>'
            f"{escape(self.title(url))}</span></a></li>\n"
        )

    def title(self, url: str) -> str:
        """The title of the page that a URL leads to."""
        authority, _, path = url[7:].partition("/")
        host = self._web.host_at(authority)
        number = None if host is None else self._web.find(host, f"/{path}")
        return url if host is None or number is None else title(self._web, host, number)


def hash_of(text: str) -> int:
    """A small number that is the same in every process, unlike `hash`."""
    return sum(text.encode()[-24:])


def _head(web: DemoWeb, host: int, number: int, content: Article, base: str) -> str:
    url = web.page_url(host, number)
    name = escape(content.title)
    summary = escape(content.blocks[0].text[:150])
    linked = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": content.title,
        "author": {"@type": "Person", "name": content.author},
        "mainEntityOfPage": url,
        "publisher": {"@type": "Organization", "name": web.address(host)},
    }
    charset = web.charset(host, number)
    # Which of header and meta declares the encoding is decided in answers.py; utf-8 by both.
    meta = f'<meta charset="{charset}">' if charset != "windows-1251" else ""
    return f"""<!DOCTYPE html>
<html lang="{content.language.code}" class="no-js">
<head>
{meta}
<title>{name} - {web.address(host)}</title>
{base}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{summary}">
<meta name="author" content="{escape(content.author)}">
<meta property="og:type" content="article">
<meta property="og:title" content="{name}">
<meta property="og:description" content="{summary}">
<meta property="og:url" content="{url}">
<meta property="og:image" content="{web.url(host, f"/media/{number}.jpg")}">
<meta property="og:site_name" content="{web.address(host)}">
<meta name="twitter:card" content="summary_large_image">
<meta name="csrf-token" content="{_token(web, host, number)}">
<link rel="canonical" href="{url}">
<link rel="stylesheet" href="/static/site.css?v={web.seed}">
<link rel="icon" href="/favicon.ico">
<script type="application/ld+json">{json.dumps(linked)}</script>
<style>{_css(host % 8)}</style>
<script>{_script(host % 8)}</script>
</head>
"""


def _feeds(targets: Targets) -> str:
    return "".join(
        f'<link rel="alternate" type="application/{url.rpartition(".")[2]}+xml" href="{url}">'
        for url in targets.feed
    )


def _token(web: DemoWeb, host: int, number: int) -> str:
    noisy = web.change(host, number) == "noise"
    return VISIT if noisy else f"{web.dice(host, number, 'token'):016x}"


def _header(web: DemoWeb, host: int, content: Article, targets: Targets, links: _Links) -> str:
    menu = "".join(links.item(url, "menu") for url in targets.nav)
    return f"""<header class="site-header" role="banner">
<a class="skip-link" href="{links.fragment("content")}">{content.language.home}</a>
<a class="logo" href="{links.href(web.home(host))}"><img src="/media/logo.png" width="160"
 height="40" alt="{web.address(host)}"></a>
<form class="search" action="/fake/search" role="search"><input type="search" name="q"></form>
<nav class="main-menu" aria-label="main"><ul>
{menu}</ul></nav>
<!-- <a href="/fake/old-menu.html">old menu</a> -->
</header>
"""


def _article(content: Article, targets: Targets, links: _Links) -> str:
    inline = iter(targets.inline)
    parts = [
        '<article class="article" itemscope itemtype="https://schema.org/NewsArticle">\n',
        f'<h1 class="entry-title" itemprop="headline">{escape(content.title)}</h1>\n',
        '<div class="article-body entry-content" itemprop="articleBody">\n',
    ]
    for block in content.blocks:
        href = links.href(next(inline)) if block.anchor else ""
        parts.append(_block(block, href))
    # Targets that this article was too short to mention go below it.
    rest = "".join(links.item(url, "tag") for url in inline)
    parts.append(f'</div>\n<nav class="tags"><ul>{rest}</ul></nav>\n</article>\n')
    return "".join(parts)


def _block(block: Block, href: str) -> str:
    lines = [escape(line, quote=False) for line in block.lines]
    match block.kind:
        case "h2":
            return f"<h2>{lines[0]}</h2>\n"
        case "ul":
            return "<ul>\n" + "".join(f"<li>{line}</li>\n" for line in lines) + "</ul>\n"
        case "table":
            rows = [lines[start : start + 3] for start in range(0, len(lines), 3)]
            cells = "</tr>\n<tr>".join("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
            return f'<table class="data"><tbody>\n<tr>{cells}</tr>\n</tbody></table>\n'
        case "figure":
            source = f"/media/{hash_of(lines[0])}.jpg"
            return (
                f'<figure class="figure"><img src="{source}" loading="lazy" width="800"'
                f' height="450" alt=""><figcaption>{lines[0]}</figcaption></figure>\n'
            )
        case "p" if href:
            return f'<p>{lines[0]} <a href="{href}">{escape(block.anchor)}</a></p>\n'
        case _:
            return f"<p>{lines[0]}</p>\n"


def _comments(content: Article) -> str:
    rows = "".join(
        f'<li class="comment"><div class="comment-meta"><b>{escape(text[:9])}</b></div>'
        f'<div class="comment-content"><p>{escape(text)}</p></div></li>\n'
        for text in content.comments
    )
    return (
        f'<section id="comments" class="comments"><h3>{content.language.comments}</h3>\n'
        f'<ol class="comment-list">\n{rows}</ol></section>\n'
    )


def _sidebar(content: Article, targets: Targets, links: _Links) -> str:
    groups = (
        ("related", targets.related),
        ("section", targets.children),
        ("partner", targets.elsewhere),
        ("extra", targets.extra),
    )
    lists = "".join(
        f'<div class="widget widget-{kind}"><h4>{content.language.related}</h4><ul>\n'
        f"{''.join(links.item(url, kind) for url in urls)}</ul></div>\n"
        for kind, urls in groups
        if urls
    )
    return f'<aside class="sidebar" role="complementary">\n{lists}</aside>\n'


def _footer(web: DemoWeb, host: int, number: int, content: Article, links: _Links) -> str:
    noise = (
        f"<p>{VISIT} views, made in 0.{VISIT} s</p>" if web.change(host, number) == "noise" else ""
    )
    return f"""<footer class="site-footer" role="contentinfo">
<ul><li><a href="{links.href(web.home(host))}">{content.language.home}</a></li>
<li><a rel="nofollow noopener" href="/nofollow/login.html">Login</a></li>
<li><a href="javascript:void(0)">{content.language.privacy}</a></li>
<li><a href="mailto:editor@{web.address(host)}">{escape(content.author)}</a></li></ul>
{noise}
<script>document.write('<a href="/fake/written.html">x</a>');</script>
</footer>
</body>
</html>
"""


@lru_cache(maxsize=8)
def _css(theme: int) -> str:
    """A style sheet such as sites inline it."""
    return "".join(
        f".{name}-{part}{{display:flex;margin:{theme}px {index}px;"
        f"color:#{index * 4096 + theme:06x};border:1px solid rgba({index},{theme},0,.{part})}}\n"
        for index, name in enumerate(SLUGS)
        for part in (1, 2)
    )


@lru_cache(maxsize=8)
def _script(theme: int) -> str:
    """A script such as sites inline it, with a link that is none."""
    calls = "".join(f'q.push(["{name}",{theme},"/fake/{name}.html"]);\n' for name in SLUGS)
    return f"(function(w){{var q=w.q=w.q||[];\n{calls}w.go=function(u){{w.location=u}};}})(window);"


@lru_cache(maxsize=1)
def _sprite() -> str:
    shapes = "".join(
        f'<symbol id="icon-{name}" viewBox="0 0 16 16"><path d="M{index} 2l6 6-6 6-2-2 4-4-4-4z'
        f'M1 {index}h14v2H1z"/></symbol>\n'
        for index, name in enumerate(SLUGS)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" hidden>\n{shapes}</svg>\n'
