"""A trace, or what a later stage was handed of it, beside its result: prompt, scores, findings, chart, documents with each finding at its place."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.schemas.case import Case
from touchstone.schemas.conformance import ConformanceRequest
from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.reading import Bar, BarsSection, CaseReading, ChecksSection, CodeSection, Item, Mark, MarkState, Section, TextSection
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.trace import CLINICAL_FORMATS, ClinicalFormat, ProductionTrace
from touchstone.scorers.clinical.reading.chart import chart
from touchstone.scorers.clinical.reading.described import described, under
from touchstone.scorers.clinical.reading.displayed import Displayed, displayed, whole
from touchstone.scorers.clinical.reading.locating import About, locate
from touchstone.scorers.reporting.plain_reading import finding_checks

#: Documents, and characters of all documents, that are drawn.
DOCUMENTS_MAX: Final = 100
ALL_CHARS_MAX: Final = 32_000_000
_TITLES: Final[Mapping[ClinicalFormat, str]] = {"fhir": "FHIR", "hl7v2": "HL7 v2", "ccda": "C-CDA"}
_WITHHELD: Final = "withheld:"
#: The place in the persona that a document contradicts, in the message of a finding.
_OTHER_SIDE: Final = re.compile(r"\bpersona/([\w.\[\]]+)")
#: The part of a judge's place that names a part of the trace; the rest may be in the judge's own words.
_PART: Final = re.compile(r"(?:prompt|persona|trace|outputs\.\w+(?:\[\d+\])?)(?!\w)")
_ORDER: Final[tuple[MarkState, ...]] = ("bad", "missing", "unsure", "note", "good")
#: Scores 0–100 from which a value passes, and from which it is only a warning (specification, Thresholds).
_PASS, _WARN = 80.0, 60.0


@dataclass(slots=True)
class _Parts:
    """What is at hand of a trace. `documents`: place, format and content. `note`: what is not shown of them."""

    prompt: str | None = None
    persona: Mapping[str, Any] | None = None
    documents: list[tuple[str, ClinicalFormat, str | bytes | dict[str, Any]]] = field(default_factory=list)
    note: str = ""


def read_case(case: Case | None, result: ScoreResult, name: str) -> CaseReading:
    """How a clinical case reads beside its result. Never raises for what the case holds."""
    parts = _parts(case)
    documents, places = _documents(parts, result)
    chart_sections = _chart(parts, result)
    for section in chart_sections:
        for row in getattr(section, "rows", ()):
            if row.finding is not None and row.finding not in places:
                places[row.finding] = (row.id, "in the persona")
    sections: list[Section] = []
    if parts.prompt:
        sections.append(TextSection(id="prompt", title="Prompt", text=whole(parts.prompt)))
    ids = {section.id for section in (*sections, *chart_sections, *documents)}
    sections += [_scores(result), *_reasons(result), _findings(result, places, ids, has_case=case is not None), *chart_sections, *documents]
    return CaseReading(suite=result.suite, name=name, label=result.label, sections=tuple(sections), has_text=case is not None)


def _parts(case: Case | None) -> _Parts:
    match case:
        case ProductionTrace():
            parts = _Parts(case.prompt, case.persona)
            for form in CLINICAL_FORMATS:
                output = case.outputs.of(form)
                documents = output.documents if output is not None else ()
                places = [f"outputs.{form}" if len(documents) == 1 else f"outputs.{form}[{number}]" for number in range(len(documents))]
                parts.documents += [(place, form, content) for place, content in zip(places, documents, strict=True)]
            return parts
        case JudgeRequest():
            asked = case.asked
            parts = _Parts(asked.prompt.text if asked.prompt else None, _object(asked.persona.text) if asked.persona else None)
            for extract in asked.outputs:
                parts.documents += [(extract.place, one, extract.text) for one in CLINICAL_FORMATS if extract.place.startswith(f"outputs.{one}")]
            parts.note = "as the judge was shown it"
            return parts
        case ConformanceRequest():
            return _Parts(documents=[(one.place, one.format, one.content) for one in case.documents if one.content is not None])
        case _:
            return _Parts()


def _object(text: str) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):  # a persona that was cut is not shown as a chart
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None


def _documents(parts: _Parts, result: ScoreResult) -> tuple[list[CodeSection], dict[int, tuple[str, str]]]:
    """The documents as sections, and the place of each finding: index → id of the section, and the place in words."""
    sections: list[CodeSection] = []
    places: dict[int, tuple[str, str]] = {}
    chars = 0
    counts: dict[ClinicalFormat, int] = {}
    for place, form, content in parts.documents[:DOCUMENTS_MAX]:
        counts[form] = counts.get(form, 0) + 1
        name = _id_of(place)
        document = displayed(content, form) if chars < ALL_CHARS_MAX else Displayed("", "text", "not shown: the documents before it are too long")
        chars += len(document.text)
        about = [About(index, finding, inner, f"finding-{index}") for index, finding, inner in under(result.findings, place)]
        marks: list[Mark] = []
        for one, located in zip(about, locate(document, about), strict=True):
            words = f"{_TITLES[form]}: {located.words}"
            places[one.number] = name, words
            if located.mark is not None:
                marks.append(located.mark)
        marks.sort(key=lambda mark: (mark.start or 0, mark.end or 0))
        title = _TITLES[form] if len(parts.documents) == 1 or place == f"outputs.{form}" else f"{_TITLES[form]} {counts[form]}"
        note = "; ".join(part for part in (parts.note, document.note) if part)
        sections.append(CodeSection(id=name, title=title, note=note, folded=True, format=document.format, text=document.text, marks=tuple(marks)))
    return sections, places


def _id_of(place: str) -> str:
    """The id of a document's section: `document-fhir`, or `document-fhir-2` for the third of several."""
    return place.replace("outputs.", "document-").replace("[", "-").replace("]", "")


