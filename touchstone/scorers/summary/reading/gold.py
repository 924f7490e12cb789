"""The gold's side of a summary's reading: facts, entities and outline ticked or open, and the narrative with the words that differ."""

from collections.abc import Mapping, Sequence
from typing import Final

from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.reading import ChecksSection, Item, Mark, MarkState, TextSection
from touchstone.scorers.summary.reading.evidence import ABSENT, Conflict, Evidence, Omission, state_of
from touchstone.scorers.summary.reading.sentences import SUMMARY, Sentences, sentences_of

#: Share of a fact's words that a sentence must have to be shown as its place.
ALIKE = 0.5
Omissions = Mapping[tuple[str, int], Omission]
_ORDER: Final[Mapping[MarkState, int]] = {"bad": 0, "missing": 1, "unsure": 2}


def facts_section(evidence: Evidence, datum: GoldStandardDatum | None, written: Sentences, omitted: Omissions) -> ChecksSection:
    """Each key fact: stated, uncertain, missing or stated wrongly, the worst first; of a missing one, what to do."""
    texts = datum.summary.key_facts if datum is not None else evidence.quoted.get("facts", ())
    wrong: dict[int, list[int]] = {}
    for number, conflict in enumerate(evidence.conflicts):
        if conflict.unit == "fact":
            wrong.setdefault(conflict.index, []).append(number)
    items = []
    for index in range(max(len(evidence.fact_support), len(texts))):
        support = evidence.fact_support[index] if index < len(evidence.fact_support) else None
        state: MarkState = "note" if support is None else state_of(support)
        note = "not compared" if support is None else f"support {support:.2f}"
        where = None if support is None or support < ABSENT else _place_of(index, texts, evidence, written)
        if index in wrong:
            state, where = "bad", evidence.conflicts[wrong[index][0]].sentence
            note += f", contradicted in sentence {where + 1}"
        elif where is not None:
            note += f", sentence {where + 1}"
        elif state == "missing":
            note += ", missing from the summary"
        if where is not None:
            written.tie(where, f"fact-{index}")
        to = (*((SUMMARY,) if where is not None else ()), *(f"finding-{number}" for number in wrong.get(index, ())))
        one = Item(id=f"fact-{index}", state=state, label=f"fact {index + 1}", text=texts[index] if index < len(texts) else "", note=note, to=to)
        items.append(_with_advice(one, omitted.get(("key_facts", index))))
    return ChecksSection(id="facts", title="Key facts", note=_without_gold(texts) or _left_out(items), items=_worst_first(items))


def entities_section(evidence: Evidence, datum: GoldStandardDatum | None, written: Sentences, omitted: Omissions) -> ChecksSection:
    """Each entity of the gold: named, named in another context, or missing; the worst first."""
    texts = tuple(dict.fromkeys(datum.summary.entity_list)) if datum is not None else evidence.quoted.get("entities", ())
    known: tuple[tuple[str, MarkState, str], ...] = (
        ("matched", "good", "named"),
        ("missing", "missing", "not named in the summary"),
        ("other_context", "unsure", "named in another context"),
    )
    items = []
    for name, state, note in known:
        for index in evidence.entities.get(name, ()):
            text = texts[index] if index < len(texts) else ""
            where = None if state == "missing" else _naming(text, written)
            if where is not None:
                written.tie(where, f"entity-{index}")
            place = f", sentence {where + 1}" if where is not None else ""
            to = (SUMMARY,) if where is not None else ()
            one = Item(id=f"entity-{index}", state=state, label=f"entity {index + 1}", text=text, note=note + place, to=to)
            items.append(_with_advice(one, omitted.get(("entity_list", index))))
    return ChecksSection(id="entities", title="Entities", note=_left_out(items), items=_worst_first(items))


def outline_section(evidence: Evidence, datum: GoldStandardDatum | None, written: Sentences, omitted: Omissions) -> ChecksSection:
    """Each point of the outline: those that are open, the least supported first, then those that are visited and in which sentence."""
    texts = datum.summary.logical_outline if datum is not None else evidence.quoted.get("outline", ())
    items = []
    for index in range(len(texts) if texts else max(evidence.covered, default=-1) + 1):
        where = evidence.covered.get(index)
        if where is not None:
            written.tie(where, f"point-{index}")
        state: MarkState = "missing" if where is None else "good"
        note = "not covered" if where is None else f"sentence {where + 1}"
        text = texts[index] if index < len(texts) else ""
        one = Item(id=f"point-{index}", state=state, label=f"point {index + 1}", text=text, note=note, to=() if where is None else (SUMMARY,))
        items.append(_with_advice(one, omitted.get(("logical_outline", index))))
    return ChecksSection(id="outline", title="Outline", note=_left_out(items), items=_worst_first(items))


