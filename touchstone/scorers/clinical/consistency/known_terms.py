"""The terms of the curated table that entries name, so that a persona's words match the codes and names of a document."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.consistency.record import Item, Kind
from touchstone.scorers.clinical.consistency.wording import TEXT_LENGTH_MAX, words_of
from touchstone.scorers.clinical.curated import cases

_KINDS: Final[dict[Kind, cases.Kind]] = {"condition": "condition", "medication": "medication"}
#: Entries of one kind whose terms are searched.
_NAMED_MAX: Final = 1_000
#: Names of one entry that are searched.
_LABELS_MAX: Final = 8


def is_product_of(one: Item, other: Item) -> bool:
    """True if one of two medications is, by its code, an ingredient in the other's name."""
    kind = _KINDS.get(one.kind)
    return kind == "medication" and (_has_ingredient(one, other) or _has_ingredient(other, one))


def _has_ingredient(product: Item, ingredient: Item) -> bool:
    system = cases.SYSTEM_OF["medication"].key
    codes = [code.code for code in ingredient.codes if code.system == system]
    known = (term for term in cases.terms().values() if term.kind == "medication" and any(term.has_code(code) for code in codes))
    return any(words_of(name) <= words for term in known for name in (term.name, *term.also) for words in product.texts)


def name_terms(items: list[Item]) -> None:
    """Set each entry's `terms`: those that it names by a code of the kind's system or by a name."""
    for item in items[:_NAMED_MAX]:
        kind = _KINDS.get(item.kind)
        if kind is None:
            return
        system = cases.SYSTEM_OF[kind].key
        codes = [code.code for code in item.codes if code.system == system]
        labels = {cases.folded_text(label[:TEXT_LENGTH_MAX]) for label in item.labels[:_LABELS_MAX]}
        item.terms = frozenset(
            name
            for name, term in cases.terms().items()
            if term.kind == kind and (any(term.has_code(code) for code in codes) or any(term.in_folded(label) for label in labels))
        )
