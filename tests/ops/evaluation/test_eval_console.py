"""The console report of a run, and what external validators say, as the specification's sample output and the settled points ask."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from touchstone.ops.evaluation.batch import summarise, verdict_on
from touchstone.ops.evaluation.external import ConformanceChecks, Outside
from touchstone.ops.evaluation.layout import console_pieces
from touchstone.schemas.reports.evaluation import EvaluatedCase, EvaluationReport, Expectation, Expectations
from touchstone.schemas.result import Failure, Finding, NotChecked
from touchstone.scorers.clinical.conformance.evaluation import conformance_of
from touchstone.scorers.clinical.words import DIMENSIONS
from touchstone.scorers.operation_outcome import Issue, NoVerdict, Outcome
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.reporting.words import score_text

NOW = datetime(2026, 9, 10, tzinfo=UTC)
#: The specification's example of one test.
EXAMPLE = EvaluatedCase(
    case_id="diabetes-001",
    category="diabetes_management",
    place="curated",
    trace_id="t",
    status="Pass",
    label="Pass",
    scores={"overall": 82.0, "format": 100.0, "terminology": 100.0, "clinical": 64.0},
    findings=(
        Finding(severity="major", code="x", path="", message="Condition onset date is in the future"),
        Finding(severity="critical", code="y", path="", message="No lab tests listed for diabetic patient"),
        Finding(severity="info", code="z", path="", message="only for those who ask"),
    ),
)


def printed(*cases: EvaluatedCase, verbose: bool = False, colour: bool = False, **given: Any) -> str:
    summary = summarise(cases, 57.1)
    report = EvaluationReport(
        run_id="r", started_at=NOW, generated_at=NOW, system="s", suites=(), formats=("fhir",), judge=True, summary=summary, cases=cases, **given
    )
    return "".join(console_pieces(report, LayoutOptions(verdict_on(summary), verbose=verbose, colour=colour), DIMENSIONS))


def test_one_test_is_shown_as_in_the_specification() -> None:
    assert printed(EXAMPLE).startswith(
        "✓ PASS  diabetes-001 (diabetes_management)\n"
        "Overall: 82\n  Format: 100\n  Terminology: 100\n  Clinical: 64\n\n"
        "Findings:\n  Critical:\n    • No lab tests listed for diabetic patient\n  Major:\n    • Condition onset date is in the future\n\n"
    )
    assert "only for those who ask" in printed(EXAMPLE, verbose=True)


def test_the_summary_is_shown_as_in_the_specification() -> None:
    def case(status: Any, overall: float) -> EvaluatedCase:
        return EXAMPLE.model_copy(update={"status": status, "scores": {"overall": overall}})

    text = printed(*[case("Pass", 80)] * 8, *[case("Warn", 70)] * 3, case("Fail", 38))
    assert text.endswith(
        "═" * 60 + "\n  EVALUATION RESULTS\n" + "═" * 60 + "\n\nSummary:\n  Total Tests: 12\n  ✓ Passed: 8\n  ! Warned: 3\n  ✗ Failed: 1\n\n"
        "  Pass Rate: 67%\n  Average Score: 74\n\n  Duration: 57.1s\n\n" + "─" * 60 + "\n"
    )


def test_a_score_is_never_rounded_up_to_a_threshold() -> None:
    assert (score_text(79.99), score_text(80.0), score_text(None)) == ("79.9", "80", "–")


def test_what_the_system_owes_and_what_was_expected_is_told() -> None:
    expectations = Expectations(
        asked=2,
        met=1,
        expected=(Expectation(expected="labs[0]", name="TSH"), Expectation(expected="sex", name="male", found_in=("persona", "fhir"))),
        findings=(Finding(severity="major", code="expectations.lab", path="expected.labs[0]", message="expected lab is in neither persona nor outputs: TSH"),),
    )
    failures = (Failure(component="generate.fhir", kind="system", code="timeout"), Failure(component="persona", kind="system", code="status_503"))
    text = printed(EXAMPLE.model_copy(update={"status": "unscored", "failures": failures, "expectations": expectations}), verbose=True)
    assert "- NOT EVALUATED  diabetes-001" in text
    assert "  generate.fhir: no answer in time\n  persona: the system answered 503\n" in text
    assert "Expectations: 1 of 2 met\n    • expected lab is in neither persona nor outputs: TSH\n  TSH: not found\n  male: persona, fhir\n" in text
    assert "  - Not evaluated: 1\n" in text


def test_a_test_that_nothing_was_validated_of_says_why() -> None:
    skipped = (NotChecked(check="ccda", reason="not validated by this version"),)
    text = printed(EXAMPLE.model_copy(update={"status": "unscored", "scores": {}, "findings": (), "not_checked": skipped}))
    assert text.startswith("- NOT EVALUATED  diabetes-001 (diabetes_management)\n  ccda: not validated by this version\n")


def test_nothing_that_a_terminal_interprets_comes_through() -> None:
    text = printed(EXAMPLE.model_copy(update={"findings": (Finding(severity="major", code="x", path="\x1b[2J", message="\u202e"),)}))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x1b[32m✓ PASS\x1b[0m" in printed(EXAMPLE, colour=True)


def checked(answer: Outcome | Exception, content: Any = "{}") -> Any:
    stopped = []

    def ask(data: bytes) -> Outcome:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run() -> Any:
        with ConformanceChecks(Outside({}, conformance_of), lambda: (ask, lambda: stopped.append(1))) as checks:
            return await checks.check("fhir", content)

    told = asyncio.run(run())
    assert stopped == [1]
    return told


def test_the_fhir_validator_s_issues_are_told_without_its_text() -> None:
    issues = (
        Issue("error", "CODE", "Bundle.entry[0].resource/*Patient/Canarybird*/.gender", "the value Canarybird is none"),
        Issue("warning", "W", "", "w"),
        Issue("information", "I", "", "i"),
    )
    told = checked(Outcome(issues))
    assert (told.valid, told.errors, told.warnings) == (False, 1, 1)
    assert [(finding.severity, finding.code, finding.path) for finding in told.findings] == [
        ("major", "conformance.fhir.CODE", "Bundle.entry[0].resource.gender"),
        ("minor", "conformance.fhir.W", ""),
    ]
    assert "Canarybird" not in told.model_dump_json()
    assert "does not conform (HL7 FHIR validator: 1 error, 1 warning)" in printed(EXAMPLE.model_copy(update={"conformance": (told,)}))


def test_a_validator_that_fails_on_one_document_is_not_checked() -> None:
    told = checked(NoVerdict("failed on this resource"))
    assert (told.valid, told.reason) == (None, "failed on this resource")