def narrative_section(evidence: Evidence, narrative: Sentences, *, place: str) -> TextSection:
    """The gold's narrative (`gold`) or its source text (`source`), folded, with what conflicts are about."""
    marks: list[Mark] = []
    taken: set[int] = set()
    for number, conflict in enumerate(evidence.conflicts):
        if conflict.unit != place or conflict.index >= len(narrative.spans) or conflict.index in taken:
            continue
        taken.add(conflict.index)
        start, end = narrative.words(conflict.index, conflict.there) or narrative.spans[conflict.index]
        marks.append(Mark(state="note", start=start, end=end, note=f"the summary differs: {conflict.rule}", to=(f"finding-{number}",)))
    titles = {"gold": "Gold narrative", "source": "Source text"}
    ordered = tuple(sorted(marks, key=lambda mark: mark.start or 0))
    return TextSection(id=place, title=titles[place], text=narrative.text, marks=ordered, note=narrative.why, folded=True)


def narrative_of(datum: GoldStandardDatum, evidence: Evidence, place: str) -> Sentences:
    """The narrative, or the source text, in sentences; not split where no conflict needs it."""
    text = datum.summary.summary if place == "gold" else datum.entry.text
    if any(conflict.unit == place for conflict in evidence.conflicts):
        return sentences_of(text, evidence.gold_sentences if place == "gold" else None)
    return Sentences(text)


def there_of(conflict: Conflict, evidence: Evidence, datum: GoldStandardDatum | None, texts: Mapping[str, Sentences]) -> tuple[str, str]:
    """The name of the statement that a conflict is about, and its words; without the gold no words."""
    names = {
        "fact": f"fact {conflict.index + 1}",
        "gold": f"sentence {conflict.index + 1} of the gold",
        "source": f"sentence {conflict.index + 1} of the source",
    }
    if conflict.unit is None:
        return "", ""
    if conflict.unit == "fact":
        facts = datum.summary.key_facts if datum is not None else evidence.quoted.get("facts", ())
        statement = facts[conflict.index] if conflict.index < len(facts) else ""
    else:
        statement = texts[conflict.unit].at(conflict.index) if conflict.unit in texts else ""
    return names[conflict.unit], statement[slice(*conflict.there)] if conflict.there else statement


def _place_of(index: int, texts: Sequence[str], evidence: Evidence, written: Sentences) -> int | None:
    """The sentence that states a fact: by the evidence of the result, else the one that shares most of its words."""
    if index < len(evidence.fact_windows):
        return evidence.fact_windows[index][0]
    return _nearest(texts[index], written) if index < len(texts) else None


def _nearest(text: str, written: Sentences) -> int | None:
    from touchstone.scorers.summary.lexical import containment

    shares = [containment(written.at(place), text) for place in range(len(written.spans))]
    best = max(shares, default=0.0)
    return shares.index(best) if best >= ALIKE else None


def _naming(text: str, written: Sentences) -> int | None:
    """The first sentence that has the entity as it is written, else the one that shares most of its words."""
    if not text:
        return None
    folded = text.casefold()
    places = (place for place in range(len(written.spans)) if folded in written.at(place).casefold())
    return next(places, None) if folded in written.text.casefold() else _nearest(text, written)


def _with_advice(item: Item, omission: Omission | None) -> Item:
    """The item with the finding that tells of its omission, and with what to do."""
    if omission is None or item.state == "bad":
        return item
    note = f"{item.note}; {omission.advice}" if omission.advice else item.note
    return item.model_copy(update={"finding": omission.finding, "code": omission.code, "note": note})


def _left_out(items: Sequence[Item]) -> str:
    """How many of a list the summary leaves out."""
    count = sum(item.state == "missing" for item in items)
    return f"{count} of {len(items)} missing" if count else ""


def _worst_first(items: Sequence[Item]) -> tuple[Item, ...]:
    """By state; what is missing in the order of the findings, which is that of every report: the least supported first."""
    last = len(items) + max((item.finding for item in items if item.finding is not None), default=0)

    def place(item: Item) -> tuple[int, int]:
        return _ORDER.get(item.state, 3), last if item.state != "missing" or item.finding is None else item.finding

    return tuple(sorted(items, key=place))


def _without_gold(texts: Sequence[str]) -> str:
    return "" if texts else "the event names its gold and does not contain it, so facts are shown by their number"
