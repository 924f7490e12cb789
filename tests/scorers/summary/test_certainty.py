"""Labels of summaries of which the model is unsure, and of texts that the gold does not support."""

import numpy as np
import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, scorer
from tests.scorers.summary.judging.judges import TableJudge
from tests.scorers.summary.judging.judges import scorer as judged
from touchstone.schemas.result import Scorecard
from touchstone.scorers.summary.certainty import Certainty
from touchstone.scorers.summary.conflicts.conflict import Conflict, Unit
from touchstone.scorers.summary.conflicts.finding import by_model
from touchstone.scorers.summary.labels import labelled
from touchstone.scorers.summary.settings import Conflicts, SummarySettings

ALL = " ".join(FACTS)


def unsure_of(*facts: str) -> TableEngines:
    """A model that bears every fact that a premise holds, but is unsure of the facts given."""

    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.0, 0.1) if hypothesis.strip(".") not in premise else (0.3, 0.0) if hypothesis in facts else (0.95, 0.0)

    return TableEngines(answer)


def reasons(card: Scorecard) -> list[str]:
    return [finding.message for finding in card.findings if finding.code == "label.bound"]


@pytest.mark.parametrize(("count", "label"), [(0, "Pass"), (5, "Pass"), (6, "Review")])
async def test_a_summary_that_the_model_is_too_unsure_of_is_no_pass_and_says_why(count: int, label: str) -> None:
    card = await scorer(unsure_of(*FACTS[:count]), labels={"pass_loss_max": 0.9, "review_loss_max": 0.9}).score(case(ALL))
    unsure = [finding for finding in card.findings if finding.code == "unsure"]
    assert (card.label, card.details["unsure"]) == (label, {"facts": [*range(count)], "sentences": [*range(count)]})
    assert [finding.severity for finding in unsure] == ["info" if label == "Pass" else "minor"][: bool(count)]
    numbers = ", ".join(str(number + 1) for number in range(count))
    assert all(finding.message.startswith(f"the model is unsure of sentence {numbers} ({count} of 10) and of key fact 1,") for finding in unsure)
    bound = "the label is Review because of sentences that the model is unsure of (6 of 10) and facts that the model is unsure of (6 of 10)"
    assert reasons(card) == [f"{bound}; by the loss alone it would be Pass"][: label != "Pass"]


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ({}, "Pass"),
        ({"pass_fact_min": 0.3}, "Pass"),
        ({"pass_fact_min": 0.31}, "Review"),
        ({"pass_sentence_min": 0.3}, "Pass"),
        ({"pass_sentence_min": 0.31}, "Review"),
    ],
)
async def test_an_owner_may_ask_so_much_support_of_each_statement_of_a_pass(asked: dict[str, float], label: str) -> None:
    card = await scorer(unsure_of(FACTS[0]), labels={"pass_loss_max": 0.9, "review_loss_max": 0.9} | asked).score(case(ALL))
    assert card.label == label
    what = "facts" if "pass_fact_min" in asked else "sentences"
    assert (
        reasons(card)
        == [f"the label is Review because of {what} with less support than a Pass asks of each (1 of 10); by the loss alone it would be Pass"][
            : label != "Pass"
        ]
    )


async def test_what_a_judge_has_decided_is_unsure_no_more() -> None:
    engines = unsure_of(*FACTS[:6])
    asked = TableJudge()
    card = await judged(asked, engines, labels={}).score(case(ALL))
    assert (card.label, card.details["unsure"], len(asked.ids)) == ("Pass", {"facts": [], "sentences": []}, 12)
    some = await judged(TableJudge(lambda name: None if name in {"S1", "F2"} else "supported"), engines, labels={}).score(case(ALL))
    assert some.details["unsure"] == {"facts": [1], "sentences": [0]}
    without = await judged(None, engines, labels={}).score(case(ALL))
    assert (without.label, without.details["unsure"]["facts"]) == ("Review", [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize(("strange", "label"), [(1, "Review"), (5, "Review"), (6, "Fail")])
async def test_sentences_that_nothing_supports_cap_the_label_and_most_of_them_fail_it(strange: int, label: str) -> None:
    added = " ".join(f"Rain fell on day {name} of the regatta." for name in ("one", "two", "three", "four", "five", "six")[:strange])
    card = await scorer(labels={"pass_loss_max": 1, "review_loss_max": 1}).score(case(f"{' '.join(FACTS[:5])} {added}"))
    assert [finding.code for finding in card.findings].count("unsupported") == strange
    assert card.label == label
    assert f"of {5 + strange}" in reasons(card)[0]


async def test_where_nothing_near_is_compared_the_model_is_neither_sure_nor_unsure() -> None:
    card = await scorer(unsure_of(*FACTS), precision="e").score(case(ALL))
    assert card.details["unsure"] == {"facts": [], "sentences": []}


def test_a_label_is_lowered_by_the_worst_reason_and_names_that() -> None:
    settings = SummarySettings()
    unsure = Certainty(10, 10, unsure_facts=(1, 2, 3, 4, 5, 6))
    assert labelled(0.2, [], unsure, settings).label == "Review"
    assert labelled(0.5, [], unsure, settings).because == ()
    wrong = [Conflict("quantity", 0, clinical=True), Conflict("unsupported", 1)]
    assert labelled(0.2, wrong, unsure, settings) == ("Fail", "Pass", ("the conflicts found",))
    assert labelled(0.2, [Conflict("disputed", 0)], unsure, settings).because == ("the conflicts found", "facts that the model is unsure of (6 of 10)")


@pytest.mark.parametrize(("support", "cosine", "found"), [(0.04, 0.9, True), (0.1, 0.9, False), (0.1, 0.4, True), (0.2, 0.4, False)])
def test_a_sentence_far_from_everything_needs_more_support(support: float, cosine: float, found: bool) -> None:
    vector, near = np.asarray([support]), np.asarray([[cosine, 0.1]])
    units = [Unit("fact", 0, "One."), Unit("fact", 1, "Two.")]
    assert bool(by_model(vector, vector, np.zeros((1, 2)), units, near, Conflicts())) is found
