"""Settings as environment variables: how a parent hands its settings to a child process."""

import json
from typing import Any

from services.common.settings import Settings


def environment(settings: Settings) -> dict[str, str]:
    """A variable for each setting, so that nothing inherited can mean anything else.

    A setting that is None has no spelling; it is left out.
    """
    return dict(_leaves("RECRAWL", settings.model_dump(mode="json")))


def _leaves(name: str, value: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    if value is None:
        return []
    # Groups have upper-case field names as children; a setting that is a mapping is one value.
    if isinstance(value, dict) and name.count("__") == 0:
        separator = "_" if name == "RECRAWL" else "__"
        return [
            leaf
            for field, inner in value.items()
            for leaf in _leaves(f"{name}{separator}{field.upper()}", inner)
        ]
    return [(name, value if isinstance(value, str) else json.dumps(value))]
