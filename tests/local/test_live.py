"""What a person sees."""

from io import StringIO

from rich.console import Console

from services.local.live import Progress, line, summary, table, view
from services.local.scrape import Tally

TALLY = Tally()
TALLY.add({1: {}})
TALLY.add(
    {
        1: {
            ("recrawl_pages_parsed_total", ("new",)): 1200,
            ("recrawl_pages_parsed_total", ("unchanged",)): 300,
            ("recrawl_fetches_total", ("moved", "redirect")): 7,
            ("recrawl_fetches_total", ("gone", "not-found")): 2,
            ("recrawl_urls_refused_total", ("depth",)): 4,
        }
    }
)
PROGRESS = Progress(
    tally=TALLY,
    status={"waiting": 5, "in_flight": 6, "retrying": 1},
    lag=8,
    elapsed=10.0,
    rates=[20, 40],
)


def shown(renderable: object) -> str:
    out = StringIO()
    Console(file=out, width=100).print(renderable)
    return out.getvalue()


def test_the_line_for_a_log() -> None:
    assert line(PROGRESS) == (
        "  10.0 s  pages 1,200  unchanged 300  failed 2  waiting 5  in flight 6  30.0 pages/s"
    )


def test_the_live_view_names_failures_and_refusals_by_reason() -> None:
    text = shown(table(PROGRESS))
    assert "failed: gone not-found 2" in text
    assert "refused: depth 4" in text


def test_the_summary_gives_rate_and_reasons() -> None:
    cells = [
        [cell.strip() for cell in row.split("│")[1:-1]]
        for row in shown(summary(PROGRESS)).splitlines()
    ]
    assert ["pages/s", "150.0"] in cells
    assert ["redirects", "7"] in cells
    assert ["failed: gone not-found", "2"] in cells
    assert ["refused: depth", "4"] in cells


def test_without_a_terminal_lines_come_now_and_then_and_nothing_is_redrawn() -> None:
    out = StringIO()
    with view(Console(file=out)) as show:
        show(PROGRESS)
    assert out.getvalue() == ""
