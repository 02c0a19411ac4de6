"""Scrapy's part of benchmarks/fetcher.py, run by a Python that has Scrapy.

`python fetcher_scrapy.py URLS_FILE CONCURRENCY` prints the CPU and wall seconds of all requests.
"""

import sys
import time
from pathlib import Path

import scrapy  # type: ignore[import-not-found,unused-ignore] # lives in an environment of its own
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found,unused-ignore] # same

URLS, CONCURRENCY = Path(sys.argv[1]).read_text().split(), int(sys.argv[2])


class Pages(scrapy.Spider):  # type: ignore[misc,unused-ignore] # untyped here
    """Asks for every URL and looks at nothing."""

    name = "pages"
    custom_settings = {  # noqa: RUF012 - Scrapy's own way
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
    }

    async def start(self):  # type: ignore[no-untyped-def,unused-ignore] # noqa: ANN201 - same
        """All requests, none a duplicate."""
        for url in URLS:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response):  # type: ignore[no-untyped-def,unused-ignore] # noqa: ANN001, ANN201 - same
        """Take the body."""
        assert response.body


cpu, wall = time.process_time(), time.perf_counter()
process = CrawlerProcess()
process.crawl(Pages)
process.start()
print(time.process_time() - cpu, time.perf_counter() - wall)
