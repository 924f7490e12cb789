from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.schemas.result import Finding, Label, Severity
from touchstone.scorers.clinical.checks import scores
from touchstone.scorers.clinical.report import Report

SEVERITIES: list[Severity] = ["critical", "major", "minor", "info"]


def finding(severity: Severity, code: str = "units.invalid") -> Finding:
    return Finding(severity=severity, code=code, path="p", message="m")


def report(*findings: Finding, **fired: int) -> Report:
    made = Report()
    made.add(*findings)
    for group, times in fired.items():
        made.fired(group, times)
    return made


@pytest.mark.parametrize(
    ("severities", "score"),
    [([], 100), (["info"], 100), (["minor"], 98), (["major"], 90), (["critical"], 80), (["major", "major", "minor", "info"], 78), (["critical"] * 6, 0)],
)
def test_a_check_loses_its_findings_penalties(severities: list[Severity], score: float) -> None:
    assert scores.check_score(Counter(severities)) == score


@given(st.lists(st.sampled_from(SEVERITIES)), st.sampled_from(SEVERITIES))
def test_one_finding_more_never_raises_a_score(severities: list[Severity], more: Severity) -> None:
    before = scores.check_score(Counter(severities))
    after = scores.check_score(Counter([*severities, more]))
    assert 0 <= after <= before <= 100


def test_a_dimension_is_the_plain_mean_of_its_checks() -> None:
    scored = scores.score_report(report(finding("critical", "identifiers.oid"), finding("major"), structure=3, units=2, identifiers=1, terminology=4))
    assert {check.name: check.score for check in scored.checks} == {"identifiers": 80, "structure": 100, "terminology": 100, "units": 90}
    assert scored.format == 90
    assert scored.terminology == 100
    assert scored.components_missing == ("clinical",)
    assert scored.overall == 95
    assert scored.label == "Pass"


def test_codes_that_begin_with_a_format_belong_to_the_check_behind_it() -> None:
    assert scores.check_of("fhir.structure.type") == "structure"
    assert scores.check_of("datetimes.future") == "datetimes"
    assert scores.check_of("fhir") == "fhir"


def test_a_finding_counts_even_where_its_check_told_of_no_rule() -> None:
    scored = scores.score_report(report(finding("critical", "charset.unknown"), structure=1))
    assert scored.format == 90


def test_a_check_that_applied_no_rule_raises_no_mean() -> None:
    scored = scores.score_report(report(finding("critical", "structure.x"), structure=1, units=0))
    assert [check.name for check in scored.checks] == ["structure"]
    assert scored.format == 80


def test_the_specification_s_sample_gives_82() -> None:
    assert scores.overall_score(100, 100, 64) == (82, ())


@pytest.mark.parametrize(
    ("dimensions", "overall", "missing"),
    [
        ((80, 60, None), 70, ("clinical",)),
        ((80, None, 40), 160 / 3, ("terminology",)),
        ((None, None, 50), 50, ("format", "terminology")),
        ((None, None, None), None, ("format", "terminology", "clinical")),
        ((0, 0, 0), 0, ()),
    ],
)
def test_missing_dimensions_are_named_and_never_count_as_zero(dimensions: tuple[float | None, ...], overall: float | None, missing: tuple[str, ...]) -> None:
    score, named = scores.overall_score(*dimensions)
    assert named == missing
    assert score == (None if overall is None else pytest.approx(overall))


@pytest.mark.parametrize(("score", "label"), [(100, "Pass"), (80, "Pass"), (79.9, "Warn"), (60, "Warn"), (59.9, "Fail"), (0, "Fail"), (None, "unscored")])
def test_labels_follow_the_thresholds(score: float | None, label: str) -> None:
    assert scores.label_of(score) == label


def test_what_fired_no_rule_is_unvalidated() -> None:
    scored = scores.score_report(report(structure=0))
    assert (scored.format, scored.overall, scored.label) == (None, None, "unscored")


def test_what_cannot_be_read_scores_0_for_its_format() -> None:
    scored = scores.score_report(report(finding("critical", "structure.malformed")), validated=False, label_max="Fail")
    assert (scored.label, scored.values, scored.components_missing) == ("Fail", {"overall": 0.0, "format": 0.0}, ("terminology", "clinical"))


def test_a_part_that_cannot_be_read_fails_whatever_the_codes_of_the_rest_are() -> None:
    scored = scores.score_report(report(structure=9, terminology=9), label_max="Fail")
    assert (scored.label, scored.values) == ("Fail", {"overall": 50.0, "format": 0.0, "terminology": 100.0})


LABELS = st.sampled_from(scores.WORST_FIRST)


@given(st.none() | st.floats(0, 100), LABELS)
def test_a_label_and_its_number_never_contradict_each_other(overall: float | None, label_max: Label) -> None:
    bounded, label = scores.bounded_score(overall, label_max)
    assert label == scores.worst(scores.label_of(overall), label_max)
    if label == "unscored" or overall is None:
        assert bounded is None
    else:
        assert bounded is not None
        # As people see it, to one decimal.
        assert scores.label_of(round(bounded, 1)) == {"Review": "Warn"}.get(label, label)
        assert bounded <= overall
    assert bool(scores.bound_finding(overall, label_max, "a reason")) is (overall is not None and label != scores.label_of(overall))


def test_ratings_become_a_score_by_the_dimensions_weights() -> None:
    assert scores.clinical_score(dict.fromkeys(scores.CLINICAL_WEIGHTS, 5)) == 100
    assert scores.clinical_score(dict.fromkeys(scores.CLINICAL_WEIGHTS, 1)) == 0
    mixed = {
        "medication_condition_alignment": 3,
        "lab_value_plausibility": 4,
        "narrative_coherence": 4,
        "temporal_consistency": 3,
        "demographic_appropriateness": 4,
    }
    assert scores.clinical_score(mixed) == pytest.approx(65)
    assert scores.clinical_score({"narrative_coherence": 3, "style": 1}) == 50
    assert scores.clinical_score({}) is None


def test_the_weights_sum_to_one() -> None:
    assert sum(scores.WEIGHTS.values()) == 1
    assert sum(scores.CLINICAL_WEIGHTS.values()) == pytest.approx(1)
