import pytest

from tests.scorers.clinical.judging.judges import answer, request
from touchstone.schemas.result import Failure
from touchstone.scorers.clinical.judging.scorecard import Unjudged, compose
from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS, CoherenceVerdict

CANARY = "CANARY-7f3a"


def test_the_example_of_the_specification_is_reproduced() -> None:
    # Format 100, Terminology 100, Clinical 64 → Overall 82: 64 of five whole ratings is 3.56 on average.
    scores = {
        "medication_condition_alignment": 3,
        "lab_value_plausibility": 3,
        "narrative_coherence": 4,
        "temporal_consistency": 4,
        "demographic_appropriateness": 4,
    }
    card = compose(request(format=100.0, terminology=100.0), answer(scores), quote=False)
    assert card.values["clinical"] == pytest.approx(0.25 * 50 + 0.20 * 50 + 0.25 * 75 + 0.15 * 75 + 0.15 * 75)
    assert card.values["overall"] == pytest.approx(0.25 * 100 + 0.25 * 100 + 0.5 * card.values["clinical"])
    assert round(card.values["clinical"]) == 64
    assert (round(card.values["overall"]), card.label, card.components_missing) == (82, "Pass", ())


@pytest.mark.parametrize(("score", "clinical"), [(1, 0.0), (2, 25.0), (3, 50.0), (4, 75.0), (5, 100.0)])
def test_a_score_of_1_to_5_becomes_0_to_100(score: int, clinical: float) -> None:
    card = compose(request(format=100.0), answer(score), quote=False)
    assert card.values["clinical"] == clinical
    assert {card.values[f"clinical_{name}"] for name in DIMENSIONS} == {clinical}


@pytest.mark.parametrize(("form", "label"), [(100.0, "Pass"), (60.0, "Pass"), (59.9, "Warn"), (20.0, "Warn"), (19.9, "Fail"), (0.0, "Fail")])
def test_the_label_changes_exactly_at_80_and_60(form: float, label: str) -> None:
    # With Format as Terminology and Clinical at 100, Overall is half of Format and 50.
    assert compose(request(format=form, terminology=form), answer(5), quote=False).label == label


def test_a_missing_terminology_hands_its_weight_to_the_others() -> None:
    card = compose(request(format=90.0), answer(3), quote=False)
    assert card.values["overall"] == pytest.approx((0.25 * 90 + 0.5 * 50) / 0.75)
    assert card.components_missing == ("terminology",)


def test_a_dimension_without_a_score_hands_its_weight_to_the_others_and_is_named() -> None:
    scores: dict[str, int | None] = dict.fromkeys(DIMENSIONS, 3) | {"lab_value_plausibility": None, "temporal_consistency": 5}
    card = compose(request(format=100.0, terminology=100.0), answer(scores), quote=False)
    assert card.values["clinical"] == pytest.approx((0.25 * 50 + 0.25 * 50 + 0.15 * 100 + 0.15 * 50) / 0.8)
    assert "clinical_lab_value_plausibility" not in card.values
    assert [skipped.check for skipped in card.not_checked] == ["coherence.lab_value_plausibility"]
    assert card.details["weights"]["narrative_coherence"] == pytest.approx(0.25 / 0.8)


def test_a_judge_that_scores_nothing_is_missing_and_no_zero() -> None:
    card = compose(request(format=90.0, terminology=80.0), answer(dict.fromkeys(DIMENSIONS)), quote=False)
    assert card.values == {"overall": 79.9, "format": 90.0, "terminology": 80.0}
    assert card.details["overall_weighted"] == 85.0
    assert card.components_missing == ("clinical",)
    assert card.failures == (Failure(component="clinical", kind="judge", code="no_dimension"),)
    assert card.label == "Warn"


def test_without_a_judge_the_validators_scores_stand_and_clinical_is_named_as_missing() -> None:
    card = compose(request("Warn", "Warn", overall=79.9, format=90.0, terminology=80.0), Unjudged("no_judge", "no judge"), quote=False)
    assert (card.values["overall"], card.label, card.components_missing) == (79.9, "Warn", ("clinical",))
    assert card.details["parts"] == {"format": "validators", "terminology": "validators"}


def test_a_judge_alone_is_no_verdict_on_what_nobody_validated() -> None:
    card = compose(request("unscored", "unscored"), answer(5), quote=False)
    assert (card.label, "overall" in card.values, card.values["clinical"]) == ("unscored", False, 100.0)


def test_an_invalid_document_keeps_the_trace_from_passing_whatever_the_judge_says() -> None:
    assert compose(request("Warn", "Warn", format=98.0, terminology=100.0), answer(5), quote=False).label == "Warn"


