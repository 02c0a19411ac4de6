"""The frontier's rate on one core: `url-discovered` octets in, `url-admitted` octets out, no Kafka.

Pages with 100 links each to one host, 90 of which have passed before; decode, admit, encode,
remember. `python -m benchmarks.frontier [pages]` prints one line.
"""

import sys
import time
from random import Random

from services.common.codec import decode, encode
from services.common.records import Link, Rules, UrlDiscovered
from services.common.settings import Settings
from services.common.topics import URL_ADMITTED, URL_DISCOVERED
from services.frontier.budgets import Budgets
from services.frontier.cache import Passed
from services.frontier.core import Memory, admit_links
from services.frontier.service import limits_of

LINKS = 100
NEW = 10
HOSTS = 50
PATHS = (
    "/articles/2024/{n}/on-the-keeping-of-bees.html",
    "/category/{n}/?page=3&order=date",
    "/wiki/Caf%C3%A9_{n}",
    "/shop/item?id={n}&utm_source=feed&color=blue",
)


def pages(count: int) -> list[bytes]:
    """`count` records as the parser produces them, the same ones every time."""
    random = Random(1)  # noqa: S311 - made-up links, no secret
    known: list[list[str]] = [[] for _ in range(HOSTS)]
    values = []
    for page in range(count):
        host = f"www.site-{page % HOSTS}.example"
        seen = known[page % HOSTS]
        new = [
            f"https://{host}" + PATHS[n % len(PATHS)].format(n=page * NEW + n)
            for n in range(NEW if seen else LINKS)
        ]
        urls = new + random.choices(seen, k=LINKS - len(new)) if seen else new
        seen.extend(new)
        record = UrlDiscovered(
            host=host,
            source=f"https://{host}/",
            rules=Rules(root=host),
            depth=3,
            links=[Link(url=url, anchor="Read more about it") for url in urls],
            found_at=1.7e9,
        )
        values.append(encode(URL_DISCOVERED, record))
    return values


def main() -> None:
    """Run once over all pages and print the rate."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    settings = Settings()
    limits = limits_of(settings)
    cache = Passed(settings.frontier.cache_size)
    frontier = settings.frontier
    memory = Memory(passed=cache, budgets=Budgets(frontier.trap_memory, frontier.max_combinations))
    values = pages(count)
    admitted = octets = 0
    begin = time.process_time()
    for value in values:
        admission = admit_links(decode(URL_DISCOVERED, value), memory, limits, 1.7e9)
        for record in admission.admitted:
            octets += len(encode(URL_ADMITTED, record))
        cache.remember(admission.passed)
        admitted += len(admission.passed)
    seconds = time.process_time() - begin
    links = count * LINKS
    print(
        f"frontier: {links / seconds:,.0f} links/s per core "
        f"({1e6 * seconds / links:.1f} us a link, {links} links, {admitted} admitted, "
        f"{octets} octets out)"
    )


if __name__ == "__main__":
    main()
