"""The batch report: every field of §4.2."""

from datetime import UTC, datetime

from tests.scorers.safe.cases import SUMMARY_BATCH, case
from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0Observation
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.batch import build_report, common, mean, result_of, share, summary_of
from touchstone.scorers.safe.observation import score_batch
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings, resolve

QUOTING = SafeScorer(SafeSettings(quote=True))


def report_of(records: list[dict[str, object]], settings: SafeSettings | None = None) -> SafeV0BatchReport:
    settings = settings or SafeSettings(quote=True)
    cases = [SafeCase.model_validate(record) for record in records]
    return build_report(score_batch(cases, SafeScorer(settings)), concern_id="I25", batch_id="I25_batch_1", settings=settings)


REPORT = report_of(SUMMARY_BATCH)


def test_means_rates_and_labels_of_the_example() -> None:
    assert REPORT.total_cases == 5
    assert {name: round(value, 2) for name, value in REPORT.mean_scores.model_dump().items()} == {"CR": 0.85, "AH": 0.9, "AC": 0.78, "composite": 0.84}
    assert REPORT.pass_rates.model_dump() == {"CR": 0.8, "AH": 0.8, "AC": 0.6, "overall": 0.6}
    assert REPORT.label_distribution.model_dump() == {"Pass": 3, "Review": 1, "Fail": 1}


def test_archetypes_are_broken_down() -> None:
    assert list(REPORT.by_archetype) == ["Delay_Driver_Profiler", "Documentation_Gap", "Process_Auditor", "Safety_Signal"]
    assert REPORT.by_archetype["Process_Auditor"].model_dump() == {"count": 2, "mean_CR": 1.0, "mean_AH": 0.75, "mean_AC": 0.75, "pass_rate": 0.5}


def test_worst_performers_are_the_bottom_five_by_composite_then_test_id() -> None:
    records = [*SUMMARY_BATCH, SUMMARY_BATCH[0] | {"test_id": "I25-BATCH1-000"}]
    assert [result.test_id[-3:] for result in report_of(records).worst_performers] == ["005", "003", "002", "000", "001"]


def test_common_issues_are_counted_once_per_case_and_sorted_by_count() -> None:
    assert REPORT.common_CR_misses[0].model_dump() == {"signal": "taken to OR over 24 hours", "miss_count": 2}
    assert REPORT.common_AH_violations[0].model_dump() == {"term": "policy", "count": 1}
    assert REPORT.common_AC_misses[0].model_dump() == {"phrase": "NPO status violation", "miss_count": 2}


def test_common_issues_join_spellings_that_fold_alike() -> None:
    assert common([("policy",), ("Policy ", "blame"), ("POLICY",)]) == [("POLICY", 3), ("blame", 1)]


def test_pass_rates_follow_each_archetypes_thresholds() -> None:
    settings = resolve({}, {"archetypes": {"Safety_Signal": {"thresholds": {"CR": {"pass": 0.4, "review": 0.4}}}}})
    assert report_of(SUMMARY_BATCH, settings).pass_rates.CR == 1.0


def test_results_are_ordered_by_test_id() -> None:
    assert report_of(SUMMARY_BATCH[::-1]) == REPORT
    assert [result.test_id[-1] for result in REPORT.results] == list("12345")


def test_means_and_shares_of_nothing_are_zero() -> None:
    assert mean([]) == 0
    assert share([]) == 0


def test_an_empty_batch_has_a_report() -> None:
    empty = build_report([], concern_id="C", batch_id="B")
    assert (empty.total_cases, empty.mean_scores.composite, empty.pass_rates.overall, empty.worst_performers) == (0, 0, 0, ())


def test_the_summary_counts_labels() -> None:
    assert summary_of(REPORT).model_dump() == {"total_cases": 5, "pass": 3, "review": 1, "fail": 1, "overall_pass_rate": 0.6}


def test_stored_result_events_give_the_same_report_as_cases() -> None:
    settings = SafeSettings()
    stored = []
    for place, record in enumerate(SUMMARY_BATCH):
        card = SafeScorer(settings).evaluate(SafeCase.model_validate(record))
        event = ScoreResult(
            result_id=str(place),
            event_id=str(place),
            case_id=str(record["test_id"]),
            kind="safe",
            suite=SUITE.name,
            suite_version=SUITE.version,
            config_digest="0",
            label=card.label,
            values=card.values,
            findings=card.findings,
            details=card.details,
            attributes=card.attributes,
            source=SourceRef(topic="t", partition=0, offset=place),
            scored_at=datetime.now(UTC),
        )
        stored.append(result_of(ScoreResult.model_validate_json(event.model_dump_json())))
    assert build_report(stored[::-1], concern_id="I25", batch_id="I25_batch_1") == report_of(SUMMARY_BATCH, settings)


def test_every_case_is_observed_once_without_details() -> None:
    seen: list[SafeV0Observation] = []
    list(score_batch([case("T1", signals=["fever"]), case("T2")], QUOTING, seen.append))
    assert [(observation.test_id, observation.scores.CR, observation.label) for observation in seen] == [("T1", 0.0, "Fail"), ("T2", 1.0, "Pass")]
    assert set(seen[0].model_dump()) == {"test_id", "scores", "label", "timestamp"}
