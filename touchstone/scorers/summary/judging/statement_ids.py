"""A case as the judge sees it, and its answer: statements by id, one a line, so that none can pose as another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from touchstone.scorers.summary.components.rulings import Ruling, Rulings

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.questions import Asked
    from touchstone.scorers.summary.judging.uncertain import Uncertain
    from touchstone.scorers.summary.judging.verdicts import StatementVerdicts

NOTHING: Final = "(none)"
#: Letter of an id → the place of the statement.
PLACES: Final = {"F": "fact", "N": "gold", "T": "source", "S": "sentence"}
_ID: Final = re.compile(r"(?<!\w)([FNTS])([1-9][0-9]{0,4})(?!\w)")
#: Characters of an id ("F12") with the line's other marks.
_LINE_CHARS: Final = 8


def fields_of(parts: Uncertain, prepared: Prepared, asked: Asked, source_chars_max: int) -> dict[str, str]:
    """The fields of the prompt. Ids count from 1; source sentences that are left out keep their numbers."""
    summary = prepared.datum.summary
    return {
        "facts": _lines("F", enumerate(summary.key_facts)),
        "narrative": _lines("N", enumerate(prepared.gold.sentences)),
        "source": _lines("T", _source(parts, prepared, asked, source_chars_max)) or NOTHING,
        "summary": _lines("S", enumerate(prepared.generated.sentences)),
        "asked": ", ".join([f"F{index + 1}" for index in parts.facts] + [f"S{index + 1}" for index in parts.sentences]),
    }


def source_shown(prepared: Prepared, source_chars_max: int) -> bool:
    """True if the source is shown whole."""
    return sum(len(sentence) + _LINE_CHARS for sentence in prepared.source.sentences) <= source_chars_max


def _source(parts: Uncertain, prepared: Prepared, asked: Asked, source_chars_max: int) -> list[tuple[int, str]]:
    """The source's sentences in their order; of a long one those nearest to the sentences that are asked."""
    sentences = list(enumerate(prepared.source.sentences))
    if source_shown(prepared, source_chars_max):
        return sentences
    columns = {unit.index: column for column, unit in enumerate(asked.statements) if unit.place == "source"}
    rows = list(parts.sentences) or list(range(asked.about.shape[0]))
    near = {index: float(asked.about[rows, column].max(initial=-1.0)) for index, column in columns.items()}
    kept, left = [], source_chars_max
    for index in sorted(near, key=lambda index: (-near[index], index)):
        left -= len(sentences[index][1]) + _LINE_CHARS
        if left < 0:
            break
        kept.append(sentences[index])
    return sorted(kept)


def _lines(letter: str, statements: Iterable[tuple[int, str]]) -> str:
    """One statement a line. Line ends inside a statement become blanks; otherwise it could begin a line with a forged id."""
    return "\n".join(f"{letter}{index + 1}: {' '.join(text.split())}" for index, text in statements)


def rulings_of(answer: StatementVerdicts, parts: Uncertain, prepared: Prepared) -> Rulings:
    """The answer by index. Ids that were not asked are ignored."""
    asked = {"F": frozenset(parts.facts), "S": frozenset(parts.sentences)}
    found: dict[str, dict[int, Ruling]] = {"F": {}, "S": {}}
    counts = {
        "F": len(prepared.datum.summary.key_facts),
        "N": len(prepared.gold.sentences),
        "T": len(prepared.source.sentences),
        "S": len(prepared.generated.sentences),
    }
    for one in answer.statements:
        named = _ID.fullmatch(one.id)
        if named is None or (index := int(named[2]) - 1) not in asked.get(named[1], ()):
            continue
        letters = "S" if named[1] == "F" else "FNT"
        found[named[1]][index] = Ruling(one.verdict, _evidence(one.evidence, letters, counts))
    return Rulings({index: found["F"][index] for index in sorted(found["F"])}, {index: found["S"][index] for index in sorted(found["S"])})


def _evidence(text: str, letters: str, counts: Mapping[str, int]) -> tuple[Any, int] | None:
    """The first id in the text that names an existing statement."""
    for letter, digits in _ID.findall(text.upper()):
        if letter in letters and 0 < int(digits) <= counts[letter]:
            return PLACES[letter], int(digits) - 1
    return None
