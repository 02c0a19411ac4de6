"""Finds protocols and modules: the built-in ones and those of installed packages."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from services.common.errors import Stop
from services.common.settings import Fetcher
from services.fetcher.protocols.http import Http
from services.fetcher.protocols.port import Module, Protocol

GROUP = "recrawl.protocols"
BUILT_IN: dict[str, type[Protocol]] = {"http": Http, "https": Http}
MODULES = "recrawl.modules"
_BUILT_IN_MODULES = (EntryPoint("browser", "services.fetcher.browser.module:Browser", MODULES),)
"""By name, since loading one costs what it imports: a quarter of a second for the browser."""


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


def load_modules(names: Iterable[str]) -> dict[str, type[Module]]:
    """The modules that rules name; no other is imported.

    Raises:
        Stop: there is none of that name, or it cannot be loaded.
    """
    wanted = sorted(names)
    if not wanted:
        return {}
    known = {entry.name: entry for entry in (*_BUILT_IN_MODULES, *entry_points(group=MODULES))}
    found: dict[str, type[Module]] = {}
    for name in wanted:
        if name not in known:
            raise Stop(f"module = {name!r}: there is no such module; known: {sorted(known)}")
        try:
            found[name] = known[name].load()
        except (ImportError, AttributeError) as error:
            raise Stop(
                f"module {name!r} ({known[name].value}) cannot be loaded: {error}; "
                f"is `recrawl[{name}]` installed?"
            ) from error
    return found
