"""docs/topics.md, and a schema and an example for each record."""

import json
from typing import Any

import msgspec

from services.common.topics import ALL, Topic
from services.docs import examples

_HEAD = """# Topics

Made from services/common/{topics,records}.py by `make docs`. The name in Kafka is
`RECRAWL_KAFKA__PREFIX` + name; `recrawl topics` creates them. Delivery is at least once. JSON on
the wire, MessagePack where bodies travel. Octets are Base64 in JSON. Unknown fields are
tolerated. Schemas: `services/common/schemas/`, examples: `services/common/examples/`.
"""


def page() -> str:
    """The whole page."""
    rows = ["| topic | key | format | kept | what |", "|---|---|---|---|---|"]
    for topic in ALL:
        what = (topic.record.__doc__ or "").split("Key:")[0].strip().splitlines()[0]
        days = topic.retention / 86_400
        kept = f"{days:.0f} d" if days >= 1 else f"{topic.retention // 3600} h"
        kept = "newest of each key" if topic.compact else kept
        rows.append(f"| `{topic.name}` | {topic.key} | {topic.codec} | {kept} | {what} |")
    sections = (f"## {topic.name}\n\n```json\n{example(topic).strip()}\n```\n" for topic in ALL)
    return "\n".join([_HEAD, "\n".join(rows) + "\n", *sections])


def schema(topic: Topic) -> str:
    """JSON Schema of the record."""
    return _pretty(msgspec.json.schema(topic.record))


def example(topic: Topic) -> str:
    """The record's example as JSON."""
    record = next(made for made in examples.ALL if type(made) is topic.record)
    return _pretty(msgspec.to_builtins(record))


def _pretty(data: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
