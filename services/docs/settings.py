"""docs/settings.md from the settings' fields and docstrings."""

import json
from pathlib import Path

from pydantic import BaseModel

from services.common.settings import Settings

_HEAD = """# Settings

Made from services/common/settings.py by `make docs`. Every setting is an environment variable;
lists and maps are JSON. A wrong value stops the process and says what it should be.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for name, field in Settings.model_fields.items():
        group = field.annotation
        if not (isinstance(group, type) and issubclass(group, BaseModel)):
            raise TypeError(f"{name}: settings are grouped")
        parts.append(f"## {name}\n\n{group.__doc__}\n")
        rows = ["| variable | default | what |", "|---|---|---|"]
        for key, leaf in group.model_fields.items():
            variable = f"RECRAWL_{name}__{key}".upper()
            what = " ".join((leaf.description or "").split())
            rows.append(
                f"| `{variable}` | {_shown(leaf.get_default(call_default_factory=True))} | {what} |"
            )
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _shown(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, Path | str):
        return f"`{default}`" if str(default) else ""
    return f"`{json.dumps(default)}`"
