"""Findings as consoles list them: by severity, each with where it is, what it is, and what to do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.reporting.words import visible

#: The gravest first.
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "major", "minor", "info")
RED, YELLOW, GREEN, DIM, BOLD = "31", "33", "32", "2", "1"
SEVERITY_COLOURS: Final[dict[Severity, str]] = {"critical": RED, "major": YELLOW, "minor": DIM, "info": DIM}


def painted(text: str, colour: str) -> str:
    """The text in a colour of the terminal; as it is where the colour is empty."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def gravest_first(findings: Iterable[Finding], *, with_info: bool = False) -> list[Finding]:
    """The findings in the order of their severity; those of severity info only where they are asked for."""
    told = (finding for finding in findings if with_info or finding.severity != "info")
    return sorted(told, key=lambda finding: SEVERITIES.index(finding.severity))


def place_and_message(finding: Finding) -> str:
    """Where and what; a finding about the document as a whole has no path."""
    return f"{visible(finding.path)}: {visible(finding.message)}" if finding.path else visible(finding.message)


def lines_by_severity(findings: Sequence[Finding], paint: Callable[[str, str], str]) -> Iterator[str]:
    """A heading for each severity that there is, and below it its findings with their suggestions. `paint(text, colour)` colours a heading."""
    for severity in SEVERITIES:
        of_severity = [finding for finding in findings if finding.severity == severity]
        if of_severity:
            yield paint(f"  {severity.capitalize()}:", SEVERITY_COLOURS[severity])
        for finding in of_severity:
            yield f"    • {place_and_message(finding)}"
            if finding.suggestion:
                yield f"      Suggestion: {visible(finding.suggestion)}"
