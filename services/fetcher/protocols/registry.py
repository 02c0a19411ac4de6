"""Finds the protocols at hand: the built-in ones and those of installed packages."""

from importlib.metadata import entry_points

from services.common.errors import Stop
from services.common.settings import Fetcher
from services.fetcher.protocols.http import Http
from services.fetcher.protocols.port import Protocol

GROUP = "recrawl.protocols"
BUILT_IN: dict[str, type[Protocol]] = {"http": Http, "https": Http}


def load(settings: Fetcher) -> dict[str, Protocol]:
    """A protocol for each URL scheme; one object where a class serves several.

    Raises:
        Stop: an entry point cannot be loaded.
    """
    classes = dict(BUILT_IN)
    for entry in entry_points(group=GROUP):
        try:
            classes[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            raise Stop(
                f"protocol {entry.name!r} ({entry.value}) cannot be loaded: {error}"
            ) from error
    made = {kind: kind(settings) for kind in set(classes.values())}
    return {scheme: made[kind] for scheme, kind in classes.items()}
