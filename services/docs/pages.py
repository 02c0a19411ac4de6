"""Which generated file has which text. Writes nothing."""

from pathlib import Path

from services.common.topics import ALL
from services.docs import metrics, settings, topics

ROOT = Path(__file__).parents[2]


def render() -> dict[Path, str]:
    """Path -> text of everything that is generated."""
    docs, common = ROOT / "docs", ROOT / "services" / "common"
    made = {
        docs / "settings.md": settings.page(),
        docs / "topics.md": topics.page(),
        docs / "metrics.md": metrics.page(),
    }
    for topic in ALL:
        made[common / "schemas" / f"{topic.name}.v1.json"] = topics.schema(topic)
        made[common / "examples" / f"{topic.name}.v1.json"] = topics.example(topic)
    return made
