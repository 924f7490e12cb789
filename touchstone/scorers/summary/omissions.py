"""What a summary leaves out, as findings that name it for the writer: key facts, entities, points of the outline. They cap no label and change no number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from touchstone.schemas.reports.summary import MISSING_ENTITY, MISSING_FACT, UNCOVERED_POINT
from touchstone.schemas.result import Finding
from touchstone.scorers.reporting.words import visible
from touchstone.scorers.summary.components import facts
from touchstone.scorers.summary.reading.evidence import ABSENT

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.weighing import Components

#: So many findings of each kind are listed, which is every key fact; the details hold all.
SHOWN_MAX: Final = 20
#: Characters of a statement that are quoted.
QUOTED_CHARS_MAX: Final = 200
_SAY = "say it, or say it more plainly"


def missing_facts(components: Components) -> list[int]:
    """Key facts that the summary does not state, the least supported first. One that it states wrongly, or in other words that are named, is no omission."""
    wrong = (
        {one.unit.index for one in components.conflicts if one.unit is not None and one.unit.place == "fact"} | components.stated_wrongly | components.altered
    )
    found = [index for index, support in enumerate(components.recalled) if support < ABSENT and index not in wrong]
    return sorted(found, key=lambda index: components.recalled[index])


def uncovered_points(components: Components) -> list[int]:
    """Points of the outline that the summary does not visit, the least supported first."""
    by_window, covered = facts.best(components.outline_support), set(components.covered)
    support = [max(float(borne), components.by_facts.get(index, 0.0)) for index, borne in enumerate(by_window)]
    return sorted((index for index in range(len(support)) if index not in covered), key=lambda index: support[index])


def omission_findings(prepared: Prepared, components: Components, *, quote: bool) -> tuple[Finding, ...]:
    """A minor finding for each, the worst first within its kind: its number in the gold, counted from 1, and what to do; the words only with `quote`."""
    summary = prepared.datum.summary
    absent = [index for index, entity in enumerate(components.entities) if entity.ratio is None]
    elsewhere = [index for index, entity in enumerate(components.entities) if entity.ratio is not None and not entity.matched]
    texts = (summary.key_facts, prepared.entities, summary.logical_outline) if quote else ((), (), ())
    entities = [(index, "entity {} was not found in the summary", "name it") for index in absent]
    entities += [(index, "entity {} is named, but not where the gold names it", "name it where the summary tells of it") for index in elsewhere]
    return (
        *_findings(MISSING_FACT, "key_facts", [(index, "key fact {} was not found in the summary", _SAY) for index in missing_facts(components)], texts[0]),
        *_findings(MISSING_ENTITY, "entity_list", entities, texts[1]),
        *_findings(
            UNCOVERED_POINT, "logical_outline", [(one, "outline point {} was not found in the summary", _SAY) for one in uncovered_points(components)], texts[2]
        ),
    )


def quoted(text: str) -> str:
    """A statement as a finding quotes it: its beginning, in quotation marks, without control characters."""
    shown = visible(text.strip())
    return repr(shown if len(shown) <= QUOTED_CHARS_MAX else f"{shown[:QUOTED_CHARS_MAX].rstrip()}…")


def _findings(code: str, field: str, found: Sequence[tuple[int, str, str]], texts: Sequence[str]) -> Iterator[Finding]:
    """The findings of one kind; a last one counts those beyond the bound. `texts`: empty if nothing may be quoted."""
    for index, words, advice in found[:SHOWN_MAX]:
        message = words.format(index + 1) + (f": {quoted(texts[index])}" if texts else "")
        yield Finding(severity="minor", code=code, path=f"gold.{field}[{index}]", message=message, suggestion=advice)
    if (rest := len(found) - SHOWN_MAX) > 0:
        yield Finding(severity="minor", code=code, path=f"gold.{field}", message=f"and {rest} more; the details list all")
