"""Findings as consoles list them: by severity, with place, message and suggestion."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.reporting.words import visible

Item = TypeVar("Item")
#: The most severe first.
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "major", "minor", "info")
#: An info finding that every report shows: why a label, and the number beside it, are no better.
LABEL_BOUND: Final = "label.bound"
RED, YELLOW, GREEN, DIM, BOLD = "31", "33", "32", "2", "1"
SEVERITY_COLOURS: Final[dict[Severity, str]] = {"critical": RED, "major": YELLOW, "minor": DIM, "info": DIM}


def painted(text: str, colour: str) -> str:
    """The text in a colour of the terminal; unchanged if the colour is empty."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def gravest_first(findings: Iterable[Finding], *, with_info: bool = False) -> list[Finding]:
    """The findings in the order of their severity; those of severity info only if asked for, or if they explain the label."""
    kept = (finding for finding in findings if with_info or finding.severity != "info" or finding.code == LABEL_BOUND)
    return sorted(kept, key=lambda finding: SEVERITIES.index(finding.severity))


def place_of(finding: Finding, file: str = "") -> str:
    """The path of a finding, with its line and column if it has any; empty without a path.

    `file`: the file whose lines they are, for `file:line:column`. Without it they are of the document, which a trace may hold in one line of its own.
    """
    if finding.line is None or finding.column is None or not finding.path:
        return finding.path
    at = f"{file}:{finding.line}:{finding.column}" if file else f"line {finding.line}, column {finding.column} of the document"
    return f"{finding.path} ({at})"


def place_and_message(finding: Finding, file: str = "") -> str:
    """Place and message of a finding; one about the whole document has no place."""
    return f"{visible(place_of(finding, file))}: {visible(finding.message)}" if finding.path else visible(finding.message)


def bounded(items: Sequence[Item], most: int, finding_of: Callable[[Item], Finding]) -> list[Item]:
    """The `most` most severe items, in their original order, with at least one of each code if there is room."""
    if len(items) <= most:
        return list(items)
    findings = [finding_of(item) for item in items]
    ordered = sorted(range(len(items)), key=lambda place: SEVERITIES.index(findings[place].severity))
    first: dict[str, int] = {}
    for place in ordered:
        first.setdefault(findings[place].code, place)
    chosen = set(list(first.values())[:most])
    for place in ordered:
        if len(chosen) >= most:
            break
        chosen.add(place)
    return [items[place] for place in sorted(chosen)]
