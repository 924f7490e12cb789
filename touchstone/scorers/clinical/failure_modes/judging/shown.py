"""What a judge reads of a trace, as the fields of its prompt; its examples show theirs in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from touchstone.schemas.judging import Asked
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.failure_modes.judge_folders import ModeJudge
from touchstone.scorers.clinical.failure_modes.settings import ModeJudgesSettings
from touchstone.scorers.clinical.requests.judge_extracts import extract
from touchstone.scorers.clinical.settings import JudgeRequestSettings
from touchstone.scorers.clinical.trace_scoring import day_of

NOTHING: Final = "(none)"


def extracted(trace: ProductionTrace, settings: ModeJudgesSettings) -> Asked:
    """The parts of a trace that a judge reads, within the settings' bounds."""
    bounds = JudgeRequestSettings(
        prompt_chars_max=settings.prompt_chars_max, persona_chars_max=settings.persona_chars_max, outputs_chars_max=settings.outputs_chars_max
    )
    return extract(trace, bounds)


def parts_of(trace: ProductionTrace, asked: Asked) -> dict[str, str]:
    """Field → text: day, request, persona, documents."""
    return {
        "day": day_of(trace) or NOTHING,
        "request": asked.prompt.text if asked.prompt is not None else NOTHING,
        "persona": asked.persona.text if asked.persona is not None else NOTHING,
        "documents": "\n\n".join(f"{part.place}:\n{part.text}" for part in asked.outputs) or NOTHING,
    }


def whole(parts: Mapping[str, str]) -> str:
    """All parts as one text."""
    titles = {"day": "Day of the record", "request": "Request", "persona": "Persona", "documents": "Documents"}
    return "\n\n".join(f"{title}:\n{parts[name]}" for name, title in titles.items())


def text_of(trace: ProductionTrace, settings: ModeJudgesSettings) -> str:
    """A trace as examples hold it."""
    return whole(parts_of(trace, extracted(trace, settings)))


def fields_of(judge: ModeJudge, parts: Mapping[str, str]) -> dict[str, str]:
    """The fields of a judge's prompt for one trace."""
    known = {
        **parts,
        "trace": whole(parts),
        "examples": judge.shown_examples,
        "question": judge.about.question,
        "description": judge.about.description or NOTHING,
    }
    return {name: known[name] for name in judge.prompt.fields}
