"""What a result's details say of one summary, by index. Details of another version, or trimmed ones, give less; nothing here raises."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from touchstone.schemas.reading import MarkState
from touchstone.schemas.reports.summary import OMISSIONS
from touchstone.schemas.result import ScoreResult

#: Support from which on a statement counts as present; below the second, as absent. Between them the models are not certain.
PRESENT, ABSENT = 0.5, 0.2
#: So many findings of a case are about conflicts, which come first; the details hold all conflicts, in the same order.
CONFLICTS_SHOWN_MAX: Final = 50
#: Path of a finding on a statement of the gold.
_STATEMENT = re.compile(r"gold\.(\w+)\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Conflict:
    """One conflict. `unit`: `fact`, `gold` or `source`, and `index` in it; `here`, `there`: the words' places in sentence and unit."""

    rule: str
    sentence: int
    unit: str | None
    index: int
    here: tuple[int, int] | None
    there: tuple[int, int] | None
    clinical: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """The details of a result. `support`: of each fact and of each sentence. `windows`: a fact's, or a point's, first sentence and how many."""

    fact_support: Sequence[float] = ()
    sentence_support: Sequence[float] = ()
    fact_windows: Sequence[tuple[int, int]] = ()
    conflicts: Sequence[Conflict] = ()
    entities: Mapping[str, Sequence[int]] = field(default_factory=dict)
    covered: Mapping[int, int] = field(default_factory=dict)
    has_flow: bool = False
    sentences: int | None = None
    gold_sentences: int | None = None
    quoted: Mapping[str, Sequence[str]] = field(default_factory=dict)


def evidence_of(details: Mapping[str, Any]) -> Evidence:
    """The details of a result, as far as they are there."""
    facts, flow, counts = (_mapping(details.get(name)) for name in ("facts", "flow", "sentences"))
    entities, evidence, quoted = (_mapping(details.get(name)) for name in ("entities", "evidence", "quoted"))
    return Evidence(
        fact_support=_numbers(facts.get("support")),
        sentence_support=_numbers(facts.get("sentences")),
        fact_windows=[pair for one in _list(evidence.get("facts")) if (pair := _pair(one)) is not None],
        conflicts=[conflict for one in _list(details.get("conflicts")) if (conflict := _conflict(one)) is not None],
        entities={name: _indices(entities.get(name)) for name in ("matched", "missing", "other_context")},
        covered=dict(zip(_indices(flow.get("covered")), _indices(flow.get("places")), strict=False)),
        has_flow="covered" in flow,
        sentences=_index(counts.get("generated")),
        gold_sentences=_index(counts.get("gold")),
        quoted={name: [text for text in _list(texts) if isinstance(text, str)] for name, texts in quoted.items()},
    )


class Omission(NamedTuple):
    """What the result says of a statement that the summary leaves out: the index of the finding, its code, and what to do."""

    finding: int
    code: str
    advice: str


def omissions_of(result: ScoreResult) -> Mapping[tuple[str, int], Omission]:
    """The omissions of a result by the gold's field and the index in it."""
    found: dict[tuple[str, int], Omission] = {}
    for number, one in enumerate(result.findings):
        if one.code in OMISSIONS and (place := _STATEMENT.fullmatch(one.path)) is not None:
            found[place[1], int(place[2])] = Omission(number, one.code, one.suggestion or "")
    return found


def state_of(support: float) -> MarkState:
    """How a statement with this support is marked, if nothing contradicts it."""
    return "good" if support >= PRESENT else "unsure" if support >= ABSENT else "missing"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _numbers(value: Any) -> list[float]:
    return [float(one) if isinstance(one, int | float) else 0.0 for one in _list(value)]


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _indices(value: Any) -> list[int]:
    return [index for one in _list(value) if (index := _index(one)) is not None]


def _pair(value: Any) -> tuple[int, int] | None:
    pair = _indices(value)
    return (pair[0], pair[1]) if len(pair) == 2 else None


def _conflict(value: Any) -> Conflict | None:
    one = _mapping(value)
    sentence = _index(one.get("sentence"))
    if sentence is None or not isinstance(one.get("rule"), str):
        return None
    unit, index = next(((name, index) for name in ("fact", "gold", "source") if (index := _index(one.get(name))) is not None), (None, 0))
    return Conflict(one["rule"], sentence, unit, index, _pair(one.get("here")), _pair(one.get("there")), one.get("clinical") is True)
