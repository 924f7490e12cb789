"""Find conflicts between a summary and its gold (settled point 11): each sentence is compared with the units it is about, by value, by wording and by the
model.

The units are the gold's facts, and the sentences of its narrative and of its source text. A sentence is compared with the units nearest to it by
embedding. What its model says of them counts too: a sentence that its nearest unit contradicts and no unit supports is in conflict; one that nothing near
it supports is unsupported. A conflict is a finding, counts against precision, and caps the label.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from touchstone.scorers.summary.conflicts.altered import altered
from touchstone.scorers.summary.conflicts.conflict import ALTERED, CONTRADICTION, UNSUPPORTED, Conflict, Unit
from touchstone.scorers.summary.conflicts.values import differences as value_differences
from touchstone.scorers.summary.conflicts.wording import differences as wording_differences

if TYPE_CHECKING:
    from touchstone.scorers.summary.conflicts.difference import Difference
    from touchstone.scorers.summary.settings import Conflicts
    from touchstone.scorers.summary.vectors import Matrix, Vector

#: A sentence that some unit supports more than this is not in conflict, even if the nearest one contradicts it.
BORNE_MAX = 0.3
#: A copied sentence with other words that every unit contradicts less than this says something more, and nothing else.
DENIED_MIN = 0.3


def nearest(cosines: Vector, count: int, cosine_min: float) -> list[int]:
    """The units that a sentence is about, nearest first; stable, so that equal cosines keep the same units everywhere."""
    order = np.argsort(-cosines, kind="stable")[:count]
    return [int(index) for index in order if cosines[index] >= cosine_min]


def by_rule(sentences: Sequence[str], units: Sequence[Unit], cosines: Matrix, settings: Conflicts) -> list[Conflict]:
    """What the rules find, once for each rule and place in a sentence; `cosines`: one row per sentence, one column per unit."""
    found: dict[tuple[int, str, tuple[int, int]], Conflict] = {}
    for index, sentence in enumerate(sentences):
        about = nearest(cosines[index], settings.nearest, settings.cosine_min) if units else []
        if not about:
            continue
        # Further units cannot contradict a value, but they can confirm it.
        order = nearest(cosines[index], value_differences.UNITS_MAX, -1.0)
        for difference in _differences(sentence, [units[place].text for place in order], settings, len(about)):
            conflict = Conflict(difference.rule, index, units[order[difference.unit]], difference.here, difference.there, difference.clinical)
            found.setdefault((index, difference.rule, difference.here), conflict)
    return list(found.values())


def _differences(sentence: str, texts: Sequence[str], settings: Conflicts, near: int = 1) -> list[Difference]:
    """Differences that both kinds of rules find in one sentence, compared with the first `near` texts."""
    difference = value_differences.find(sentence, texts, near) if settings.values else []
    return [*difference, *(wording_differences.find(sentence, texts[:near], relations=settings.relations) if settings.wording else [])]


def facts_in_conflict(
    conflicts: Sequence[Conflict], sentences: Sequence[str], facts: Sequence[str], cosines: Matrix, settings: Conflicts
) -> dict[int, set[int]]:
    """Which sentences state which facts wrongly: fact → sentences. `cosines`: one row per sentence, one column per fact.

    A conflict names the nearest unit, often a sentence of the narrative; the facts that say the same are found by asking the rules again.
    """
    wrong: dict[int, set[int]] = {}
    places: dict[int, set[tuple[int, int] | None]] = {}
    for conflict in conflicts:
        places.setdefault(conflict.sentence, set()).add(conflict.here)
        if conflict.unit is not None and conflict.unit.place == "fact":
            wrong.setdefault(conflict.unit.index, set()).add(conflict.sentence)
    for sentence, here in places.items():
        for fact in np.flatnonzero(cosines[sentence] >= settings.cosine_min).tolist():
            if any(difference.here in here for difference in _differences(sentences[sentence], [facts[fact]], settings)):
                wrong.setdefault(fact, set()).add(sentence)
    return wrong


def by_model(support: Vector, entailment: Vector, contradiction: Matrix, units: Sequence[Unit], cosines: Matrix, settings: Conflicts) -> list[Conflict]:
    """Sentences that their nearest unit contradicts and none entails, and those that nothing supports.

    `support`, `entailment`: of each sentence by its best unit; `contradiction`, `cosines`: one row per sentence, one column per unit (0 if not asked).
    """
    found = []
    for index, borne in enumerate(entailment):
        about = nearest(cosines[index], 1, settings.cosine_min) if units else []
        if about and borne <= BORNE_MAX and settings.contradiction_min < 1 and contradiction[index, about[0]] >= settings.contradiction_min:
            found.append(Conflict(CONTRADICTION, index, units[about[0]]))
        elif support[index] < (settings.unsupported_max if is_near(cosines[index], settings) else settings.unsupported_far_max):
            found.append(Conflict(UNSUPPORTED, index))
    return found


def by_wording(
    sentences: Sequence[str], answers: tuple[Vector, Vector], units: Sequence[Unit], cosines: Matrix, settings: Conflicts, already: Collection[int]
) -> list[Conflict]:
    """Copied sentences with other words that no unit entails and some unit may contradict. `answers`: of each sentence the greatest entailment, and the
    greatest contradiction; a sentence in `already` has a finding.
    """
    found = []
    for index, (borne, denied) in enumerate(zip(*answers, strict=True)):
        if index in already or borne >= settings.altered_max or denied < DENIED_MIN or not units:
            continue
        about = nearest(cosines[index], settings.nearest, settings.cosine_min)
        if (one := altered(sentences[index], [units[place].text for place in about])) is not None:
            found.append(Conflict(ALTERED, index, units[about[one.unit]], one.here, one.there))
    return found


def is_near(cosines: Vector, settings: Conflicts) -> bool:
    """True if some unit is about what the sentence is about. A sentence far from all of them is sooner invented than one in other words."""
    return bool(cosines.max(initial=-1.0) >= settings.near_min)


def sentences_of(conflicts: Sequence[Conflict]) -> set[int]:
    """The sentences in conflict; unsupported and altered ones are not."""
    return {conflict.sentence for conflict in conflicts if conflict.is_conflict}
