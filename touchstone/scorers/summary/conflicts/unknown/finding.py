"""What is unknown in a whole summary: names, numbers and codes that neither the gold nor its source has.

Asked only where the whole source text is at hand, since a gold leaves out most of what its source names; and of what no other rule has found already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from touchstone.scorers.summary.conflicts.conflict import Conflict
from touchstone.scorers.summary.conflicts.unknown.codes import unknown_codes
from touchstone.scorers.summary.conflicts.unknown.known import Known, known
from touchstone.scorers.summary.conflicts.unknown.names import is_english, is_foreign, unknown_names
from touchstone.scorers.summary.conflicts.unknown.numbers import tries, unknown_numbers

Kind = Literal["unknown_code", "unknown_name", "unknown_number"]
Finder = Callable[[str, Known], list[tuple[int, int]]]
#: In this order: what is part of an unknown code is no number.
KINDS: tuple[Kind, ...] = ("unknown_code", "unknown_name", "unknown_number")


def reads(sentences: Sequence[str], texts: Sequence[str]) -> bool:
    """True if summary and known texts are English: in other languages values, months and places are written otherwise, and names by other rules."""
    return known(texts).is_latin and is_english(sentences) and not is_foreign(texts)


def unknown(sentences: Sequence[str], texts: Sequence[str], already: Sequence[Conflict] = (), kinds: Sequence[Kind] = KINDS) -> list[Conflict]:
    """Conflicts without a unit, one for each unknown place. `texts`: all that is known: facts, narrative, outline, theme, entities, sentences of the source.

    `already`: conflicts found by other rules; words that they name are not found again.
    """
    reading = known(texts)
    finders: dict[Kind, Finder] = {"unknown_code": unknown_codes}
    if reads(sentences, texts):
        finders |= {"unknown_number": partial(unknown_numbers, left=tries(reading)), "unknown_name": unknown_names}
    found: list[Conflict] = []
    for index, sentence in enumerate(sentences):
        taken = [conflict.here for conflict in already if conflict.sentence == index and conflict.here is not None]
        for kind in kinds:
            for here in finders[kind](sentence, reading) if kind in finders else ():
                if not any(here[0] < other[1] and other[0] < here[1] for other in taken):
                    taken.append(here)
                    found.append(Conflict(kind, index, None, here))
    return found
