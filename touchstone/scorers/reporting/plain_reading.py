"""The reading of a case whose suite brings none of its own: its values, its findings, and the case as it is."""

import json
from collections.abc import Iterable
from typing import Any

from touchstone.schemas.case import Case
from touchstone.schemas.reading import Bar, BarsSection, CaseReading, ChecksSection, CodeSection, Item, MarkState, Section
from touchstone.schemas.result import ScoreResult, Severity

#: Severity → how a finding is marked.
STATES: dict[Severity, MarkState] = {"critical": "bad", "major": "bad", "minor": "unsure", "info": "note"}


def value_bars(result: ScoreResult, value_max: float = 1.0) -> BarsSection:
    """The result's values as bars."""
    return BarsSection(id="values", title="Values", bars=tuple(Bar(name=name, value=value, high=value_max) for name, value in result.values.items()))


def finding_checks(result: ScoreResult) -> ChecksSection:
    """The findings as a list, then what failed and what was not checked. A finding's message may quote where the suite is set to, so it counts as text."""
    return other_checks(result, range(len(result.findings)), "Findings")


def other_checks(result: ScoreResult, findings: Iterable[int], title: str) -> ChecksSection:
    """The same with some of the findings, for a suite that shows the others in a section of its own. `findings`: their indices."""
    items = []
    for place in findings:
        one = result.findings[place]
        items.append(Item(id=f"finding-{place}", state=STATES[one.severity], label=one.path, text=one.message, finding=place, code=one.code))
    items += [
        Item(id=f"failure-{place}", state="unsure", label=one.component, code=one.code, note=f"not scored; cause: {one.kind}")
        for place, one in enumerate(result.failures)
    ]
    items += [Item(id=f"unchecked-{place}", state="note", label=one.check, note=f"not checked: {one.reason}") for place, one in enumerate(result.not_checked)]
    return ChecksSection(id="findings", title=title, items=tuple(items))


def plain_reading(case: Case | None, result: ScoreResult, name: str, value_max: float = 1.0) -> CaseReading:
    """Values, findings, and the case's JSON; without the last if the case is not at hand."""
    sections: list[Section] = [value_bars(result, value_max), finding_checks(result)]
    if case is not None:
        document: Any = case.model_dump(mode="json", by_alias=True, exclude_unset=True)
        sections.append(CodeSection(id="case", title="Case", format="json", text=json.dumps(document, ensure_ascii=False, indent=2)))
    return CaseReading(suite=result.suite, name=name, label=result.label, sections=tuple(sections), has_text=case is not None)
