"""The console scorecard, held against the drawing of SAFE v0 §5.2."""

from rich.cells import cell_len

from tests.scorers.safe.cases import ROWS_BATCH, SUMMARY_BATCH, partial, record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0CaseError
from touchstone.scorers.safe.batch import build_report
from touchstone.scorers.safe.layout import render_console
from touchstone.scorers.safe.observation import score_batch
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings

SCORECARD = """\
╔═══════════════════════════════════════════════════════════════════════╗
║                      SAFE v0 Scorecard - I25                          ║
╠═══════════════════════════════════════════════════════════════════════╣
║ Total Cases: 5    Pass: 3 (60%)    Review: 1 (20%)    Fail: 1 (20%)   ║
╠═══════════════════════════════════════════════════════════════════════╣
║ Metric │ Mean Score │ Pass Rate │ Status                              ║
╠────────┼────────────┼───────────┼─────────────────────────────────────╣
║   CR   │    0.85    │   80%     │ OK                                  ║
║   AH   │    0.90    │   80%     │ WARN (2 violations across batch)    ║
║   AC   │    0.78    │   60%     │ WARN (review threshold)             ║
╠═══════════════════════════════════════════════════════════════════════╣
║ Composite: 0.84                                                       ║
╚═══════════════════════════════════════════════════════════════════════╝
"""
BREAKDOWN = """\
Per-Case Breakdown:
┌─────────────────┬───────────────────────┬──────┬──────┬──────┬─────────┐
│ Test ID         │ Archetype             │  CR  │  AH  │  AC  │ Label   │
├─────────────────┼───────────────────────┼──────┼──────┼──────┼─────────┤
│ I25-BATCH1-001  │ Process_Auditor       │ 1.00 │ 1.00 │ 1.00 │ PASS    │
│ I25-BATCH1-002  │ Delay_Driver_Profiler │ 0.67 │ 1.00 │ 0.50 │ REVIEW  │
│ I25-BATCH1-003  │ Process_Auditor       │ 1.00 │ 0.50 │ 1.00 │ REVIEW  │
│ I25-BATCH1-004  │ Documentation_Gap     │ 1.00 │ 1.00 │ 1.00 │ PASS    │
│ I25-BATCH1-005  │ Safety_Signal         │ 1.00 │ 1.00 │ 0.50 │ REVIEW  │
└─────────────────┴───────────────────────┴──────┴──────┴──────┴─────────┘
"""
ISSUES = """\
Top Issues:
  CR Misses: "taken to OR over 24 hours" (2 cases)
  AH Violations: "policy" (1 case)
  AC Misses: "NPO status violation" (2 cases)
"""


def report_of(records: list[dict[str, object]], concern: str = "I25") -> SafeV0BatchReport:
    settings = SafeSettings(quote=True)
    cases = [SafeCase.model_validate(each) for each in records]
    return build_report(score_batch(cases, SafeScorer(settings)), concern_id=concern, batch_id="I25_batch_1", settings=settings)


def widths(text: str) -> set[int]:
    return {cell_len(line) for line in text.splitlines() if line[:1] in set("╔║╠╚")}


def test_the_scorecard_and_the_top_issues_of_the_example_are_drawn_for_a_batch_that_gives_them() -> None:
    text = render_console(report_of(SUMMARY_BATCH))
    assert text.startswith(SCORECARD)
    assert text.endswith(ISSUES)


def test_the_breakdown_of_the_example_is_drawn_for_a_batch_that_gives_it() -> None:
    assert BREAKDOWN in render_console(report_of(ROWS_BATCH))


def test_the_whole_example_is_drawn_from_a_report_of_its_numbers() -> None:
    # No batch gives both halves (see cases.py), so the rows of one are put under the numbers of the other.
    report = report_of(SUMMARY_BATCH).model_copy(update={"results": report_of(ROWS_BATCH).results})
    assert render_console(report) == f"{SCORECARD}\n{BREAKDOWN}\n{ISSUES}"


def test_one_violation_is_singular() -> None:
    assert "WARN (1 violation across batch)" in render_console(report_of([record(terms=["policy", "blame"], questions=["policy"])]))


def test_a_mean_below_the_review_threshold_fails() -> None:
    text = render_console(report_of([record(signals=["fever"], terms=["policy"], questions=["policy"])]))
    assert "FAIL (below review threshold)" in text
    assert "FAIL (1 violation across batch)" in text


def test_a_clean_batch_has_no_issues() -> None:
    assert render_console(report_of([record()])).endswith("Top Issues: none\n")


def test_columns_widen_for_long_and_wide_text() -> None:
    text = render_console(report_of([record("試験番号" * 6, archetype="A" * 40), record("T2")], concern="長い名前" * 20))
    assert len(widths(text)) == 1
    assert len({cell_len(line) for line in text.splitlines() if line[:1] in set("┌│├└")}) == 1


def test_the_frame_widens_for_large_counts() -> None:
    report = report_of(SUMMARY_BATCH)
    text = render_console(report.model_copy(update={"total_cases": 10_000_000, "concern_id": "I25"}))
    assert len(widths(text)) == 1


def test_control_characters_reach_no_terminal() -> None:
    text = render_console(report_of([record(signals=["\x1b[2Jcleared\u202e"])]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[2Jcleared" in text


def test_verbose_tells_what_each_case_found_missed_and_used() -> None:
    text = render_console(report_of(SUMMARY_BATCH), verbose=True)
    assert "I25-BATCH1-003: REVIEW, composite 0.67" in text
    assert '    AH violations: "policy", "zz term 0!"' in text
    assert "  Process_Auditor: 2 cases, CR 1.00, AH 0.75, AC 0.75, pass rate 50%" in text


def test_cases_that_were_not_scored_are_listed() -> None:
    report = report_of([partial("T1", "A", (1, 1), (1, 1), (1, 1))])
    text = render_console(report.model_copy(update={"errors": (SafeV0CaseError(where="b.jsonl, line 2", what="is not valid JSON"),)}))
    assert text.endswith("Not Scored:\n  b.jsonl, line 2: is not valid JSON\n")