def _chart(parts: _Parts, result: ScoreResult) -> list[Section]:
    """The patient's chart, from the persona or else from the documents."""
    of_persona = [(index, inner, finding) for index, finding, inner in under(result.findings, "persona")]
    for index, finding in enumerate(result.findings):
        other = _OTHER_SIDE.search(finding.message) if finding.code.startswith("consistency.") else None
        if other is not None:
            of_persona.append((index, other[1], finding))
    one = described(parts.documents, result.findings)
    if parts.persona:
        return chart(parts.persona, [*of_persona, *one.findings], added=one.persona, added_note=f"not in the persona: read from {one.at}")
    return chart(one.persona, one.findings, f"the trace has no persona: read from {one.at}") if one.persona else []


def _scores(result: ScoreResult) -> BarsSection:
    """The dimensions as bars with their weights; the judge's ratings among them."""
    weights = result.details.get("weights")
    bars = []
    for name, value in result.values.items():
        share = weights.get(name.removeprefix("clinical_")) if isinstance(weights, dict) and name.startswith("clinical_") else None
        state: MarkState = "good" if value >= _PASS else "unsure" if value >= _WARN else "bad"
        bars.append(Bar(name=name, value=value, high=100.0, printed=f"{value:.1f}", share=share if isinstance(share, float) else None, state=state))
    bars += [Bar(name=name, value=None, high=100.0, printed="missing") for name in result.components_missing if name not in result.values]
    return BarsSection(id="values", title="Scores", bars=tuple(bars))


def _reasons(result: ScoreResult) -> list[ChecksSection]:
    """The judge's rating of each dimension and its reason, where the result has them."""
    dimensions = result.details.get("dimensions")
    items = []
    for name, one in dimensions.items() if isinstance(dimensions, dict) else ():
        score, words = (one.get("score"), one.get("rationale")) if isinstance(one, dict) else (None, None)
        state: MarkState = "note" if not isinstance(score, int | float) else "good" if score >= 4 else "unsure" if score == 3 else "bad"
        shown = words if isinstance(words, str) and not words.startswith(_WITHHELD) else ""
        note = f"rated {score:g} of 5" if isinstance(score, int | float) else "not rated"
        note += "" if shown or not words else "; the reason is withheld: quoting is off"
        items.append(Item(id=f"dimension-{name}", state=state, label=str(name).replace("_", " "), text=whole(shown), note=note))
    return [ChecksSection(id="judge", title="The judge's reasons", items=tuple(items))] if items else []


def _findings(result: ScoreResult, places: Mapping[int, tuple[str, str]], ids: Collection[str], *, has_case: bool) -> ChecksSection:
    """The findings, each with its line and column, or why it has none."""
    section = finding_checks(result)
    items = []
    for item in section.items:
        if item.finding is None or not has_case:
            items.append(item)
            continue
        finding = result.findings[item.finding]
        if finding.code.startswith("coherence."):
            part = _PART.match(finding.path)
            label = part[0] if part is not None else "trace"
            text = item.text if finding.path == label else f"{item.text} ({finding.path})"
            items.append(item.model_copy(update={"label": label, "text": whole(text), "to": _parts_named(label, ids)}))
            continue
        target, words = places.get(item.finding, ("", "about the scores" if finding.path == "overall" else "about a part that is not at hand"))
        items.append(item.model_copy(update={"note": words, "to": (target,) if target else ()}))
    # What is wrong first, and what only deserves a look last; in the result they are in the order of the documents.
    items.sort(key=lambda item: _ORDER.index(item.state) if item.finding is not None else len(_ORDER))
    return section.model_copy(update={"items": tuple(items)})


def _parts_named(part: str, ids: Collection[str]) -> tuple[str, ...]:
    """The section of a part of the trace, if the reading has it."""
    name = "patient" if part == "persona" else _id_of(part)
    return (name,) if name in ids else ()
