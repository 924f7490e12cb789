import asyncio
import json
import threading
from typing import Any

import pytest
from pydantic import ValidationError

from tests.scorers.safe.cases import case
from touchstone.schemas.result import Scorecard
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import load_suite
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.scorer import THREAD_NS, SafeScorer, estimate_ns
from touchstone.scorers.safe.settings import SafeSettings, resolve
from touchstone.scorers.suite import Suite

QUOTING = SafeScorer(SafeSettings(quote=True))
CANARY = "zanzibar-canary"


def values(*args: Any, scorer: SafeScorer = QUOTING, **kwargs: Any) -> dict[str, float]:
    return scorer.evaluate(case(*args, **kwargs)).values


def test_the_suite_is_found_by_its_entry_point() -> None:
    assert load_suite("safe_v0") is SUITE
    assert isinstance(SUITE, Suite)


def test_cr_looks_in_signals_and_summary() -> None:
    assert values(signals=["fever", "rash", "cough"], found=["Fever"], summary="a RASH")["CR"] == pytest.approx(2 / 3)


def test_cr_does_not_look_in_followup_questions() -> None:
    assert values(signals=["fever"], questions=["fever?"])["CR"] == 0.0


def test_cr_of_an_empty_output_is_zero() -> None:
    assert values(signals=["fever"])["CR"] == 0.0


def test_cr_without_expectations_is_one_even_for_an_empty_output() -> None:
    assert values() == {"CR": 1.0, "AH": 1.0, "AC": 1.0, "composite": 1.0}


def test_a_case_that_expects_nothing_is_said_to_have_been_checked_for_nothing() -> None:
    assert [one.check for one in QUOTING.evaluate(case(summary="a")).not_checked] == ["expectations"]
    for some in (case(signals=["fever"]), case(terms=["fever"]), case(phrases=["fever"])):
        assert QUOTING.evaluate(some).not_checked == ()


def test_ah_looks_in_followup_questions_only() -> None:
    assert values(terms=["policy", "blame"], found=["policy"], summary="blame")["AH"] == 1.0


def test_ah_is_proportional_by_default() -> None:
    assert values(terms=["policy", "blame", "error", "fault"], questions=["Policy?", "whose fault"])["AH"] == 0.5


def test_ah_strict_is_zero_with_any_violation() -> None:
    strict = SafeScorer(resolve({"SAFE_V0_AH_STRICT": "true"}, None))
    assert values(terms=["policy", "blame"], questions=["policy?"], scorer=strict)["AH"] == 0.0


def test_ac_looks_in_the_summary_only() -> None:
    assert values(phrases=["fever", "rash"], found=["fever"], summary="rash")["AC"] == 0.5


def test_items_may_be_objects_with_text() -> None:
    assert values(signals=["fever"], found=[{"text": "Fever 39", "score": 1}], terms=["policy"], questions=[{"text": "policy"}]) == {
        "CR": 1.0,
        "AH": 0.0,
        "AC": 1.0,
        "composite": pytest.approx(2 / 3),
    }


def test_details_report_expected_strings_as_written() -> None:
    card = QUOTING.evaluate(
        case(signals=["FEVER", "Rash"], terms=["Policy"], phrases=["Cough", "pain"], found=["fever"], summary="cough", questions=["policy"])
    )
    assert card.details == {
        "CR": {"found": ["FEVER"], "missing": ["Rash"]},
        "AH": {"violations": ["Policy"]},
        "AC": {"found": ["Cough"], "missing": ["pain"]},
    }


def test_findings_name_the_place_of_each_miss_and_violation() -> None:
    card = QUOTING.evaluate(case(signals=["a", "a", "b"], terms=["policy"], phrases=["c"], found=["A"], questions=["Policy"]))
    assert [(finding.code, finding.path) for finding in card.findings] == [
        ("cr_missing", "expectations.signal_generation.must_find_signals[2]"),
        ("ah_violation", "expectations.followup_questions.forbidden_terms[0]"),
        ("ac_missing", "expectations.event_summary.must_contain_phrases[0]"),
    ]


