import json

from hypothesis import given
from hypothesis import strategies as st

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.report import FINDINGS_MAX, Report

HEADER = (
    "MSH|^~\\&|A^1.2.3^ISO|B|C|D|20240101120000+0000||ORU^R01^ORU_R01|1|T|2.5.1\rPID|1||1^^^A&1.2.3&ISO^MR||Doe^Jo^^^^^L||19800229|F\r"
    "OBR|1||1^LAB|24323-8^Panel^LN|||20240101120000+0000|||||||||||||||20240101120000+0000|||F\r"
)


def observation(number: int, value: str = "1", status: str = "F") -> str:
    return f"OBX|{number}|NM|2345-7^Glucose^LN|{number}|9{value}|mg/dl|||||{status}\r"


def report_of(severities: list[Severity]) -> Report:
    report = Report()
    report.add(*(Finding(severity=severity, code=f"structure.{severity}", path=f"p[{place}]", message="m") for place, severity in enumerate(severities)))
    return report


def test_the_last_of_many_findings_counts_like_the_first_in_hl7v2() -> None:
    good, bad = "".join(observation(number) for number in range(2, 700)), observation(1, value="x", status="Q")
    last, first = validate_document(HEADER + good + bad), validate_document(HEADER + bad + good)
    assert (last.valid, last.scores.label, last.scores.values) == (first.valid, first.scores.label, first.scores.values)
    assert (last.valid, last.scores.label) == (False, "Warn")
    assert len(last.report.findings) == FINDINGS_MAX
    assert any(finding.severity == "major" for finding in last.report.findings)


def test_the_last_of_many_findings_counts_like_the_first_in_fhir() -> None:
    def bundle(*resources: object) -> str:
        return json.dumps(
            {"resourceType": "Bundle", "type": "collection", "entry": [{"fullUrl": f"urn:uuid:{i}", "resource": one} for i, one in enumerate(resources)]}
        )

    mild = [{"resourceType": "Patient", "name": [{"family": " "}]}] * 60
    grave = {"resourceType": "Patient", "gender": "x"}
    last, first = validate_document(bundle(*mild, grave)), validate_document(bundle(grave, *mild))
    assert last.scores.values == first.scores.values
    assert last.valid is first.valid is False


@given(st.lists(st.sampled_from(["critical", "major", "minor", "info"]), max_size=3 * FINDINGS_MAX))
def test_every_finding_is_counted_and_the_grave_ones_are_kept(severities: list[Severity]) -> None:
    report = report_of(severities)
    assert {severity: times for (_, severity), times in report.counts().items()} == {one: severities.count(one) for one in set(severities)}
    assert report.total == len(severities) == len(report.findings) + report.dropped
    assert {finding.code for finding in report.findings} == {f"structure.{one}" for one in severities}
    grave = sum(one in {"critical", "major"} for one in severities)
    milder = len({one for one in severities if one in {"minor", "info"}})
    assert sum(finding.severity in {"critical", "major"} for finding in report.findings) >= min(grave, FINDINGS_MAX - milder)


def test_what_two_rules_say_in_the_same_words_counts_once() -> None:
    said = Finding(severity="major", code="structure.x", path="p", message="m")
    report = Report()
    report.add(said, said, said.model_copy(update={"path": "q"}))

    assert report.findings == [said, said.model_copy(update={"path": "q"})]
    assert report.counts() == {("structure.x", "major"): 2}


def test_a_bound_never_hides_the_only_finding_of_a_check() -> None:
    many = [Finding(severity="major", code="structure.many", path=f"p[{place}]", message="m") for place in range(2 * FINDINGS_MAX)]
    rare = [Finding(severity=severity, code=f"texts.{severity}", path="q", message="m") for severity in ("info", "minor", "critical")]
    report = Report()
    report.add(*many, *rare)
    assert [finding.code for finding in report.findings if finding.path == "q"] == [finding.code for finding in reversed(rare)]
    assert report.counts()["structure.many", "major"] == 2 * FINDINGS_MAX


def test_the_rarest_code_of_a_message_is_told_beyond_the_bound_in_hl7v2() -> None:
    validated = validate_document(HEADER + "".join(observation(number) for number in range(1, 700)) + "ZZZ|1\rOBX|700|XX|1^a^LN|1|1||||||F\r")
    assert {code for code, _ in validated.report.counts()} == {finding.code for finding in validated.report.findings}
