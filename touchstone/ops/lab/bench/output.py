"""Output that the benchmarks share: Markdown tables, and a report that is printed and kept."""

import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, and an empty one."""
    return [_row(head), "|" + "---|" * len(head), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def spread(values: Sequence[float]) -> tuple[str, str]:
    """The median, and the least to the most."""
    return f"{statistics.median(values):,.0f}", f"{min(values):,.0f}–{max(values):,.0f}"


def now() -> str:
    """The time, for the title of a report."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def keep(text: str, path: Path) -> None:
    """Write a report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
