import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.scorers.safe.cases import ROWS_BATCH, SUMMARY_BATCH, record
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0JsonReport
from touchstone.schemas.result import Failure, FileRef, Problem, ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting import Gate, LayoutOptions, RunFacts, Tally
from touchstone.scorers.reporting.report import LabelCounts
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.scorers.safe.view import SafeReport

NOW = datetime(2025, 1, 15, 11, 30, tzinfo=timezone(timedelta(hours=1)))
QUOTING = SafeSettings(quote=True)
PROBLEM = Problem(source=FileRef(file="b.json", place="case 2"), what="is not a case object")


def result_of_record(written: dict[str, Any], number: int = 1) -> ScoreResult:
    case = SafeCase.model_validate(written)
    card = SafeScorer(QUOTING).evaluate(case)
    return ScoreResult(
        result_id=f"r{number}",
        event_id=f"e{number}",
        case_id=case.case_id,
        kind="safe",
        suite="safe_v0",
        suite_version=SUITE.version,
        config_digest="0" * 16,
        source=FileRef(file="b.jsonl", place=f"line {number}"),
        scored_at=NOW,
        **{name: getattr(card, name) for name in ("label", "values", "findings", "failures", "details", "attributes")},
    )


def reported(entries: list[ScoreResult | Problem], now: datetime = NOW, **asked: str) -> SafeReport:
    facts = RunFacts(suite=SUITE, settings=QUOTING, config_digest="0" * 16, generated_at=now, asked=asked)
    report = SUITE.report(entries, facts)
    assert isinstance(report, SafeReport)
    return report


def report_of(records: list[dict[str, Any]], *problems: Problem) -> SafeReport:
    return reported([*(result_of_record(each, number) for number, each in enumerate(records, 1)), *problems])


REPORT = report_of(SUMMARY_BATCH)
BROKEN = report_of(SUMMARY_BATCH, PROBLEM)


def text_of(report: SafeReport, format: str, gate: Gate | None = None, **options: Any) -> str:
    return "".join(lay_out(SUITE, report, format, LayoutOptions(SUITE.verdict(report, gate), **options)))


def test_json_has_the_fields_of_the_specification_first() -> None:
    document = json.loads(text_of(REPORT, "json"))
    head = ["report_type", "generated_at", "batch_id", "concern_id", "summary", "mean_scores"]
    assert list(document)[:6] == head
    assert {"by_archetype", "results", "failure_analysis", "pass_rates", "label_distribution"} <= set(document)
    assert (document["report_type"], document["generated_at"]) == ("SAFE_v0", "2025-01-15T10:30:00Z")
    assert document["summary"] == {"total_cases": 5, "pass": 3, "review": 1, "fail": 1, "overall_pass_rate": 0.6}
    assert list(document["results"][0]) == ["test_id", "archetype", "scores", "details", "label"]
    assert list(document["failure_analysis"]) == ["worst_performers", "common_CR_misses", "common_AH_violations", "common_AC_misses"]
    assert document["thresholds"]["CR"] == {"pass": 0.8, "review": 0.5}


def test_json_has_the_intervals_of_its_rates_and_means_last() -> None:
    document = json.loads(text_of(REPORT, "json"))
    intervals = document["intervals"]
    assert list(document)[-1] == "intervals"
    assert set(intervals["pass_rates"]) == {"CR", "AH", "AC"}
    assert intervals["pass_rate"] == {"low": pytest.approx(0.2307, abs=1e-4), "high": pytest.approx(0.8824, abs=1e-4)}
    assert all(intervals["means"][name]["low"] < mean < intervals["means"][name]["high"] for name, mean in document["mean_scores"].items())


def test_markdown_has_the_intervals_of_means_and_rates() -> None:
    text = text_of(REPORT, "markdown")
    low, high = json.loads(text_of(REPORT, "json"))["intervals"]["means"]["CR"].values()
    assert "Pass rate 60% (95% interval 23% to 88%)." in text
    assert f"| CR | 0.85 | {low:.2f} to {high:.2f} | pass rate 80% (38% to 96%) |" in text


def test_the_drawn_console_has_intervals_only_where_everything_is_asked_for() -> None:
    assert "95%" not in text_of(REPORT, "console")
    verbose = text_of(REPORT, "console", verbose=True)
    assert "\n95% Intervals:\n  CR: mean " in verbose
    assert "pass rate 38% to 96%\n" in verbose
    assert "\n  Pass: 23% to 88%\n" in verbose


def test_json_is_read_back_as_it_was() -> None:
    text = text_of(BROKEN, "json")
    assert SafeV0JsonReport.model_validate_json(text).errors == BROKEN.batch.errors


def test_the_batch_report_has_every_field_of_the_specification() -> None:
    assert list(SafeV0BatchReport.model_fields)[:11] == [
        "batch_id",
        "concern_id",
        "total_cases",
        "mean_scores",
        "pass_rates",
        "label_distribution",
        "by_archetype",
        "worst_performers",
        "common_CR_misses",
        "common_AH_violations",
        "common_AC_misses",
    ]


def test_markdown_tells_verdict_metrics_and_cases() -> None:
    text = text_of(REPORT, "markdown")
    assert text.startswith("# SAFE v0: I25\n\n**FAIL**: 1 of 5 cases failed.\n")
    assert "generated 2025-01-15T10:30:00Z" in text
    assert "| CR | 0.85 | 80% | 0.8 | 0.5 |" in text
    assert "| I25-BATCH1-003 | Process_Auditor | 1.00 | 0.50 | 0.50 | 0.67 | Review |" in text
    assert "| CR | taken to OR over 24 hours | 2 |" in text


