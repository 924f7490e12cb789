import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from junitparser import JUnitXml

from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.ops.reports.markdown import CASES_DETAILED_MAX, CASES_MAX, PASSED_OVER_MAX
from touchstone.schemas.reports.clinical import ClinicalEntry, JudgedFile, Outcome
from touchstone.schemas.result import Finding, NotChecked, Severity
from touchstone.scorers.clinical import SUITE, ClinicalSettings
from touchstone.scorers.clinical.batch import ClinicalReport, FileCounts, verdict
from touchstone.scorers.clinical.layout import FINDINGS_SHOWN_MAX
from touchstone.scorers.reporting import LabelCounts, LayoutOptions, RunFacts
from touchstone.scorers.reporting.words import score_text


def finding(severity: Severity, path: str = "PID-3", message: str = "is wrong", suggestion: str | None = None, code: str = "data_types.x") -> Finding:
    return Finding(severity=severity, code=code, path=path, message=message, suggestion=suggestion)


def judged(file: str = "a.hl7", label: Any = "Pass", outcome: Outcome = "validated", **fields: Any) -> JudgedFile:
    given: dict[str, Any] = {"format": "hl7v2", "valid": True}
    if outcome == "validated":
        given |= {"scores": {"overall": 82.0, "format": 100.0, "terminology": 64.0}, "checks": {"data_types": 67.0}, "rules_fired": {"data_types": 12}}
    else:
        given |= {"format": None, "valid": None, "not_checked": (NotChecked(check="file", reason="some reason"),)}
        label = "unscored"
    return JudgedFile(entry=ClinicalEntry(file=file, label=label, **(given | fields)), outcome=outcome, duration_s=0.5)


MIXED = [
    judged("pass.hl7"),
    judged("warn.json", "Warn", format="fhir", valid=False, scores={"overall": 70.0}, findings=(finding("major", suggestion="Mend it"),)),
    judged("fail.json", "Fail", format="fhir", valid=None, scores={}, checks={}, rules_fired={}, findings=(finding("critical", "", code="fhir.json.syntax"),)),
    judged("cda.xml", outcome="unvalidated", format="ccda"),
    judged("gone", outcome="problem"),
    judged("LICENSE", outcome="passed_over"),
]


class Made(ClinicalReport):
    @property
    def files(self) -> Iterator[JudgedFile]:
        return iter(self.entries)  # type: ignore[arg-type]


def report_of(files: Iterable[JudgedFile], duration_s: float = 57.06) -> ClinicalReport:
    listed, counts = list(files), FileCounts()
    for one in listed:
        counts.add(one)
    facts = RunFacts(SUITE, ClinicalSettings(), "d1", datetime(2026, 1, 2, tzinfo=UTC))
    entries: Any = listed
    return Made(facts, "file", counts.summary(duration_s), LabelCounts(), {}, (), (), 0, None, "", "", entries, code_counts=counts.codes)


def report(format: str, files: Iterable[JudgedFile], **options: Any) -> str:
    built = report_of(files)
    return "".join(lay_out(SUITE, built, format, LayoutOptions(verdict(built), **options)))


def test_stored_results_have_no_duration_to_tell() -> None:
    def counts(duration_s: float) -> str | None:
        return SUITE.view(report_of(MIXED, duration_s)).counts

    assert (counts(2.04) or "").endswith(", 2.0 s")
    assert not (counts(0.0) or "").endswith(" s")


def summary_of(files: Iterable[JudgedFile]) -> Any:
    return report_of(files).summary


