"""What a person sees of a crawl while it runs and when it is over. Reads nothing itself."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from services.local.scrape import Tally

LINE_EVERY = 5.0
"""Seconds between lines where there is no terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A crawl at one moment."""

    tally: Tally
    status: Mapping[str, int]
    """The scheduler's counters; empty before the first answer."""
    lag: int
    """Records on the way between the services."""
    elapsed: float
    rates: list[float] = field(default_factory=list)
    """Pages a second lately."""


def line(progress: Progress) -> str:
    """One line for a log."""
    tally, status = progress.tally, progress.status
    return (
        f"{progress.elapsed:6.1f} s  pages {tally.stored:,}  unchanged {tally.unchanged:,}"
        f"  failed {tally.failures.total():,}  waiting {status.get('waiting', 0):,}"
        f"  in flight {status.get('in_flight', 0):,}  {_rate(progress):.1f} pages/s"
    )


def table(progress: Progress) -> RenderableType:
    """The live view."""
    numbers = Table.grid(padding=(0, 2))
    tally, status = progress.tally, progress.status
    for name, value in (
        ("pages stored", f"{tally.stored:,}"),
        ("pages/s", f"{_rate(progress):.1f}"),
        ("unchanged", f"{tally.unchanged:,}"),
        ("waiting", f"{status.get('waiting', 0):,}"),
        ("in flight", f"{status.get('in_flight', 0):,}"),
        ("between services", f"{progress.lag:,} records"),
        ("elapsed", f"{progress.elapsed:.0f} s"),
    ):
        numbers.add_row(Text(name, style="dim"), Text(value, style="bold"))
    return Group(numbers, *_reasons("failed", tally.failures), *_reasons("refused", tally.refused))


def summary(progress: Progress) -> RenderableType:
    """What came of it, for the end."""
    tally, elapsed = progress.tally, max(progress.elapsed, 0.001)
    done = tally.stored + tally.unchanged
    view = Table(title="crawl finished", show_header=False)
    for name, value in (
        ("pages stored", f"{tally.stored:,}"),
        ("pages unchanged", f"{tally.unchanged:,}"),
        ("redirects", f"{tally.redirects:,}"),
        ("pages/s", f"{done / elapsed:.1f}"),
        ("time", f"{elapsed:.1f} s"),
        ("retried later", f"{progress.status.get('retrying', 0):,}"),
        ("of hosts held back", f"{progress.status.get('paused', 0):,}"),
    ):
        view.add_row(name, value)
    for title, reasons in (
        ("failed", tally.failures),
        ("refused", tally.refused),
        ("dead letters", tally.by("recrawl_dead_letters_total")),
    ):
        for labels, count in sorted(reasons.items()):
            if count:
                view.add_row(f"{title}: {' '.join(labels)}", f"{count:,}")
    return view


@contextmanager
def view(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show each progress given: in place on a terminal, else as a line now and then."""
    if not console.is_terminal:
        yield _lines(console)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda progress: live.update(table(progress))


def _lines(console: Console) -> Callable[[Progress], None]:
    due = time.monotonic() + 1

    def show(progress: Progress) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY
            console.print(line(progress), highlight=False, soft_wrap=True)

    return show


def _reasons(title: str, reasons: Mapping[tuple[str, ...], int]) -> list[Text]:
    named = [f"{' '.join(labels)} {count:,}" for labels, count in sorted(reasons.items()) if count]
    return [Text(f"{title}: {', '.join(named)}", style="yellow")] if named else []


def _rate(progress: Progress) -> float:
    return sum(progress.rates) / len(progress.rates) if progress.rates else 0.0
