import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, same_words, scorer
from touchstone.schemas.result import Scorecard
from touchstone.scorers.summary.conflicts.conflict import Conflict, Unit, units_of
from touchstone.scorers.summary.labels import capped
from touchstone.scorers.summary.settings import Conflicts

NARRATIVE = (
    "Ada Brandt was admitted on 3 March. She was given apixaban 5 mg twice daily for a clot in the left leg. "
    "The committee approved the plan by nine votes to four. The bridge cost $1.2 million."
)
GOLD = gold(summary=NARRATIVE, key_facts=(*NARRATIVE.split(". ")[:3], "The bridge cost $1.2 million.", *FACTS[:6]))


async def score(text: str, **document: object) -> Scorecard:
    """A text against the gold above, with a model that knows the same words only."""
    return await scorer(TableEngines(same_words), **document).score(case(text, datum=GOLD))


def codes(card: Scorecard) -> set[str]:
    return {finding.code for finding in card.findings if finding.code.startswith("conflict.")}


async def test_a_copy_of_the_narrative_has_no_conflict() -> None:
    assert codes(await score(NARRATIVE)) == set()


@pytest.mark.parametrize(
    ("there", "here", "code"),
    [
        ("5 mg", "50 mg", "conflict.quantity"),
        ("3 March", "13 March", "conflict.date"),
        ("nine votes to four", "eight votes to four", "conflict.number"),
        ("$1.2 million", "$2.1 million", "conflict.money"),
        ("approved", "rejected", "conflict.antonym"),
        ("left leg", "right leg", "conflict.laterality"),
    ],
)
async def test_one_altered_word_is_a_finding_with_its_sentence_and_no_text(there: str, here: str, code: str) -> None:
    assert there in NARRATIVE
    card = await score(NARRATIVE.replace(there, here))
    (finding,) = [finding for finding in card.findings if finding.code == code]
    sentence = next(index for index, text in enumerate(NARRATIVE.split(". ")) if there in text)
    assert finding.path == f"generated.sentences[{sentence}]"
    assert here not in card.model_dump_json()
    assert here in (await score(NARRATIVE.replace(there, here), quote=True)).model_dump_json()


async def test_another_way_of_writing_a_value_is_no_conflict() -> None:
    text = NARRATIVE.replace("3 March", "March 3rd").replace("5 mg twice daily", "5 mg two times a day").replace("nine votes to four", "9 to 4")
    assert codes(await score(text.replace("$1.2 million", "1,200,000 dollars"))) == set()


async def test_a_conflict_costs_more_than_its_share_of_the_sentences_and_its_fact_is_not_recalled() -> None:
    good, wrong = await score(NARRATIVE), await score(NARRATIVE.replace("$1.2 million", "$2.1 million"))
    assert wrong.values["precision"] < good.values["precision"] * 0.75 * 0.75
    with_words = await score(NARRATIVE.replace("$1.2 million", "$2.1 million"), support="nli+lexical")
    assert with_words.details["facts"]["support"][3] == 0


async def test_a_conflict_caps_the_label_and_a_clinical_one_fails() -> None:
    lenient = {"labels": {"pass_loss_max": 1.0, "review_loss_max": 1.0}}
    assert (await score(NARRATIVE, **lenient)).label == "Pass"
    assert (await score(NARRATIVE.replace("nine votes", "eight votes"), **lenient)).label == "Review"
    assert (await score(NARRATIVE.replace("5 mg", "50 mg"), **lenient)).label == "Fail"
    off = {"conflicts": {"cap": "none", "clinical_cap": "none"}}
    assert (await score(NARRATIVE.replace("5 mg", "50 mg"), **lenient, **off)).label == "Pass"


@pytest.mark.parametrize("sizes", [[2], [3, 5], [4]])
async def test_sentences_are_compared_with_single_statements_whatever_sizes_windows_have(sizes: list[int]) -> None:
    other = GOLD.model_copy(update={"summary": GOLD.summary.model_copy(update={"key_facts": FACTS})})
    card = await scorer(TableEngines(same_words), windows=sizes, evidence="ids").score(case(NARRATIVE.replace("5 mg", "50 mg"), datum=other))
    assert codes(card) == {"conflict.quantity"}
    assert len(card.details["evidence"]["sentences"]) == 4


async def test_the_tokens_of_a_sentence_in_conflict_bring_a_text_no_nearer_to_its_target() -> None:
    wrong = NARRATIVE.split(". ")[1].replace("5 mg", "50 mg") + "."
    # The model takes the wrong sentence for borne: only the rule tells.
    engines = TableEngines(lambda premise, hypothesis: (0.9, 0.0) if "50 mg" in hypothesis else same_words(premise, hypothesis))
    once = await scorer(engines).score(case(wrong, datum=GOLD))
    twice = await scorer(engines).score(case(f"{wrong} {wrong}", datum=GOLD))
    assert codes(once) == codes(twice) == {"conflict.quantity"}
    assert twice.values["length_loss"] == once.values["length_loss"]


async def test_the_loss_stays_by_the_formula_whatever_caps_the_label() -> None:
    text = NARRATIVE.replace("nine votes", "eight votes")
    assert (await score(text)).values == (await score(text, conflicts={"cap": "Fail"})).values


async def test_what_the_source_says_is_not_held_against_a_summary() -> None:
    said = "The surgeon was Ivo Lindqvist."
    entry = GOLD.entry.model_copy(update={"text": f"{NARRATIVE} {said}"})
    with_source = GOLD.model_copy(update={"entry": entry})
    card = await scorer(TableEngines(same_words)).score(case(f"{NARRATIVE} {said}", datum=with_source))
    without = await scorer(TableEngines(same_words), source=False).score(case(f"{NARRATIVE} {said}", datum=with_source))
    assert [finding.code for finding in card.findings if finding.path.startswith("generated")] == []
    assert [finding.code for finding in without.findings if finding.path.startswith("generated")] == ["unsupported"]
    assert card.values["precision"] > without.values["precision"]


async def test_a_source_beyond_its_bound_is_named() -> None:
    card = await scorer(TableEngines(same_words), limits={"source_chars_max": 10}).score(case(NARRATIVE, datum=GOLD))
    assert "precision.source" in {item.check for item in card.not_checked}


def test_a_text_that_stands_in_several_places_is_one_unit() -> None:
    assert units_of(["A."], ["A.", "B."], ["B.", "C."]) == [Unit("fact", 0, "A."), Unit("gold", 1, "B."), Unit("source", 1, "C.")]


def test_caps_only_lower_a_label() -> None:
    caps = Conflicts()
    number, dose, unsupported = Conflict("number", 0), Conflict("quantity", 0, clinical=True), Conflict("unsupported", 0)
    assert [capped(label, [number], caps) for label in ("Pass", "Review", "Fail")] == ["Review", "Review", "Fail"]  # type: ignore[arg-type]
    assert capped("Pass", [number, dose], caps) == "Fail"
    assert capped("Pass", [dose], Conflicts(clinical_cap="none")) == capped("Pass", [dose], Conflicts(clinical_cap="Review")) == "Review"
    assert capped("Pass", [dose], Conflicts(cap="none")) == capped("Pass", [dose], Conflicts(cap="Fail", clinical_cap="none")) == "Fail"
    assert capped("Pass", [unsupported], caps) == "Review"
    assert capped("Pass", [unsupported], Conflicts(unsupported_cap="none")) == "Pass"