def test_the_summary_counts_each_file_once() -> None:
    summary = summary_of(MIXED)
    counts = (summary.total, summary.passed, summary.warned, summary.failed, summary.unvalidated, summary.problems, summary.passed_over, summary.invalid)
    assert counts == (5, 1, 1, 1, 1, 1, 1, 1)
    assert summary.average_score == pytest.approx((82 + 70) / 2)
    assert summary.pass_rate == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("places", "code", "told"),
    [
        ([0], 0, "PASS: 1 file passed"),
        ([0, 5], 0, "PASS: 1 file passed; 1 file of no known or wanted format passed over"),
        ([0, 1], 2, "WARN: 1 warned of 2 files, none failed"),
        ([0, 1, 3], 2, "WARN: 1 warned, 1 not validated of 3 files, none failed"),
        ([0, 1, 2, 3], 1, "FAIL: 1 of 4 files failed"),
        ([0, 1, 2, 3, 4], 3, "ERROR: 1 of 5 files could not be read"),
        ([], 3, "ERROR: nothing to validate"),
        ([5], 3, "ERROR: nothing to validate; 1 file of no known or wanted format passed over"),
    ],
)
def test_the_verdict_is_a_word_and_its_exit_code(places: list[int], code: int, told: str) -> None:
    judgement = verdict(report_of(MIXED[place] for place in places))
    assert (judgement.exit_code, str(judgement)) == (code, f"{told} (exit {code})")


def test_the_console_draws_the_summary_as_the_specification_does() -> None:
    files = [judged()] * 8 + [judged(label="Warn", scores={"overall": 70.0})] * 3 + [judged(label="Fail", scores={"overall": 22.0})]
    lines = report("console", files).splitlines()
    begin = lines.index("═" * 60)
    assert lines[begin:] == [
        "═" * 60,
        "  EVALUATION RESULTS",
        "═" * 60,
        "",
        "Summary:",
        "  Total Tests: 12",
        "  ✓ Passed: 8",
        "  ! Warned: 3",
        "  ✗ Failed: 1",
        "",
        "  Pass Rate: 67%",
        "  Average Score: 74",
        "",
        "  Duration: 57.1s",
        "",
        "─" * 60,
    ]


def test_intervals_stand_under_the_drawn_lines_when_everything_is_asked_for() -> None:
    files = [judged(scores={"overall": score}) for score in (80.0, 90.0, 100.0)] + [judged(label="Fail", scores={"overall": 20.0})]
    lines = report("console", files, verbose=True).splitlines()
    place = lines.index("  Average Score: 72.5")
    average = summary_of(files).average_score_interval
    assert lines[place - 1] == "  Pass Rate: 75%"
    assert lines[place + 1] == f"  95% Intervals: pass rate 30% to 95%, average score {average.low:.1f} to {average.high:.1f}"
    assert "Intervals" not in report("console", files)


def test_the_pass_rate_is_of_all_that_was_asked_for() -> None:
    assert "Pass rate 20% (95% interval 4% to 62%)." in report("markdown", MIXED)


def test_the_console_draws_a_file_as_the_specification_does() -> None:
    found = (finding("major", "Condition", "Condition onset date is in the future", "Check it"), finding("critical", "Observation", "No lab tests listed"))
    text = report("console", [judged(findings=found)])
    assert text.startswith(
        "✓ PASS  a.hl7 (HL7 v2)\n"
        "Valid: yes; 1 critical, 1 major\n"
        "Overall: 82\n  Format: 100\n  Terminology: 64\n\n"
        "Findings:\n"
        "  Critical:\n    • Observation: No lab tests listed\n"
        "  Major:\n    • Condition: Condition onset date is in the future\n      Suggestion: Check it\n\n",
    )


def test_verbose_tells_every_finding_by_its_check_and_what_was_not_checked() -> None:
    found = (finding("major", message="CX.4 is required"), finding("info", "PID-11", "XAD.7 not specified"), finding("info", code="fhir.watermarks.none"))
    text = report("console", [judged(findings=found, not_checked=(NotChecked(check="codes", reason="no table"),))], verbose=True)
    assert "data_types: PASSED (score: 67)\nFindings:\n  [major] PID-3: CX.4 is required\n  [info] PID-11: XAD.7 not specified\n" in text
    assert "\nFindings:\n  [info] PID-3: is wrong\n" in text
    assert "\nRules fired: data_types 12\n\nNot checked:\n  codes: no table\n" in text
    assert "PID-11" not in report("console", [judged(findings=found)])


