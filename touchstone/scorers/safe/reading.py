"""How a SAFE case reads beside its result: each expectation found, missing or violated, and where in signals, questions and summary."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from touchstone.schemas.case import SafeCase
from touchstone.schemas.reading import Bar, BarsSection, CaseReading, ChecksSection, Item, Mark, MarkState, Pair, PairsSection, Section, TextSection
from touchstone.schemas.result import Finding, ScoreResult
from touchstone.scorers.reporting.plain_reading import STATES, other_checks
from touchstone.scorers.safe.matching import prepare
from touchstone.scorers.safe.places import FoldedText, Place

#: Marks of one reading; a case may have a thousand expectations.
MARKS_MAX = 2_000
_QUESTION = re.compile(r"output\.followup_questions\[(\d+)\]$")
_PLACE = re.compile(r"\[(\d+)\]$")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One list of expectations. `met`, `unmet`: states of one that is found in the output, and of one that is not."""

    id: str
    title: str
    noun: str
    code: str
    parts: tuple[str, ...]
    met: MarkState
    unmet: MarkState
    note: str


_KINDS = (
    _Kind("signals-expected", "Expected signals", "signal", "cr_missing", ("signals", "summary"), "good", "missing", "each in the signals or the summary"),
    _Kind("terms-forbidden", "Forbidden terms", "term", "ah_violation", ("questions",), "bad", "good", "none in the follow-up questions"),
    _Kind("phrases-expected", "Expected phrases", "phrase", "ac_missing", ("summary",), "good", "missing", "each in the summary"),
)
_WORDS: Mapping[tuple[str, bool], str] = {
    ("cr_missing", True): "found",
    ("cr_missing", False): "missing",
    ("ah_violation", True): "used",
    ("ah_violation", False): "not used",
    ("ac_missing", True): "found",
    ("ac_missing", False): "missing",
}


@dataclass(slots=True)
class _Part:
    """One part of the output as it is drawn. `items`: its texts, and where each begins in `text`."""

    id: str
    title: str
    text: str
    items: Sequence[tuple[int, str]]
    marks: list[Mark] = field(default_factory=list)
    _folded: list[FoldedText] | None = None

    @classmethod
    def of_list(cls, id: str, title: str, texts: Sequence[str]) -> "_Part":
        """The items of a list, numbered, a line each."""
        lines: list[str] = []
        items: list[tuple[int, str]] = []
        begin = 0
        for number, one in enumerate(texts, 1):
            lines.append(f"{number}. {one}")
            items.append((begin + len(lines[-1]) - len(one), one))
            begin += len(lines[-1]) + 1
        return cls(id, title, "\n".join(lines), items)

    def places_of(self, folded: str) -> Iterator[Place]:
        """Where a folded string occurs in the drawn text."""
        if self._folded is None:
            self._folded = [FoldedText(one) for _, one in self.items]
        for (begin, _), one in zip(self.items, self._folded, strict=True):
            yield from (Place(begin + start, begin + end) for start, end in one.places_of(folded))

    def section(self) -> TextSection:
        """The part as a section."""
        note = "" if self.text else "the output has none"
        return TextSection(id=self.id, title=self.title, text=self.text, marks=tuple(sorted(self.marks, key=lambda mark: mark.start or 0)), note=note)


def reading(case: SafeCase | None, result: ScoreResult) -> CaseReading:
    """Scores, expectations, output; without the case, what the result says of the expectations."""
    shown = set(range(len(result.findings)))
    sections: list[Section] = [_bars(result)]
    if case is None:
        lists = [_from_result(kind, result, shown) for kind in _KINDS]
        sections += [one for one in lists if one.items]
        parts: list[_Part] = []
    else:
        parts = _parts_of(case)
        sections += [_expected(kind, case, result, parts, shown) for kind in _KINDS if _expectations(kind, case)]
        _mark_questions(parts, result, shown)
    rest = other_checks(result, sorted(shown), "Other findings")
    if rest.items:
        sections.append(rest.model_copy(update={"items": tuple(_tied(item, parts, result) for item in rest.items)}))
    sections += [part.section() for part in parts]
    if case is not None:
        sections.append(_about(case))
    return CaseReading(suite=result.suite, name=result.case_id or result.event_id, label=result.label, sections=tuple(sections), has_text=case is not None)


def _bars(result: ScoreResult) -> BarsSection:
    return BarsSection(id="values", title="Scores", bars=tuple(Bar(name=name, value=value, printed=f"{value:.2f}") for name, value in result.values.items()))


def _parts_of(case: SafeCase) -> list[_Part]:
    output = case.output
    return [
        _Part.of_list("signals", "Signals", output.signals),
        _Part.of_list("questions", "Follow-up questions", output.followup_questions),
        _Part("summary", "Summary", output.summary, [(0, output.summary)]),
    ]


def _expectations(kind: _Kind, case: SafeCase) -> tuple[str, ...]:
    expected = case.expectations
    match kind.code:
        case "cr_missing":
            return expected.signal_generation.must_find_signals
        case "ah_violation":
            return expected.followup_questions.forbidden_terms
        case _:
            return expected.event_summary.must_contain_phrases


