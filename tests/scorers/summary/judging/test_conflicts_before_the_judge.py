from typing import Any

import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, same_words
from tests.scorers.summary.judging.judges import TableJudge, scorer
from touchstone.schemas.result import Scorecard
from touchstone.scorers.reporting.findings import LABEL_BOUND

DOSE = "The patient was given 5 mg of warfarin daily."
WRONG_DOSE = "The patient was given 50 mg of warfarin daily."
COUNT = "The village had 300 houses in spring."
WRONG_COUNT = "The village had 900 houses in spring."
REST = FACTS[2:]
#: A label that only conflicts bound.
LENIENT = {"labels": {"pass_loss_max": 0.99, "review_loss_max": 0.99}}


def datum() -> Any:
    facts = (DOSE, COUNT, *REST)
    return gold(key_facts=facts, summary=" ".join(facts), logical_outline=())


async def card_of(judge: Any, *sentences: str, **document: Any) -> Scorecard:
    return await scorer(judge, TableEngines(same_words), **(LENIENT | document)).score(case(" ".join([*sentences, *REST]), datum=datum()))


def codes(card: Scorecard) -> list[str]:
    return [finding.code for finding in card.findings if finding.code != LABEL_BOUND]


def says(**by_id: Any) -> TableJudge:
    """What is named; of all else the judge says that it is right."""
    return TableJudge(lambda name: by_id.get(name, "supported"))


async def test_without_a_judge_the_conflicts_are_there() -> None:
    card = await card_of(None, DOSE, WRONG_COUNT, support="auto")
    assert (codes(card), card.label) == (["conflict.number"], "Review")
    card = await card_of(None, WRONG_DOSE, COUNT, support="auto")
    assert (codes(card), card.label) == (["conflict.quantity"], "Fail")


async def test_a_conflict_that_the_judge_does_not_see_is_withdrawn_and_the_details_say_so() -> None:
    card = await card_of(says(), DOSE, WRONG_COUNT)
    assert (codes(card), card.label) == ([], "Pass")
    assert card.details["conflicts"] == []
    assert card.details["judge"]["withdrawn"] == [{"rule": "number", "sentence": 1, "clinical": False}]
    assert card.values["precision"] == pytest.approx((9 * 0.9 + 1) / 10)
    assert card.details["facts"]["sentences"][1] == 1


async def test_a_clinical_conflict_is_disputed_and_keeps_the_label_at_review() -> None:
    card = await card_of(says(), WRONG_DOSE, COUNT)
    assert (codes(card), card.label) == (["disputed"], "Review")
    finding, bound = card.findings
    assert (finding.severity, finding.path) == ("major", "generated.sentences[0]")
    assert (bound.code, bound.message) == (LABEL_BOUND, "the label is Review because of the conflicts found; by the loss alone it would be Pass")
    assert card.details["judge"]["withdrawn"] == [{"rule": "quantity", "sentence": 0, "clinical": True}]
    assert card.values["precision"] == pytest.approx((9 * 0.9 + 1) / 10)  # a dispute counts in no loss


async def test_a_conflict_that_the_judge_confirms_stays_as_it_is() -> None:
    alone = await card_of(None, WRONG_DOSE, COUNT, support="auto")
    card = await card_of(says(S1=("contradicted", "F1"), F1=("contradicted", "S1")), WRONG_DOSE, COUNT)
    assert (codes(card), card.label) == (["conflict.quantity"], "Fail")
    assert card.values["precision"] == pytest.approx(alone.values["precision"])
    assert card.details["judge"]["withdrawn"] == []


async def test_a_contradiction_that_only_the_judge_sees_is_a_finding_of_its_own() -> None:
    odd = "Nobody in the village owned a boat."
    alone = await card_of(None, DOSE, COUNT, odd, support="auto")
    assert codes(alone) == ["unsupported"]
    card = await card_of(says(S3=("contradicted", "N2")), DOSE, COUNT, odd)
    assert codes(card) == ["conflict.judge"]
    assert (card.findings[0].severity, card.findings[0].path, card.label) == ("major", "generated.sentences[2]", "Review")
    assert card.details["conflicts"] == [{"rule": "judge", "sentence": 2, "clinical": False}]  # N2 is the fact itself
    assert card.values["precision"] < alone.values["precision"]


async def test_what_the_judge_does_not_find_in_the_gold_is_unsupported_and_no_conflict() -> None:
    card = await card_of(says(S2="absent"), DOSE, WRONG_COUNT)
    assert codes(card) == ["unsupported"]
    assert card.findings[0].path == "generated.sentences[1]"
    assert card.values["precision"] == pytest.approx(9 * 0.9 / 10)


@pytest.mark.parametrize(("evidence", "sentence"), [("S3", 2), ("S99", 1), ("", 1)])
async def test_a_fact_that_is_contradicted_is_a_conflict_at_the_sentence_named_or_else_at_the_nearest(evidence: str, sentence: int) -> None:
    judge = TableJudge(lambda name: ("contradicted", evidence) if name == "F2" else "supported")
    card = await card_of(judge, DOSE, WRONG_COUNT)
    assert card.details["facts"]["support"][1] == 0
    assert [(one["rule"], one["sentence"], one["fact"]) for one in card.details["conflicts"]] == [("judge", sentence, 1)]


async def test_a_fact_counts_again_where_the_sentence_that_seemed_to_state_it_wrongly_is_right() -> None:
    def half(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.7, 0.0) if hypothesis == COUNT and WRONG_COUNT in premise else same_words(premise, hypothesis)

    judge = TableJudge(lambda name: None if name == "F2" else "supported")
    engines = TableEngines(half)
    both = " ".join([DOSE, WRONG_COUNT, *REST])
    card = await scorer(judge, engines, **LENIENT).score(case(both, datum=datum()))
    assert card.details["judge"]["not_answered"] == {"facts": 1, "sentences": 0}
    assert card.details["facts"]["support"][1] == pytest.approx(0.7, abs=1e-4)


async def test_no_cap_of_a_dispute_where_clinical_conflicts_cap_nothing() -> None:
    card = await card_of(says(), WRONG_DOSE, COUNT, conflicts={"clinical_cap": "none"})
    assert (codes(card), card.label) == (["disputed"], "Pass")
