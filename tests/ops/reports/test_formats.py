"""JSON, markdown, JUnit, the verdict and the files they go to."""

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.ops.reports.test_console import report_of
from tests.scorers.safe.cases import ROWS_BATCH, SUMMARY_BATCH, record
from touchstone.ops.reports import FORMATS, RenderOptions, render, verdict_of
from touchstone.ops.reports.files import check_directory, name_part, report_path, write_whole
from touchstone.ops.reports.safe_markdown import escaped
from touchstone.ops.reports.text import percent
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0CaseError, SafeV0JsonReport
from touchstone.scorers.base import ConfigError

NOW = datetime(2025, 1, 15, 11, 30, tzinfo=timezone(timedelta(hours=1)))
OPTIONS = RenderOptions(NOW)
REPORT = report_of(SUMMARY_BATCH)
BROKEN = REPORT.model_copy(update={"errors": (SafeV0CaseError(where="b.json, case 2", what="is no case object"),)})


def test_json_has_the_fields_of_the_specification_first() -> None:
    document = json.loads(render(REPORT, "json", OPTIONS))
    head = ["report_type", "generated_at", "batch_id", "concern_id", "summary", "mean_scores"]
    assert list(document)[:6] == head
    assert {"by_archetype", "results", "failure_analysis", "pass_rates", "label_distribution"} <= set(document)
    assert (document["report_type"], document["generated_at"]) == ("SAFE_v0", "2025-01-15T10:30:00Z")
    assert document["summary"] == {"total_cases": 5, "pass": 3, "review": 1, "fail": 1, "overall_pass_rate": 0.6}
    assert list(document["results"][0]) == ["test_id", "archetype", "scores", "details", "label"]
    assert list(document["failure_analysis"]) == ["worst_performers", "common_CR_misses", "common_AH_violations", "common_AC_misses"]
    assert document["thresholds"]["CR"] == {"pass": 0.8, "review": 0.5}


def test_json_is_read_back_as_it_was() -> None:
    text = render(BROKEN, "json", OPTIONS)
    assert SafeV0JsonReport.model_validate_json(text).errors == BROKEN.errors


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
    text = render(REPORT, "markdown", OPTIONS)
    assert text.startswith("# SAFE v0: I25\n\n**FAIL**: 1 of 5 cases failed.\n")
    assert "generated 2025-01-15T10:30:00Z" in text
    assert "| CR | 0.85 | 80% | 0.8 | 0.5 |" in text
    assert "| I25\\-BATCH1\\-003 | Process\\_Auditor | 1.00 | 0.50 | 0.50 | 0.67 | Review |" in text
    assert "| CR | taken to OR over 24 hours | 2 |" in text


def test_markdown_shows_markup_as_text() -> None:
    text = render(report_of([record(signals=["<b>a|b</b> [x](y) @team `c`\nd"])]), "markdown", OPTIONS)
    assert "| CR | \\<b\\>a\\|b\\</b\\> \\[x\\]\\(y\\) \\@team \\`c\\`\\\\nd | 1 |" in text
    assert escaped("a_b") == "a\\_b"


def test_markdown_of_a_long_batch_lists_what_did_not_pass() -> None:
    records = [record(f"T{n:04d}", signals=["fever"] if n == 7 else []) for n in range(1_001)]
    text = render(report_of(records), "markdown", OPTIONS)
    assert "Cases that did not pass" in text
    assert "T0007" in text
    assert "T0008" not in text