@pytest.mark.parametrize(
    ("label", "label_max", "scores", "stopped", "code"),
    [
        ("Fail", "Fail", {"format": 0.0}, True, "documents.unreadable"),
        ("Fail", "Fail", {"format": 0.0}, False, "documents.unreadable"),
        ("Warn", "Warn", {"format": 95.0, "terminology": 95.0}, True, "documents.invalid"),
        ("unscored", "unscored", {}, True, "documents.not_validated"),
        ("Fail", "Pass", {"format": 40.0, "terminology": 30.0}, True, "scores.low"),
        ("Warn", "Pass", {"format": 70.0, "terminology": 70.0}, True, "scores.low"),
    ],
)
def test_a_reader_sees_why_a_trace_without_findings_did_not_pass(label: str, label_max: str, scores: dict[str, float], stopped: bool, code: str) -> None:
    judged = Unjudged("unreadable", "not asked") if stopped else answer(5)
    card = compose(request(label, label_max, **scores), judged, quote=False)
    explained = [one for one in card.findings if one.code == code]
    assert card.label == label
    assert [one.severity == "info" for one in explained] == [label == "unscored"]
    assert "clinical" in (explained[0].suggestion or "")


def test_low_ratings_without_a_finding_are_named_the_lowest_first() -> None:
    scores: dict[str, int | None] = {**dict.fromkeys(DIMENSIONS, 1), "narrative_coherence": 2, "temporal_consistency": 5}
    card = compose(request(format=70.0, terminology=70.0), answer(scores), quote=False)
    (found,) = card.findings
    assert (card.label, found.code, found.severity, found.path) == ("Fail", "scores.low", "major", "overall")
    assert "Format 70, Terminology 70, Clinical 21" in found.message
    assert found.message.endswith("demographic_appropriateness 1, narrative_coherence 2")
    assert compose(request(format=100.0, terminology=100.0), answer(4), quote=False).findings == ()


def test_a_critical_finding_of_the_judge_keeps_the_trace_from_passing() -> None:
    found = {"medication_condition_alignment": [{"severity": "critical", "what": "penicillin despite the allergy", "where": "persona.medications"}]}
    card = compose(request(format=100.0, terminology=100.0), answer(5, found), quote=False)
    assert (card.values["overall"], card.label, card.details["overall_weighted"]) == (79.9, "Warn", 100.0)
    assert card.findings[-1].message.endswith("because the judge found something critical; the weighted mean is 100")


def test_a_critical_finding_counts_after_any_number_of_others() -> None:
    written = [{"severity": "minor", "what": f"{number}", "where": ""} for number in range(30)]
    found = {"narrative_coherence": [*written[:25], {"severity": "critical", "what": "worst", "where": ""}, *written[25:]]}
    card = compose(request(format=100.0, terminology=100.0), answer(5, found), quote=True)
    assert (card.label, len([one for one in card.findings if one.code == "coherence.narrative_coherence"])) == ("Warn", 20)
    assert [one.message for one in card.findings][:20] == [*map(str, range(19)), "worst"]


def test_the_result_says_which_part_comes_from_where_and_what_the_judge_cost() -> None:
    card = compose(request(format=100.0, terminology=100.0), answer(), quote=False)
    assert card.details["parts"] == {"format": "validators", "terminology": "validators", "clinical": "judge"}
    told = card.details["judge"]
    assert (told["tokens_in"], told["tokens_out"], told["cost_usd"], told["calls"], told["calls_wasted"]) == (1_200, 300, 0.0004, 2, 1)
    assert card.models == {"judge": "gpt-test-1"}


def judged_with_words(quote: bool) -> str:
    words = {"severity": "Major", "what": f"{CANARY} is 8 years old", "where": f"outputs.fhir[3]/{CANARY}.gender"}
    judged = answer(4, {"demographic_appropriateness": [words]})
    given = judged.verdict.model_dump()
    given["temporal_consistency"]["rationale"] = CANARY
    spoken = type(judged)(CoherenceVerdict.model_validate(given), judged.model, judged.usage)
    return compose(request(format=100.0), spoken, quote=quote).model_dump_json()


def test_the_judges_words_are_withheld() -> None:
    told = judged_with_words(quote=False)
    assert CANARY not in told
    assert "8 years" not in told
    assert '"path":"outputs.fhir[3]"' in told
    assert '"code":"coherence.demographic_appropriateness"' in told
    assert "withheld:" in told


def test_the_judges_words_are_quoted_where_the_settings_ask_for_it() -> None:
    told = judged_with_words(quote=True)
    assert f"{CANARY} is 8 years old" in told
    assert f"outputs.fhir[3]/{CANARY}.gender" in told
    assert "withheld:" not in told