def test_verbose_gives_each_document_of_a_trace_its_own_findings() -> None:
    found = (finding("major", "outputs.fhir/Patient", "one"), finding("minor", "outputs.hl7v2/PID-3", "two"), finding("minor", "outputs.fhir", "three"))
    places = {"outputs.fhir/data_types": 50.0, "outputs.hl7v2/data_types": 98.0}
    text = report("console", [judged(format="trace", findings=found, checks=places, rules_fired=dict.fromkeys(places, 1))], verbose=True)
    assert "outputs.fhir/data_types: FAILED (score: 50)\nFindings:\n  [major] outputs.fhir/Patient: one\n  [minor] outputs.fhir: three\n\n" in text
    assert "outputs.hl7v2/data_types: PASSED (score: 98)\nFindings:\n  [minor] outputs.hl7v2/PID-3: two\n\n" in text


def test_a_check_of_a_document_that_was_not_read_has_not_passed() -> None:
    cut = judged(label="Fail", scores={}, rules_fired={}, checks={"structure": 80.0}, findings=(finding("critical", "", "not JSON", code="fhir.json.syntax"),))
    assert "structure: FAILED (score: 80)\nFindings:\n  [critical] not JSON\n" in report("console", [cut], verbose=True)
    assert "Overall: – (not validated)\n" in report("console", [cut])


def test_the_console_shows_the_gravest_findings_and_counts_the_rest() -> None:
    found = (*(finding("minor", f"PID-{number}", f"is wrong {number}") for number in range(30)), finding("critical", "MSH"))
    text = report("console", [judged(findings=found, findings_dropped=5)])
    assert text.count("•") == FINDINGS_SHOWN_MAX
    assert "• MSH" in text
    assert f"  and {31 + 5 - FINDINGS_SHOWN_MAX} more" in text


def test_equal_findings_of_a_file_are_one_line_with_a_count() -> None:
    text = report("console", [judged(findings=tuple(finding("minor", f"PID-{number}") for number in range(30)))])
    assert "    • PID-0, PID-1, PID-2 and 27 more: is wrong (30 times)\n" in text
    assert "more; --verbose" not in text


def test_many_files_that_pass_are_one_line_and_their_findings_are_counted() -> None:
    text = report("console", [*[judged(findings=(finding("minor"),))] * 400, judged("bad.hl7", "Warn", findings=(finding("major"),))])
    assert "✓ PASS  400 files; --verbose lists each\n" in text
    assert text.count("a.hl7") == 0
    assert "  bad.hl7 " in text
    assert "      400 minor    data_types.x (400)\n" in text
    assert report("console", [judged()] * 400, verbose=True).count("a.hl7") == 400


def test_true_totals_by_code_are_in_every_format() -> None:
    one = judged(label="Warn", findings=(finding("major"),), findings_dropped=2_999, finding_counts={"data_types.x": {"major": 3_000}})
    assert "Valid: yes; 3000 major" in report("console", [one])
    assert "| major | data_types.x | 3,000 | 1 |" in report("markdown", [one])
    assert "3,000 times" in report("html", [one])
    assert "3000 major" in report("junit", [one])
    assert json.loads(report("json", [one]))[0]["finding_counts"] == {"data_types.x": {"major": 3_000}}


def test_colour_is_only_where_it_was_asked_for() -> None:
    assert "\x1b" not in report("console", MIXED)
    assert "\x1b[31m✗ FAIL\x1b[0m" in report("console", MIXED, colour=True)


@pytest.mark.parametrize(
    ("score", "text"), [(100.0, "100"), (79.96, "79.9"), (79.999999999, "80"), (0.0, "0"), (66.66666, "66.6"), (None, "–"), (99.99, "99.9")]
)
def test_a_score_never_reads_as_a_threshold_that_it_does_not_reach(score: float | None, text: str) -> None:
    assert score_text(score) == text