def test_markdown_shows_markup_as_text() -> None:
    text = text_of(report_of([record(signals=["<b>a|b</b> [x](y) @team `c`\nd"])]), "markdown")
    assert "| CR | \\<b>a\\|b\\</b> \\[x\\](y) \\@team \\`c\\`\\\\nd | 1 |" in text


def test_markdown_of_a_long_batch_lists_what_did_not_pass() -> None:
    records = [record(f"T{n:04d}", signals=["fever"] if n == 7 else []) for n in range(1_001)]
    text = text_of(report_of(records), "markdown")
    assert "Cases that did not pass" in text
    assert "T0007" in text
    assert "T0008" not in text


def test_junit_has_a_suite_per_archetype_and_a_test_per_case() -> None:
    root = ET.fromstring(text_of(BROKEN, "junit"))
    assert (root.get("tests"), root.get("failures"), root.get("skipped"), root.get("errors")) == ("6", "1", "1", "1")
    assert [suite.get("name") for suite in root] == ["Process_Auditor", "Delay_Driver_Profiler", "Documentation_Gap", "Safety_Signal", "not read"]
    failed = root.find(".//testcase[@name='I25-BATCH1-005']/failure")
    assert failed is not None
    assert "CR missing: taken to OR over 24 hours" in (failed.text or "")
    skipped = root.find(".//testcase[@name='I25-BATCH1-003']/skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("Review: CR 1.00, AH 0.50")


def test_junit_carries_text_that_xml_cannot() -> None:
    root = ET.fromstring(text_of(report_of([record(signals=["a\x0bb<&>"])]), "junit"))
    assert "CR missing: a\\x0bb<&>" in "".join(root.itertext())


def test_every_format_ends_with_a_newline() -> None:
    assert all(text_of(REPORT, name).endswith("\n") for name in FORMATS)


@pytest.mark.parametrize(
    ("report", "rate", "code", "told"),
    [
        (report_of([record()]), None, 0, "PASS: 1 case passed (exit 0)"),
        (REPORT, None, 1, "FAIL: 1 of 5 cases failed (exit 1)"),
        (report_of(ROWS_BATCH), None, 2, "REVIEW: 3 of 5 cases to review, none failed (exit 2)"),
        (BROKEN, None, 3, "ERROR: 1 problem, 5 cases scored (exit 3)"),
        (reported([PROBLEM]), None, 3, "ERROR: 1 problem, 0 cases scored (exit 3)"),
        (REPORT, 0.6, 0, "PASS: pass rate 60% of 5 cases, at least 0.6 asked (exit 0)"),
        (REPORT, 0.61, 1, "FAIL: pass rate 60% of 5 cases, at least 0.61 asked (exit 1)"),
        (BROKEN, 0.0, 3, "ERROR: 1 problem, 5 cases scored (exit 3)"),
    ],
)
def test_verdict_and_exit_code_agree(report: SafeReport, rate: float | None, code: int, told: str) -> None:
    verdict = SUITE.verdict(report, Gate(rate))
    assert (verdict.exit_code, str(verdict)) == (code, told)


def test_markdown_prints_the_verdict_of_the_gate() -> None:
    assert "**PASS**: pass rate 60%" in text_of(REPORT, "markdown", Gate(0.5))


def test_a_naive_time_is_taken_as_utc() -> None:
    assert '"2025-01-15T10:30:00Z"' in text_of(reported([result_of_record(SUMMARY_BATCH[0])], NOW.astimezone(UTC).replace(tzinfo=None)), "json")


def test_a_console_can_list_some_cases_only_and_counts_all() -> None:
    whole, failed = text_of(REPORT, "console"), text_of(REPORT, "console", only=frozenset({"fail"}))
    assert failed.splitlines()[:11] == whole.splitlines()[:11]
    assert [name for name in ("001", "002", "003", "004", "005") if f"I25-BATCH1-{name}" in failed] == ["005"]


def test_a_case_that_could_not_be_scored_is_an_error_and_no_zero() -> None:
    failed = result_of_record(record("T9"), 9).model_copy(
        update={"label": "unscored", "values": {}, "failures": (Failure(component="safe_v0", kind="scorer_error", code="KeyError"),)}
    )
    report = reported([result_of_record(record("T1")), failed])
    assert (report.batch.total_cases, report.batch.mean_scores.composite) == (1, 1.0)
    assert [(error.where, error.what) for error in report.batch.errors] == [("b.jsonl, line 9", "could not be scored (safe_v0: KeyError)")]
    assert SUITE.verdict(report, None).exit_code == 3


def test_a_batch_has_the_name_that_its_cases_share_else_what_was_asked_for() -> None:
    shared = reported([result_of_record(record("T1", batch="b1"))], batch_id="b*")
    mixed = reported([result_of_record(record("T1", batch="b1")), result_of_record(record("T2", batch="b2"))], batch_id="b*")
    assert (shared.batch.batch_id, mixed.batch.batch_id) == ("b1", "b*")


def test_nothing_to_report_says_what_was_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"no case to score \(concern I99, batch 'b\*'; 0 other cases passed over\); check --concern and --batch"):
        reported([], concern_id="I99", batch_id="b*")


def test_the_event_of_a_batch_has_exactly_the_fields_of_the_specification() -> None:
    labels = LabelCounts()
    for label in ("Pass", "Pass", "Fail", "unscored"):
        labels.add(label)
    told = SUITE.event(Tally(labels, {"CR": 0.5}))
    assert told == {"summary": {"total_cases": 3, "pass": 2, "review": 0, "fail": 1, "overall_pass_rate": 2 / 3}, "mean_scores": {"CR": 0.5}}
