"""Blocks that the drawn consoles of files and of evaluation runs have in common."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from touchstone.scorers.reporting.findings import GREEN, RED, YELLOW
from touchstone.scorers.reporting.folding import Folded, chosen, count_of, lines_by_severity
from touchstone.scorers.reporting.words import of_scored, percent, score_text

RULE_CELLS: Final = 60
#: `paint(text, colour)`: the text in a colour of the terminal, or as it is.
Paint = Callable[[str, str], str]


def result_lines(
    paint: Paint,
    counts: tuple[int, int, int, int],
    others: Iterable[tuple[str, int]],
    notes: Iterable[str],
    average: tuple[float | None, int | None],
) -> list[str]:
    """The head of the summary, as far as the pass rate and the average score.

    `counts`: in total, passed, warned, failed. `others`: further counts, shown if not 0. `average`: the average score, and how many have a score.
    """
    total, passed, warned, failed = counts
    mean, scored = average
    double = "═" * RULE_CELLS
    lines = [double, "  EVALUATION RESULTS", double, "", "Summary:", f"  Total Tests: {total}"]
    for mark, name, count, colour in (("✓", "Passed", passed, GREEN), ("!", "Warned", warned, YELLOW), ("✗", "Failed", failed, RED)):
        lines.append(paint(f"  {mark} {name}: {count}", colour if count else ""))
    lines += [paint(f"  - {name}: {count}", YELLOW) for name, count in others if count]
    rate = passed / total if total else 0.0
    return [*lines, *notes, "", f"  Pass Rate: {percent(rate)}", f"  Average Score: {score_text(mean)}{of_scored(scored, total)}"]


def findings_block(lines: Sequence[Folded], most: int | None, paint: Paint, *, not_listed: int = 0, hint: str) -> Iterator[str]:
    """Findings by severity: the most severe ones, at least one of each code, and how many more there are. `most`: None lists all."""
    shown = lines if most is None else chosen(lines, most)
    if shown:
        yield from ("", "Findings:", *lines_by_severity(shown, paint))
    if rest := count_of(lines) - count_of(shown) + not_listed:
        yield f"  and {rest} more; {hint}"
