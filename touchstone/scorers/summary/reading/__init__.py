"""How a summary reads beside its loss: components, what is wrong, the gold's facts ticked or open, and the text sentence by sentence. Loads no model."""

from collections.abc import Iterable, Iterator, Mapping

from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.reading import Bar, BarsSection, CaseReading, ChecksSection, Item, Pair, PairsSection, Section
from touchstone.schemas.reports.summary import OMISSIONS
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.reporting.plain_reading import other_checks
from touchstone.scorers.summary.case_names import name_of
from touchstone.scorers.summary.reading import gold
from touchstone.scorers.summary.reading.evidence import CONFLICTS_SHOWN_MAX, Evidence, evidence_of, omissions_of
from touchstone.scorers.summary.reading.sentences import SENTENCE, Sentences, sentences_of, summary_section

_HIGHER = frozenset({"recall", "precision", "coverage", "order", "cosine"})
#: Rounding error of a sum of five products.
_ROUNDING = 1e-6


def reading(case: SummaryCase | None, result: ScoreResult) -> CaseReading:
    """Components, findings, facts, entities, outline, texts. Without the case: the same by numbers."""
    evidence = evidence_of(result.details)
    datum = case.datum if case is not None else None
    written = _written(case, result, evidence)
    narratives = {} if datum is None else {place: gold.narrative_of(datum, evidence, place) for place in ("gold", "source")}
    omitted = omissions_of(result)
    facts = gold.facts_section(evidence, datum, written, omitted)
    entities = gold.entities_section(evidence, datum, written, omitted)
    outline = gold.outline_section(evidence, datum, written, omitted)
    sections: list[Section] = [_components(result)] if result.values else []
    findings = _findings(result, evidence, datum, written, narratives)
    sections += [one for one in (findings, facts, entities, outline) if one.items]
    if not result.values and not facts.items and datum is None and case is not None:
        sections.append(ChecksSection(id="facts", title="Key facts", note=_no_gold(case)))
    if case is not None:
        sections.append(summary_section(written, evidence, result))
    if datum is not None:
        sections += [gold.narrative_section(evidence, narratives[place], place=place) for place in ("gold", "source") if narratives[place].text]
    if case is not None:
        sections.append(_about(case))
    return CaseReading(suite=result.suite, name=_name(result), label=result.label, sections=tuple(sections), has_text=case is not None)


def _written(case: SummaryCase | None, result: ScoreResult, evidence: Evidence) -> Sentences:
    """The text that was scored, in sentences; unsplit where the result says nothing of sentences."""
    if case is None:
        return Sentences("")
    try:
        from touchstone.scorers.summary.hard_fails.generation import Unreadable, read_generation

        text = read_generation(case.generated, case.structured_output_requested).text
    except Unreadable:
        return Sentences(case.generated)
    if not result.values:
        return Sentences(text)
    return sentences_of(text, evidence.sentences)


def _components(result: ScoreResult) -> BarsSection:
    """Every value, the losses with their share of the whole."""
    shares = _shares(result.values)
    bars = tuple(
        Bar(name=name, value=value, better="higher" if name in _HIGHER else "lower", printed=f"{value:.3f}", share=shares.get(name))
        for name, value in result.values.items()
    )
    return BarsSection(id="values", title="Loss and components", bars=bars, note="a loss is better the lower it is")


def _shares(values: Mapping[str, float]) -> dict[str, float]:
    """The share of each component in the loss, if it was weighed by the default weights; a result does not carry its weights."""
    from touchstone.scorers.summary.settings import Weights

    weights = {f"{name}_loss": weight for name, weight in Weights().model_dump().items() if f"{name}_loss" in values}
    whole = sum(weights.values())
    if not whole or "loss" not in values:
        return {}
    loss = sum(values[name] * weight for name, weight in weights.items()) / whole
    return {name: weight / whole for name, weight in weights.items()} if abs(loss - values["loss"]) < _ROUNDING else {}


def _findings(
    result: ScoreResult, evidence: Evidence, datum: GoldStandardDatum | None, written: Sentences, narratives: Mapping[str, Sentences]
) -> ChecksSection:
    """What is wrong, conflicts with the words of both sides, then what failed and was not checked. What is left out is told at the gold's own lists."""
    section = other_checks(result, [place for place, one in enumerate(result.findings) if one.code not in OMISSIONS], "Findings")
    return section.model_copy(update={"items": tuple(_with_words(section.items, evidence, datum, written, narratives))})


def _with_words(
    items: Iterable[Item], evidence: Evidence, datum: GoldStandardDatum | None, written: Sentences, narratives: Mapping[str, Sentences]
) -> Iterator[Item]:
    """The items, those of conflicts with the words that differ. Conflicts are the first findings, in the same order."""
    for item in items:
        number = item.finding
        if number is None or number >= min(len(evidence.conflicts), CONFLICTS_SHOWN_MAX):
            named = SENTENCE.search(item.label)
            yield item if named is None else item.model_copy(update={"label": f"sentence {int(named[1]) + 1}", "to": ("summary",)})
            continue
        conflict = evidence.conflicts[number]
        name, there = gold.there_of(conflict, evidence, datum, narratives)
        place = written.words(conflict.sentence, conflict.here)
        here = written.text[slice(*place)] if place is not None else ""
        text = f"“{here}”; {name} has “{there}”" if here and there else f"{name}: “{there}”" if there else item.text
        to = ("summary", f"fact-{conflict.index}") if conflict.unit == "fact" else ("summary",)
        yield item.model_copy(update={"label": f"sentence {conflict.sentence + 1}", "text": text, "note": _rule(item, conflict.clinical), "to": to})


def _rule(item: Item, clinical: bool) -> str:
    """What kind of finding it is, without words of the case."""
    return f"{item.code}, clinical" if clinical else item.code


def _no_gold(case: SummaryCase) -> str:
    if case.gold_ref is None:
        return "the event has neither a gold nor the name of one"
    return "the event names its gold and does not contain it; nothing was compared (SUMMARY_LOSS_GOLD names a file of golds)"


def _name(result: ScoreResult) -> str:
    return name_of(result.event_id, result.case_id)


def _about(case: SummaryCase) -> PairsSection:
    entry = case.datum.entry if case.datum is not None else None
    named = {
        "gold": entry.source_id if entry is not None else case.gold_ref,
        "category": entry.category if entry is not None else None,
        "model": case.model,
        "generated at": moment.isoformat() if (moment := case.generated_at or case.timestamp) is not None else None,
        "main theme of the gold": case.datum.summary.main_theme if case.datum is not None else None,
    }
    return PairsSection(id="about", title="About", folded=True, pairs=tuple(Pair(key=key, value=value) for key, value in named.items() if value))
