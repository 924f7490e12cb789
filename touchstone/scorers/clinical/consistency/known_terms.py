"""Which known terms an entry names: how a persona's own words meet the codes and names of a document."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.consistency.codes import TEXT_LENGTH_MAX, words_of
from touchstone.scorers.clinical.consistency.record import Item, Kind
from touchstone.scorers.clinical.curated import cases

_KINDS: Final[dict[Kind, cases.Kind]] = {"condition": "condition", "medication": "medication"}
#: Entries whose terms are looked for.
_NAMED_MAX: Final = 1_000
#: Names of one entry that are looked at.
_LABELS_MAX: Final = 8


def is_product_of(one: Item, other: Item) -> bool:
    """Whether one of two medications is known by its code as an ingredient that the other's name has."""
    kind = _KINDS.get(one.kind)
    return kind == "medication" and (_has_ingredient(one, other) or _has_ingredient(other, one))


def _has_ingredient(product: Item, ingredient: Item) -> bool:
    system = cases.SYSTEM_OF["medication"].key
    codes = [code.code for code in ingredient.codes if code.system == system]
    known = (term for term in cases.terms().values() if term.kind == "medication" and any(term.has_code(code) for code in codes))
    return any(words_of(name) <= words for term in known for name in (term.name, *term.also) for words in product.texts)


def name_terms(items: list[Item]) -> None:
    """Note the terms of the curated table that entries name, by a code of the kind's system or by a name."""
    for item in items[:_NAMED_MAX]:
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
