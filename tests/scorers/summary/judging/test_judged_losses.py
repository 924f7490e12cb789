import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case
from tests.scorers.summary.judging.judges import USAGE, TableJudge, scorer

ALL = " ".join(FACTS)


async def test_only_what_is_uncertain_is_asked_and_in_one_call() -> None:
    judge = TableJudge()
    await scorer(judge).score(case(ALL))
    assert len(judge.asked) == 1
    assert judge.ids == ["F2", "F4", "F6", "F8", "F10", "S2", "S4", "S6", "S8", "S10"]


async def test_a_supported_fact_counts_whole_and_an_absent_one_not_at_all() -> None:
    card = await scorer(TableJudge(lambda name: "absent" if name == "F2" else "supported")).score(case(ALL))
    assert card.details["facts"]["support"] == pytest.approx([0.9, 0, 0.9, 1, 0.9, 1, 0.9, 1, 0.9, 1], abs=1e-4)
    assert card.values["recall"] == pytest.approx((5 * 0.9 + 4) / 10)
    assert card.values["precision"] == pytest.approx((5 * 0.9 + 5) / 10)


async def test_a_case_without_anything_uncertain_costs_no_call() -> None:
    judge = TableJudge()
    card = await scorer(judge, TableEngines(lambda premise, hypothesis: (0.95, 0.0))).score(case(ALL))
    assert not judge.asked
    assert (card.details["judge"]["state"], card.details["judge"]["calls"]) == ("certain", 0)
    assert (card.details["judge"]["asked"], card.details["judge"]["certain"]) == ({"facts": 0, "sentences": 0}, {"facts": 10, "sentences": 10})
    assert ([one.check for one in card.not_checked], card.failures) == (["conflicts.unknown"], ())


async def test_a_hard_fail_costs_no_call() -> None:
    judge = TableJudge()
    card = await scorer(judge).score(case("Fact number two holds. This summary covers facts."))
    assert (card.label, card.values, judge.asked) == ("Fail", {"loss": 1.0}, [])
    assert card.details["judge"]["state"] == "hard_fail"


async def test_the_result_says_what_came_from_the_judge_and_what_it_cost() -> None:
    card = await scorer(TableJudge(lambda name: ("absent", "") if name == "S2" else ("supported", "S1" if name[0] == "F" else "N2"))).score(case(ALL))
    told = card.details["judge"]
    assert card.models["judge"] == "judge-1"
    assert card.details["parts"] == {"recall": {"judge": 5, "models": 5}, "precision": {"judge": 5, "models": 5}}
    assert (told["state"], told["calls"], told["cost_usd"], told["tokens_in"], told["cached"]) == ("answered", 1, USAGE.cost_usd, 900, False)
    assert told["certain"] == {"facts": 5, "sentences": 5}
    assert (told["asked"], told["not_asked"], told["not_answered"]) == (
        {"facts": 5, "sentences": 5},
        {"facts": 0, "sentences": 0},
        {"facts": 0, "sentences": 0},
    )
    # of .45 the models' word is "absent": of all five facts and of four sentences the judge says otherwise
    assert told["differ"] == {"facts": 5, "sentences": 4}
    assert told["facts"][0] == {"fact": 1, "verdict": "supported", "models": "absent", "evidence": {"sentence": 0}}
    assert told["sentences"][0] == {"sentence": 1, "verdict": "absent", "models": "absent"}