def _expected(kind: _Kind, case: SafeCase, result: ScoreResult, parts: Sequence[_Part], shown: set[int]) -> ChecksSection:
    """The list of one kind's expectations; places are marked in the parts, and findings that are shown here leave `shown`."""
    findings = _by_place(kind, result)
    items = []
    for expected in prepare(_expectations(kind, case), True):
        finding = findings.get(expected.place)
        # The result decides, so that a reading never contradicts its scores: for a forbidden term a finding means found, for the others missing.
        is_found = (finding is not None) == (kind.code == "ah_violation")
        item_id = f"{kind.noun}-{expected.place}"
        state = kind.met if is_found else kind.unmet
        where = _mark(kind, expected.folded, item_id, state, finding, parts) if is_found else ()
        shown.discard(-1 if finding is None else finding)
        note = _WORDS[kind.code, is_found]
        if is_found:
            note += f" in {' and '.join(where)}" if where else ", place not determined"
        items.append(
            Item(
                id=item_id,
                state=state,
                label=f"{kind.noun} {expected.place + 1}",
                text=expected.shown,
                finding=finding,
                code=kind.code if finding is not None else "",
                note=note,
                to=where,
            )
        )
    order: dict[MarkState, int] = {"bad": 0, "missing": 1}
    return ChecksSection(id=kind.id, title=kind.title, note=kind.note, items=tuple(sorted(items, key=lambda item: order.get(item.state, 2))))


def _mark(kind: _Kind, folded: str, item_id: str, state: MarkState, finding: int | None, parts: Sequence[_Part]) -> tuple[str, ...]:
    """Mark the places of a folded expectation; returns the ids of the parts that have it."""
    found = []
    for part in parts:
        if part.id not in kind.parts:
            continue
        places = list(part.places_of(folded))
        if places:
            found.append(part.id)
        for place in places[: max(0, MARKS_MAX - sum(len(one.marks) for one in parts))]:
            note = f"{kind.noun}: {_WORDS[kind.code, True]}"
            code = kind.code if finding is not None else ""
            part.marks.append(Mark(state=state, start=place.start, end=place.end, finding=finding, code=code, note=note, to=(item_id,)))
    return tuple(found)


def _by_place(kind: _Kind, result: ScoreResult) -> dict[int, int]:
    """Index of an expectation in its list → index of the result's finding on it."""
    return {int(found[1]): index for index, one in enumerate(result.findings) if one.code == kind.code and (found := _PLACE.search(one.path))}


def _from_result(kind: _Kind, result: ScoreResult, shown: set[int]) -> ChecksSection:
    """The expectations that a result names by their place; how many were met, where its details say so."""
    items = []
    for place, finding in _by_place(kind, result).items():
        shown.discard(finding)
        state: MarkState = "bad" if kind.code == "ah_violation" else "missing"
        note = _WORDS[kind.code, kind.code == "ah_violation"]
        items.append(Item(id=f"{kind.noun}-{place}", state=state, label=f"{kind.noun} {place + 1}", finding=finding, code=kind.code, note=note))
    metric = {"cr_missing": "CR", "ac_missing": "AC"}.get(kind.code)
    details = result.details.get(metric) if metric else None
    found = details.get("found") if isinstance(details, dict) else None
    if isinstance(found, list) and found:
        items.append(Item(id=f"{kind.noun}s-found", state="good", label=f"{len(found)} found"))
    return ChecksSection(id=kind.id, title=kind.title, note=kind.note, items=tuple(items))


def _question_of(finding: Finding, parts: Sequence[_Part]) -> tuple[_Part, Place] | None:
    """The follow-up question that a finding is about."""
    written = _QUESTION.search(finding.path)
    part = next((one for one in parts if one.id == "questions"), None)
    if written is None or part is None or int(written[1]) >= len(part.items):
        return None
    begin, text = part.items[int(written[1])]
    return (part, Place(begin, begin + len(text))) if text else None


def _mark_questions(parts: Sequence[_Part], result: ScoreResult, shown: set[int]) -> None:
    """Mark the questions in which a judge found something."""
    for index in sorted(shown):
        finding = result.findings[index]
        if (found := _question_of(finding, parts)) is not None:
            part, place = found
            part.marks.append(
                Mark(state=STATES[finding.severity], start=place.start, end=place.end, finding=index, code=finding.code, to=(f"finding-{index}",))
            )


def _tied(item: Item, parts: Sequence[_Part], result: ScoreResult) -> Item:
    """An item of the other findings, with a link to its question."""
    if item.finding is None or _question_of(result.findings[item.finding], parts) is None:
        return item
    return item.model_copy(update={"to": ("questions",)})


def _about(case: SafeCase) -> PairsSection:
    named = {"test": case.test_id, "archetype": case.archetype, "concern": case.concern_id, "batch": case.batch_id}
    return PairsSection(id="about", title="About", folded=True, pairs=tuple(Pair(key=key, value=value) for key, value in named.items()))
