"""Which known terms an entry names: how a persona's own words meet the codes and names of a document."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.consistency.codes import TEXT_LENGTH_MAX
from touchstone.scorers.clinical.consistency.record import Item, Kind
from touchstone.scorers.clinical.curated import cases

_KINDS: Final[dict[Kind, cases.Kind]] = {"condition": "condition", "medication": "medication"}
#: Names of one entry that are looked at.
_LABELS_MAX: Final = 8


def name_terms(items: list[Item]) -> None:
    """Note the terms of the curated table that entries name, by a code of the kind's system or by a name."""
    for item in items:
        kind = _KINDS.get(item.kind)
        if kind is None:
            return
        system = cases.SYSTEM_OF[kind].key
        codes = [code.code for code in item.codes if code.system == system]
        item.terms = frozenset(
            name
            for name, term in cases.terms().items()
            if term.kind == kind
            and (any(term.has_code(code) for code in codes) or any(term.in_text(label[:TEXT_LENGTH_MAX]) for label in item.labels[:_LABELS_MAX]))
        )
