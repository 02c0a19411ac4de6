"""Where the scheduler's time goes: a cProfile file, summed by the part the code belongs to."""

import pstats
from collections import Counter
from pathlib import Path
from typing import Any

PARTS = (
    ("services/scheduler", "our core"),
    ("services/common", "our core"),
    ("msgspec", "our core"),
    ("rocksdict", "RocksDB"),
    ("faust/stores", "RocksDB"),
    ("faust/tables", "tables and changelog"),
    ("faust/topics", "Faust, sending"),
    ("faust/channels", "Faust, sending"),
    ("faust/transport/producer", "Faust, sending"),
    ("faust/transport/drivers", "aiokafka"),
    ("aiokafka/producer", "aiokafka, producer"),
    ("aiokafka/record", "aiokafka, producer"),
    ("aiokafka", "aiokafka"),
    ("prometheus_client", "metrics"),
    ("faust", "Faust, events"),
    ("mode", "Faust, events"),
    ("asyncio", "asyncio"),
    ("selectors", "asyncio"),
)


def shares(file: Path, pages: int) -> list[str]:
    """A line for each part and for each of the dearest functions, in ms a page."""
    stats: dict[Any, Any] = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    parts: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for where, (_, calls, own, _, callers) in stats.items():
        if where[0] != "~":  # the interpreter's own are counted where they are called from
            parts[part(where[0])] += own
            names[f"{short(where[0])}:{where[2]} x{calls / pages:.1f}"] += own
            continue
        if "poll" in where[2]:
            continue  # waiting
        for caller, (_, _, spent, _) in callers.items():
            parts[part(caller[0])] += spent
            names[f"{where[2]} from {short(caller[0])}:{caller[2]}"] += spent
    total = sum(parts.values())
    lines = [
        f"  {name:24}{spent / pages * 1000:6.2f} ms {spent / total:6.1%}"
        for name, spent in parts.most_common()
    ]
    lines += [f"    {spent / pages * 1000:6.3f} ms {name}" for name, spent in names.most_common(60)]
    return lines


def part(path: str) -> str:
    """The part that a source file belongs to."""
    for mark, name in PARTS:
        if f"/{mark}/" in path or f"/{mark}." in path or path.endswith(mark):
            return name
    return "the rest"


def short(path: str) -> str:
    """The end of a path."""
    return "/".join(path.split("/")[-2:])