def test_json_is_an_array_however_many_files_there_are() -> None:
    for count in (0, 1, 3):
        assert len(json.loads(report("json", [judged()] * count))) == count


def test_json_leaves_out_a_suggestion_that_is_not_there_and_keeps_other_nulls() -> None:
    entries = json.loads(report("json", MIXED))
    assert entries[1]["findings"][0]["suggestion"] == "Mend it"
    assert "suggestion" not in entries[2]["findings"][0]
    assert (entries[4]["format"], entries[4]["valid"]) == (None, None)


def test_markdown_begins_with_the_verdict_and_has_a_row_per_file() -> None:
    text = report("markdown", MIXED)
    assert text.startswith("# Clinical validation\n\n**ERROR**: 1 of 5 files could not be read; 1 file of no known or wanted format passed over.\n")
    assert "| warn.json | FHIR R4 | Warn | no | 1 major | 70 | – | – |" in text
    assert "| cda.xml | C-CDA | unscored |  | some reason | – | – | – |" in text
    assert "- **major** PID-3: is wrong *Mend it*" in text
    assert "## Passed over: 1\n\n| What | Why |\n| --- | --- |\n| LICENSE | some reason |" in text


def test_markdown_escapes_what_a_file_name_would_do() -> None:
    text = report("markdown", [judged("a|b<script>[x](y).json\n# title", "Warn", findings=(finding("major"),))])
    assert "<script>" not in text.replace("\\<script>", "")
    assert "\n# title" not in text
    assert "a\\|b" in text


def test_markdown_is_bounded() -> None:
    bad = judged("b.json", "Warn", findings=tuple(finding("major", f"PID-{number}", f"is wrong {number}") for number in range(500)))
    text = report("markdown", [*[judged()] * CASES_MAX, *[bad] * (CASES_MAX + 10), *[judged(outcome="passed_over")] * 500])
    assert text.count("| b.json |") == CASES_MAX
    assert text.count("| a.hl7 |") == PASSED_OVER_MAX
    assert text.count("### ") == CASES_DETAILED_MAX
    assert "- and 480 more" in text
    assert len(text) < 300_000


def test_junit_is_read_by_a_strict_parser_and_has_a_test_per_file() -> None:
    text = report("junit", MIXED)
    root = ET.fromstring(text)
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {"tests": "6", "failures": "1", "errors": "1", "skipped": "3"}
    assert {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")} == {
        "pass.hl7": [],
        "warn.json": ["skipped"],
        "fail.json": ["failure"],
        "cda.xml": ["skipped"],
        "gone": ["error"],
        "LICENSE": ["skipped"],
    }
    assert sum(suite.tests for suite in JUnitXml.fromstring(text.encode())) == 6


def test_junit_writes_what_xml_cannot_carry_as_escapes() -> None:
    odd = judged("a\x00\x1b]b\ufffe.json", "Fail", findings=(finding("major", message="x\x08y"),))
    (case,) = ET.fromstring(report("junit", [odd])).iter("testcase")
    assert case.get("name") == "a\\x00\\x1b]b\\ufffe.json"


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_makes_control_characters_of_names_and_messages_visible(format: str) -> None:
    odd = judged("a\x1b[31m.json", "Fail", findings=(finding("critical", "x\x1b", "y\x1b", "z\x1b"),))
    text = report(format, [odd, judged("\x1bb", outcome="passed_over")], **({"verbose": True} if format == "console" else {}))
    assert "\x1b" not in text


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown report format 'pdf'"):
        report("pdf", MIXED)


def test_the_console_breaks_lines_for_a_terminal_alone() -> None:
    long = judged(findings=(finding("major", message="words " * 30),))

    assert max(map(len, report("console", [long]).split("\n"))) > 150
    assert max(map(len, report("console", [long], width=80).split("\n"))) <= 80
