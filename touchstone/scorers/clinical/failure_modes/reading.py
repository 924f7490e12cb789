"""How a trace reads beside what the failure modes found: each question with its answer, then the clinical reading of the trace."""

from __future__ import annotations

from touchstone.schemas.case import Case
from touchstone.schemas.reading import CaseReading, ChecksSection, Item, MarkState
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.reading.case_reading import read_case

_PASSED, _FAILED = "passed", "failed"


def read_modes(case: Case | None, result: ScoreResult, name: str) -> CaseReading:
    """The reading of one result. Never raises for what the case holds."""
    read = read_case(case, result, name)
    why = {one.check: one.reason for one in result.not_checked}
    shadow = set(result.details.get("shadow", ()))
    items = []
    for mode, question in {**QUESTIONS, **_judged(result)}.items():
        value = result.values.get(mode)
        state: MarkState = "note" if value is None or (mode in shadow and not value) else "good" if value else "bad"
        note = f"no answer: {why.get(mode, 'it is not in this result')}" if value is None else _PASSED if value else _FAILED
        note += "; in the shadow: it decides nothing" if mode in shadow else ""
        to = tuple(f"finding-{place}" for place, one in enumerate(result.findings) if one.code == f"mode.{mode}")
        items.append(Item(id=f"mode-{mode}", state=state, label=question, code=mode, note=note, to=to))
    items.sort(key=lambda item: ("bad", "note", "good").index(item.state) if item.note != _PASSED else 3)
    modes = ChecksSection(id="modes", title="Failure modes", items=tuple(items))
    others = [section for section in read.sections if section.id != "values"]
    place = next((number for number, section in enumerate(others) if section.id == "findings"), 0)
    return read.model_copy(update={"sections": (*others[:place], modes, *others[place:])})


def _judged(result: ScoreResult) -> dict[str, str]:
    """Name → question of the judges in a result, which others may have written."""
    judges = result.details.get("judges")
    found = {str(name): one.get("question") for name, one in judges.items() if isinstance(one, dict)} if isinstance(judges, dict) else {}
    return {name: question if isinstance(question, str) and question else name for name, question in found.items()}
