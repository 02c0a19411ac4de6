"""The many ways to write one link; a crawler must see through all of them.

Decides only how a canonical URL is written on a page; never where links go.
"""

from html import escape
from random import Random
from urllib.parse import unquote


def spell(rng: Random, url: str, base: str) -> str:
    """An attribute value that means `url` on a page whose base URL is `base`."""
    way = rng.randrange(20)
    origin, path = _split(url)
    here, base_path = _split(base)
    if origin != here:
        return escape(_across(way, url))
    # Mostly the plain form, as on real sites.
    return path if way < 8 else escape(_within(way, url, path, base_path))  # noqa: PLR2004 - share


def _across(way: int, url: str) -> str:
    """A link to another host."""
    match way:
        case 0:
            return url[5:]
        case 1:
            return f"HTTP{url[4:]}"
        case 2:
            return f" {url}\n"
        case 3:
            return f"{url}#top"
        case _:
            return url


def _within(way: int, url: str, path: str, base_path: str) -> str:
    """A link within the host, not in the plain form."""
    head, slash, tail = path[1:].partition("/")
    ways = {
        8: url,
        9: url[5:],
        10: f"/{head}/./../{head}{slash}{tail}" if slash else f"/.{path}",
        11: f"/x/%2E%2e{path}",
        12: f"{path}#part-{len(url)}",
        13: f"\n  {path}\t",
        14: f"{path[:2]}\n{path[2:]}",
        15: unquote(path),
        16: _lower_hex(path),
        17: f"/%{ord(path[1]):x}{path[2:]}" if path[1:2].isalpha() else path,
    }
    return ways.get(way) or _relative(path, base_path)


def _split(url: str) -> tuple[str, str]:
    """Origin and path of a canonical URL."""
    origin, slash, path = url[7:].partition("/")
    return origin, slash + path


def _relative(path: str, base_path: str) -> str:
    """`path` from the folder of `base_path` (RFC 3986 5.2)."""
    folder, _, name = path.rpartition("/")
    if base_path.rpartition("/")[0] == folder and name:
        return name
    return "../" * (base_path.count("/") - 1) + path[1:] or "."


def _lower_hex(path: str) -> str:
    parts = path.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])
