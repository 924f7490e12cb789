"""The generated summary, sentence by sentence: coloured by support and conflict, and tied to the facts that each one states."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from touchstone.schemas.reading import Mark, MarkState, TextSection
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.summary.conflicts.conflict import ALTERED
from touchstone.scorers.summary.reading.evidence import CONFLICTS_SHOWN_MAX, Conflict, Evidence, state_of

SUMMARY = "summary"
#: Path of a finding on a sentence.
SENTENCE = re.compile(r"generated\.sentences\[(\d+)\]$")
NO_SPLITTER = "sentences are not marked: the extra `summary` (pysbd) is not installed"
#: Sentence of unclear support: not wrong, but nothing of the gold bears it.
_STATES: Mapping[MarkState, MarkState] = {"missing": "unsure"}
#: A longer text is shown without marks; scoring refuses it too.
CHARS_MAX = 200_000


@dataclass(slots=True)
class Sentences:
    """A text in sentences. `spans` is empty if it is not split, and `why` says why."""

    text: str
    spans: Sequence[tuple[int, int]] = ()
    why: str = ""
    #: Sentence → ids of the items that are tied to it.
    ties: dict[int, list[str]] = field(default_factory=dict)

    def at(self, index: int) -> str:
        """The text of a sentence; empty if there is none."""
        return self.text[slice(*self.spans[index])] if index < len(self.spans) else ""

    def words(self, index: int, place: tuple[int, int] | None) -> tuple[int, int] | None:
        """Where words of a sentence are in the text; None if the place does not fit."""
        if place is None or index >= len(self.spans):
            return None
        start, end = self.spans[index]
        begin, stop = start + place[0], start + place[1]
        return (begin, stop) if start <= begin < stop <= end else None

    def tie(self, index: int, item: str) -> None:
        """Tie an item to a sentence."""
        tied = self.ties.setdefault(index, [])
        if item not in tied:
            tied.append(item)


def sentences_of(text: str, count: int | None = None) -> Sentences:
    """The text in sentences, as it was scored. `count`: how many the result has; another number means that its indices do not fit."""
    if find_spec("pysbd") is None:
        return Sentences(text, why=NO_SPLITTER)
    if len(text) > CHARS_MAX:
        return Sentences(text, why="sentences are not marked: the text is too long")
    from touchstone.scorers.summary.sentences import split

    spans = [(span.start, span.end) for span in split(text)]
    if count is not None and count != len(spans):
        return Sentences(text, why=f"sentences are not marked: the result counts {count}, and this text has {len(spans)}")
    return Sentences(text, spans)


def summary_section(written: Sentences, evidence: Evidence, result: ScoreResult) -> TextSection:
    """The generated text with a mark for each sentence; a finding's sentence is wrong or doubtful, whatever supports it."""
    by_sentence: dict[int, list[int]] = {}
    for index, finding in enumerate(result.findings):
        if (named := SENTENCE.search(finding.path)) is not None:
            by_sentence.setdefault(int(named[1]), []).append(index)
    marks: list[Mark] = []
    for index, (start, end) in enumerate(written.spans):
        findings = by_sentence.get(index, [])
        support = evidence.sentence_support[index] if index < len(evidence.sentence_support) else None
        mark = _mark(index, start, end, findings, support, result, tuple(written.ties.get(index, ())))
        if mark is not None:
            words = [(place, number) for number, one in enumerate(evidence.conflicts) if one.sentence == index and (place := written.words(index, one.here))]
            marks += _divided(mark, words, evidence.conflicts, min(len(result.findings), CONFLICTS_SHOWN_MAX))
    note = written.why if written.text else "the summary is empty"
    return TextSection(id=SUMMARY, title="Generated summary", text=written.text, marks=tuple(marks), note=note)


def _mark(index: int, start: int, end: int, findings: Sequence[int], support: float | None, result: ScoreResult, to: tuple[str, ...]) -> Mark | None:
    """The mark of one sentence; None if the result says nothing of it."""
    name = f"sentence {index + 1}"
    if findings:
        first = result.findings[findings[0]]
        state: MarkState = "unsure" if first.severity in {"minor", "info"} else "bad"
        ties = (*(f"finding-{finding}" for finding in findings), *to)
        codes = ", ".join(dict.fromkeys(result.findings[finding].code for finding in findings))
        return Mark(state=state, start=start, end=end, finding=findings[0], code=first.code, note=f"{name}: {codes}", to=ties)
    if support is None:
        return None
    found = state_of(support)
    return Mark(state=_STATES.get(found, found), start=start, end=end, note=f"{name}: support {support:.2f}", to=to)


def _divided(mark: Mark, words: Sequence[tuple[tuple[int, int], int]], conflicts: Sequence[Conflict], findings: int) -> Iterator[Mark]:
    """The mark of a sentence, divided where a finding names words, so that marks never overlap. Altered words may be right."""
    at, end = mark.start or 0, mark.end or 0
    for (start, stop), number in sorted(words):
        if start < at:
            continue
        if start > at:
            yield mark.model_copy(update={"start": at, "end": start})
        finding = number if number < findings else mark.finding
        note = f"{mark.note.partition(':')[0]}: {conflicts[number].rule}"
        state: MarkState = "unsure" if conflicts[number].rule == ALTERED else "bad"
        yield mark.model_copy(update={"start": start, "end": stop, "state": state, "finding": finding, "note": note, "to": (f"finding-{number}", *mark.to)})
        at = stop
    if at < end:
        yield mark.model_copy(update={"start": at, "end": end})