def test_attributes_are_what_reports_are_grouped_by() -> None:
    assert QUOTING.evaluate(case("T1", batch_size=7)).attributes == {
        "test_id": "T1",
        "archetype": "Process_Auditor",
        "concern_id": "I25",
        "batch_id": "I25_batch_1",
        "batch_size": 7,
    }


def test_an_archetype_has_its_own_weights_and_thresholds() -> None:
    own = {"archetypes": {"Safety_Signal": {"weights": {"CR": 0, "AC": 0}, "thresholds": {"AH": {"pass": 0.5}}}}}
    scorer = SafeScorer(resolve({}, own))
    asked: dict[str, Any] = {"terms": ["policy", "blame"], "questions": ["policy"]}
    special, usual = scorer.evaluate(case(archetype="Safety_Signal", **asked)), scorer.evaluate(case(**asked))
    assert (special.values["composite"], special.label) == (0.5, "Pass")
    assert (usual.values["composite"], usual.label) == (pytest.approx(2.5 / 3), "Review")


def test_no_payload_text_leaves_unless_quoting_is_asked_for() -> None:
    texts = [f"{CANARY} {n}" for n in range(4)]
    asked = case(signals=texts, terms=texts, phrases=texts, found=texts[:2], summary=texts[2], questions=texts[:1], correlation={"run": CANARY})
    assert CANARY not in SafeScorer(SafeSettings()).evaluate(asked).model_dump_json()
    assert CANARY in QUOTING.evaluate(asked).model_dump_json()


def test_references_stand_where_the_strings_would() -> None:
    asked = case(signals=["fever", "rash"], found=["rash"])
    details = SafeScorer(SafeSettings()).evaluate(asked).details
    assert [len(details["CR"][part]) for part in ("found", "missing")] == [1, 1]
    assert all(text.startswith("withheld:") for part in details["CR"].values() for text in part)


def test_quoting_changes_no_score_and_no_fingerprint() -> None:
    asked = case(signals=["fever", "rash"], found=["rash"])
    assert SafeScorer(SafeSettings()).evaluate(asked).values == QUOTING.evaluate(asked).values
    digests = {config_digest(SUITE.fingerprint(SafeSettings(quote=quote))) for quote in (True, False)}
    assert len(digests) == 1


def test_a_blank_expectation_is_refused_without_quoting_the_case() -> None:
    with pytest.raises(ValidationError) as caught:
        case(signals=["fever", " \t", CANARY], summary=CANARY)
    assert caught.value.errors()[0]["type"] == "blank_expectation"
    assert caught.value.errors()[0]["loc"] == ("expectations", "signal_generation", "must_find_signals", 1)
    assert CANARY not in str(caught.value)


async def test_a_usual_case_is_scored_on_the_loop() -> None:
    assert estimate_ns(case(signals=["fever"], found=["x" * 500])) < THREAD_NS
    assert (await QUOTING.score(case())).label == "Pass"


async def test_a_large_case_leaves_the_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    large = case(signals=["fever"] * 3, summary="ä" * 900_000)
    threads: list[int] = []
    evaluate = SafeScorer.evaluate

    def watched(self: SafeScorer, asked: Any) -> Any:
        threads.append(threading.get_ident())
        return evaluate(self, asked)

    monkeypatch.setattr(SafeScorer, "evaluate", watched)
    await QUOTING.score(large)
    assert threads != [threading.get_ident()]


def test_a_usual_case_is_scored_without_suspending() -> None:
    coroutine = QUOTING.score(case())
    with pytest.raises(StopIteration):
        coroutine.send(None)


def test_the_scorecard_is_plain_json() -> None:
    card = asyncio.run(QUOTING.score(case(signals=["fever"])))
    assert json.loads(card.model_dump_json())["details"] == card.details


def test_a_card_that_is_made_without_validation_is_what_validation_would_make() -> None:
    for asked in (case(signals=["fever", "rash"], found=["rash"]), case()):
        card = QUOTING.evaluate(asked)
        again = Scorecard.model_validate(card.model_dump(), strict=True)
        assert again == card
        assert card.__dict__.keys() == set(Scorecard.model_fields)