def test_junit_has_a_suite_per_archetype_and_a_test_per_case() -> None:
    root = ET.fromstring(render(BROKEN, "junit", OPTIONS))
    assert (root.get("tests"), root.get("failures"), root.get("skipped"), root.get("errors")) == ("6", "1", "1", "1")
    assert [suite.get("name") for suite in root] == ["Delay_Driver_Profiler", "Documentation_Gap", "Process_Auditor", "Safety_Signal", "not scored"]
    failed = root.find(".//testcase[@name='I25-BATCH1-005']/failure")
    assert failed is not None
    assert "CR missing: taken to OR over 24 hours" in (failed.text or "")
    skipped = root.find(".//testcase[@name='I25-BATCH1-003']/skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("Review: CR 1.00, AH 0.50")


def test_junit_carries_text_that_xml_cannot() -> None:
    root = ET.fromstring(render(report_of([record(signals=["a\x0bb<&>"])]), "junit", OPTIONS))
    assert "CR missing: a\\x0bb<&>" in "".join(root.itertext())


def test_every_format_ends_with_a_newline() -> None:
    assert all(render(REPORT, name, OPTIONS).endswith("\n") for name in FORMATS)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="known: json, console"):
        render(REPORT, "pdf", OPTIONS)


@pytest.mark.parametrize(
    ("report", "rate", "code", "told"),
    [
        (report_of([record()]), None, 0, "PASS: 1 case passed (exit 0)"),
        (REPORT, None, 1, "FAIL: 1 of 5 cases failed (exit 1)"),
        (report_of(ROWS_BATCH), None, 2, "REVIEW: 3 of 5 cases to review, none failed (exit 2)"),
        (BROKEN, None, 3, "ERROR: 1 problem, 5 cases scored (exit 3)"),
        (report_of([]), None, 3, "ERROR: no case was scored (exit 3)"),
        (REPORT, 0.6, 0, "PASS: pass rate 60% of 5 cases, at least 0.6 asked (exit 0)"),
        (REPORT, 0.61, 1, "FAIL: pass rate 60% of 5 cases, at least 0.61 asked (exit 1)"),
        (BROKEN, 0.0, 3, "ERROR: 1 problem, 5 cases scored (exit 3)"),
    ],
)
def test_verdict_and_exit_code_agree(report: SafeV0BatchReport, rate: float | None, code: int, told: str) -> None:
    verdict = verdict_of(report, rate)
    assert (verdict.exit_code, str(verdict)) == (code, told)


def test_markdown_prints_the_verdict_of_the_gate() -> None:
    assert "**PASS**: pass rate 60%" in render(REPORT, "markdown", RenderOptions(NOW, min_pass_rate=0.5))


@pytest.mark.parametrize(("ratio", "text"), [(0, "0%"), (0.0001, "1%"), (0.6, "60%"), (0.9999, "99%"), (1, "100%")])
def test_percentages_are_only_full_or_empty_where_exact(ratio: float, text: str) -> None:
    assert percent(ratio) == text


@pytest.mark.parametrize(("identifier", "part"), [("I25", "I25"), ("../../etc/passwd", "_.._etc_passwd"), ("a/b\\c:d", "a_b_c_d"), ("...", "unnamed")])
def test_identifiers_cannot_leave_the_report_directory(identifier: str, part: str, tmp_path: Path) -> None:
    assert name_part(identifier) == part
    assert report_path(tmp_path, identifier, "markdown", NOW).parent == tmp_path


def test_report_names_carry_concern_and_utc_time(tmp_path: Path) -> None:
    assert report_path(tmp_path, "I25", "markdown", NOW).name == "SAFE_v0_I25_20250115T103000Z.md"


def test_a_report_name_that_is_taken_is_numbered(tmp_path: Path) -> None:
    report_path(tmp_path, "I25", "json", NOW).touch()
    assert report_path(tmp_path, "I25", "json", NOW).name == "SAFE_v0_I25_20250115T103000Z_2.json"


def test_writing_replaces_whole_files_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    write_whole(target, "naïve")
    assert target.read_text(encoding="utf-8") == "naïve"
    assert list(tmp_path.iterdir()) == [target]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_an_unwritable_directory_is_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be written .* set SAFE_V0_REPORT_DIR"):
        check_directory(tmp_path / "file" / "reports", "SAFE_V0_REPORT_DIR")


def test_a_failed_write_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "absent" / "r.json", "x")


def test_a_naive_time_is_taken_as_utc() -> None:
    assert '"2025-01-15T10:30:00Z"' in render(REPORT, "json", RenderOptions(NOW.astimezone(UTC).replace(tzinfo=None)))
