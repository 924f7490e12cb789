from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks import datetimes, identifiers, plausibility, scores, unit_checks, valuesets
from touchstone.scorers.clinical.report import Context, Report

#: A check, asked when its test runs: units take a second to load, and every process of a parallel run collects every test.
Find = Callable[[], list[Finding]]
CONTEXT = Context(now=lambda: datetime(2026, 6, 15, tzinfo=UTC))
QUOTING = Context(now=CONTEXT.now, quote=True)


def line(finding: Finding) -> str:
    return f"[{finding.severity}] {finding.path}: {finding.message}"


PRIORITY_3: list[tuple[Find, str]] = [
    (
        lambda: valuesets.check_code("administrative-gender", "X", "Patient.gender", CONTEXT),
        "[major] Patient.gender: Invalid code for Administrative gender. Valid values: male, female, other, unknown",
    ),
    (lambda: valuesets.check_code("HL70078", "AB", "OBX[1]-8", CONTEXT), "[major] OBX[1]-8: Invalid code for Interpretation codes. Valid values: <, >, A, AA,"),
    (
        lambda: valuesets.check_code("condition-clinical", "current", "Condition[0].clinicalStatus", CONTEXT),
        "[minor] Condition[0].clinicalStatus: Invalid code for Condition clinical status. Valid values: active, recurrence, relapse,",
    ),
]
PRIORITY_5: list[tuple[Find, str]] = [
    (
        lambda: identifiers.check_assigning_authority("PID-3", CONTEXT, universal_id="5.16.840", universal_id_type="ISO"),
        "[major] PID-3: Assigning authority OID invalid - OID first arc must be 0, 1, or 2",
    ),
    (
        lambda: identifiers.check_fhir_identifier({"system": "hospital-mrn", "value": "1"}, "Patient.identifier[0]", CONTEXT),
        "[minor] Patient.identifier[0].system: URI must contain a scheme (e.g., http:, urn:, oid:)",
    ),
    (
        lambda: identifiers.check_assigning_authority("PID-3", CONTEXT, universal_id="2.999.7", universal_id_type="ISO"),
        "[info] PID-3: Assigning authority uses non-standard OID root",
    ),
]
PRIORITY_6: list[tuple[Find, str]] = [
    (
        lambda: datetimes.check_hl7v2("20260204143000", "MSH-7", CONTEXT, zone="required"),
        "[major] MSH-7: Timezone offset required (use +/-ZZZZ format, e.g., -0500)",
    ),
    # Minor in the specification; a violation of R4's type (corrections, Clinical 2).
    (
        lambda: datetimes.check_fhir("2026-02-04T14:30:00", "dateTime", "Patient.effectiveDateTime", CONTEXT),
        "[major] Patient.effectiveDateTime: Time without timezone may cause interpretation issues",
    ),
    (
        lambda: datetimes.check_hl7v2("20260204143000", "OBX[1]-14", CONTEXT, zone="recommended"),
        "[minor] OBX[1]-14: Timezone recommended for clinical timestamps",
    ),
]
PRIORITY_8: list[tuple[Find, str]] = [
    # Major in the specification; UCUM accepts it (corrections, Clinical 1).
    (
        lambda: unit_checks.check_unit("mg/dl", "Observation[0].valueQuantity.unit", CONTEXT),
        "[minor] Observation[0].valueQuantity.unit: Unit is valid UCUM; an upper-case L for litre is preferred",
    ),
    (lambda: unit_checks.check_unit("mmHg", "OBX[1]-6", QUOTING), "[major] OBX[1]-6: Invalid UCUM unit: 'mmHg'"),
    (lambda: unit_checks.check_unit("[fth_us]", "referenceRange", CONTEXT), "[minor] referenceRange: Unit not in common list, may need verification"),
]
PRIORITY_9: list[tuple[Find, str]] = [
    (
        lambda: plausibility.judge_value(350, "Observation[0].valueQuantity", CONTEXT, unit="/min", loinc="8867-4").findings,
        "[critical] Observation[0].valueQuantity: Heart rate value is outside physiologically possible range (20-300 /min)",
    ),
    (
        lambda: plausibility.judge_value(650, "Observation[1].valueQuantity", CONTEXT, unit="mg/dL", loinc="2339-0").findings,
        "[major] Observation[1].valueQuantity: Blood glucose value is critically high (> 600 mg/dL)",
    ),
    (
        lambda: plausibility.check_blood_pressure(110, 120, "Observation[2].component", CONTEXT),
        "[major] Observation[2].component: Systolic must be greater than diastolic blood pressure",
    ),
]
SAMPLE_OUTPUT: list[tuple[Find, str]] = [
    (
        lambda: datetimes.check_fhir("2027-01-01", "dateTime", "Condition[0].onsetDateTime", CONTEXT, future="major"),
        "[major] Condition[0].onsetDateTime: Date is in the future",
    ),
]


@pytest.mark.parametrize(("find", "expected"), [*PRIORITY_3, *PRIORITY_5, *PRIORITY_6, *PRIORITY_8, *PRIORITY_9, *SAMPLE_OUTPUT])
def test_the_example_line_is_made(find: Find, expected: str) -> None:
    (found,) = find()
    assert line(found).startswith(expected)


def test_the_examples_suggestions_are_made() -> None:
    assert unit_checks.check_unit("mg/dl", "p", CONTEXT)[0].suggestion == "Use 'mg/dL'"
    assert unit_checks.check_unit("mmHg", "p", CONTEXT)[0].suggestion == "Use 'mm[Hg]' instead of 'mmHg'"


def test_the_value_is_named_where_quoting_is_asked_for() -> None:
    (finding,) = plausibility.judge_value(350, "p", QUOTING, unit="/min", loinc="8867-4").findings
    assert finding.message.endswith(": '350'")
    (finding,) = plausibility.check_blood_pressure(110, 120, "p", QUOTING)
    assert finding.message.endswith(": '110/120'")


@pytest.mark.parametrize(
    ("examples", "check", "score"),
    [
        (PRIORITY_3, "valuesets", 78),
        (PRIORITY_5, "identifiers", 88),
        (PRIORITY_6, "datetimes", 78),
        (PRIORITY_8, "units", 86),
        (PRIORITY_9, "plausibility", 60),
    ],
)
def test_the_examples_score_by_the_penalties(examples: list[tuple[Find, str]], check: str, score: float) -> None:
    # The specification prints 85, 85, 85, 85 and 77 beside them, which its own penalties do not give (corrections, Clinical 7).
    report = Report()
    for find, _ in examples:
        report.add(*find())
    report.fired(check, len(examples))
    (scored,) = scores.score_checks(report)
    assert (scored.name, scored.score) == (check, score)


def test_the_sample_output_s_overall_is_that_of_its_parts() -> None:
    overall, missing = scores.overall_score(100, 100, 64)
    assert (overall, missing, scores.label_of(overall)) == (82, (), "Pass")
