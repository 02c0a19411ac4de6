"""Each service is killed in the middle of a crawl: nothing is lost (E3, F2, G2)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from services.local.engines import Endpoints
from services.local.supervisor import Pipeline


@pytest.mark.parametrize("name", ["frontier", "scheduler", "fetcher", "parser"])
def test_a_crawl_survives_the_sigkill_of_a_service(
    engines: Endpoints,
    crawl_with: Callable[[Endpoints, Sequence[tuple[int, Any]]], None],
    name: str,
) -> None:
    """The supervisor starts it again, and the crawl ends with the same truth."""

    def kill(running: Pipeline) -> None:
        running.kill(name)

    crawl_with(engines, [(15, kill)])
