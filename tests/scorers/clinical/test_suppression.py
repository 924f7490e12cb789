"""Known issues are suppressed by a list, and every report says so."""

from __future__ import annotations

import json
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.clinical.settings import ClinicalSettings, fingerprint
from touchstone.scorers.clinical.suppression import Entry, SuppressionCounts, SuppressList, read_list
from touchstone.scorers.clinical.trace_scoring import score_trace

PATIENT = json.dumps({"resourceType": "Patient", "gender": "X", "birthDate": "2001-02-30"})
DAY = date(2026, 6, 1)


def entry(**given: Any) -> Entry:
    return Entry.model_validate({"reason": "known", "expires": DAY, **given})


def finding(code: str = "fhir.bindings.required", path: str = "Patient.name[1].use", message: str = "m", severity: Any = "major") -> Finding:
    return Finding(severity=severity, code=code, path=path, message=message)


def written(folder: Path, *entries: str) -> Path:
    path = folder / "known.toml"
    path.write_text("\n".join(f"[[suppress]]\n{one}" for one in entries), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        ({"code": "fhir.bindings.required"}, True), ({"code": "fhir.bindings"}, False), ({"code": "fhir.*"}, True), ({"path": "Patient.name.use"}, True),
        ({"path": "Patient.name[1].use"}, True), ({"path": "Patient.name[0].use"}, False), ({"path": "*.use"}, True), ({"path": "name.use"}, False),
        ({"code": "fhir.bindings.required", "path": "Patient.gender"}, False), ({"profile": "us-core-patient"}, False),
    ],
)  # fmt: skip
def test_all_that_an_entry_names_must_match(given: dict[str, str], matches: bool) -> None:
    assert entry(**given).matches(finding()) is matches
    assert entry(**given).matches(finding(path="outputs.fhir[2]/Patient.name[1].use")) is matches


def test_a_path_without_the_number_of_a_message_or_line_means_each_of_a_batch() -> None:
    for path, inside in (("PID-8", "message[12]/PID-8"), ("OBX[2]-5", "message[1]/OBX[2]-5"), ("Patient.name.use", "Line[3].Patient.name[0].use")):
        assert entry(path=path).matches(finding(path=inside))
        assert entry(path=path).matches(finding(path=f"outputs.hl7v2/{inside}"))
        assert entry(path=inside).matches(finding(path=inside))
    assert not entry(path="message[2]/PID-8").matches(finding(path="message[12]/PID-8"))


def test_a_pattern_of_many_asterisks_is_not_slow() -> None:
    long_path = "a" * 400
    assert not entry(path="*a" * 200 + "b").matches(finding(path=long_path))
    assert entry(path="*a" * 200).matches(finding(path=long_path))
    assert entry(path="a*b*b").matches(finding(path="a.b.b"))
    assert not entry(path="a*bb*b").matches(finding(path="a.bb"))


@pytest.mark.parametrize(
    ("profile", "matches"),
    [("us-core-patient", True), ("us-core-patient|6.1.0", True), ("us-core-patient|3.1.1", False), ("us-core", False), ("http://x/us-core-patient", True)],
)
def test_a_profile_is_matched_with_or_without_its_version(profile: str, matches: bool) -> None:
    of_profile = entry(profile=profile)
    assert of_profile.matches(finding("fhir.profiles.missing", message="profile us-core-patient|6.1.0 asks for at least 1 name")) is matches
    assert of_profile.matches(finding("fhir.invariants.us-core-6", message="profile us-core-patient|6.1.0: a name")) is matches
    assert not of_profile.matches(finding("identifiers.oid", message="profile us-core-patient|6.1.0: a name"))


@pytest.mark.parametrize(
    ("profile", "code", "message", "matches"),
    [
        ("us-core-patient|6.1.0", "fhir.profiles.type", "it claims the profile us-core-patient|6.1.0, which is for Patient, and is a Group", True),
        ("us-core-patient", "fhir.profiles.must-support", "must-support in the profile us-core-patient, and nowhere in the document", True),
        ("ELR 2.5.1", "profile.value-set", "ELR 2.5.1: the code is not in the value set HL70001", True),
        ("ELR|2.5.1", "profile.required-field", "ELR 2.5.1 requires a value of Name (usage R)", True),
        ("ELR", "profile.statement", "ELR 2.5.1, statement 3: it must be", True),
        ("ELR", "profile.required-segment", "The declared ELR profile requires the segment SFT", True),
        ("EL", "profile.statement", "ELR 2.5.1, statement 3: it must be", False),
        ("2.5.1", "profile.statement", "ELR 2.5.1, statement 3: it must be", False),
        ("Name", "profile.required-field", "ELR 2.5.1 requires a value of Name (usage R)", False),
    ],
)
def test_a_profile_is_matched_in_every_code_that_carries_one(profile: str, code: str, message: str, matches: bool) -> None:
    assert entry(profile=profile).matches(finding(code, message=message)) is matches


def test_a_critical_finding_is_suppressed_only_if_the_entry_says_so() -> None:
    critical = finding("fhir.structure.depth", severity="critical")
    assert not entry(code="fhir.structure.depth").matches(critical)
    assert entry(code="fhir.structure.depth", critical=True).matches(critical)


@pytest.mark.parametrize(
    "given",
    [
        {"code": "fhir.structure.depth", "critical": True}, {"code": "ccda.xml.syntax", "path": "Line[2].*", "critical": True},
        {"code": "fhir.json.syntax", "profile": "us-core-patient", "critical": True}, {"code": "fhir.*"}, {"path": "Patient.*", "critical": False},
    ],
)  # fmt: skip
def test_an_entry_for_critical_findings_names_one_code_and_others_may_be_patterns(given: dict[str, Any]) -> None:
    assert entry(**given).critical is given.get("critical", False)


@pytest.mark.parametrize(
    ("content", "code", "valid"),
    [
        (PATIENT + '\n{"resourceType": "Pati\n{"resourceType": "Patient"}', "fhir.json.syntax", False),
        ('{"resourceType": "Patient"}\n{"resourceType": "Pati\n{"resourceType": "Patient"}', "fhir.json.syntax", True),
        ('{"resourceType": "Patient"', "fhir.json.syntax", None),
        ('<ClinicalDocument xmlns="urn:hl7-org:v3"><id', "ccda.xml.syntax", None),
    ],
)
def test_a_part_that_could_not_be_read_is_not_checked_although_its_finding_is_suppressed(content: str, code: str, valid: bool | None, tmp_path: Path) -> None:
    settings = ClinicalSettings(suppress=written(tmp_path, f'code = "{code}"\nreason = "known"\nexpires = 9999-01-01\ncritical = true'))
    validated = DocumentValidator(settings).validate(content)
    assert validated.valid is valid
    assert any("could not be read; the suppress list hides" in skipped.reason for skipped in validated.report.not_checked)
    assert not any("could not be read" in skipped.reason for skipped in DocumentValidator().validate(content).report.not_checked)


def test_an_entry_suppresses_until_its_last_day() -> None:
    for today, left in ((DAY, 0), (date(2026, 6, 2), 1)):
        report = Report(findings=[finding()])
        SuppressList([entry(code="fhir.*")], today).apply(report)
        assert len(report.findings) == left


def test_findings_beyond_the_bound_are_suppressed_by_their_code_alone() -> None:
    report = Report()
    report.drop("a", "major")
    report.drop("b", "major")
    report.drop("a", "critical")
    SuppressList([entry(code="a"), entry(code="b", path="*")], DAY).apply(report)
    assert report.counts() == {("b", "major"): 1, ("a", "critical"): 1}
    assert report.suppressed == {"a": 1}


def test_suppressed_findings_count_in_no_score_and_label_and_alike_from_python_and_in_a_trace(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'code = "fhir.bindings.required"\npath = "Patient.gender"\nreason = "known"\nexpires = 9999-01-01',
        'code = "fhir.primitives.*"\nreason = "known"\nexpires = 9999-01-01',
    )
    settings = ClinicalSettings(suppress=path)
    validator = DocumentValidator(settings)
    alone = validator.validate(PATIENT)
    assert (alone.valid, alone.scores.label, alone.scores.overall) == (True, "Pass", 100.0)
    assert alone.report.suppressed == {"fhir.bindings.required at Patient.gender": 1, "fhir.primitives.*": 1}
    card = score_trace(ProductionTrace.model_validate({"traceId": "t", "outputs": {"fhir": {"content": PATIENT}}}), validator, settings)
    assert (card.label, card.details["valid"], card.details["suppressed"]) == ("Pass", True, dict(alone.report.suppressed))
    assert DocumentValidator(ClinicalSettings()).validate(PATIENT).valid is False


def test_a_contradiction_between_documents_can_be_suppressed(tmp_path: Path) -> None:
    document = json.dumps({"resourceType": "Patient", "name": [{"family": "Doe", "given": ["Jo"]}], "birthDate": "1960-01-01"})
    trace = ProductionTrace.model_validate({
        "traceId": "t", "persona": {"name": "Jo Doe", "birthDate": "1970-01-01"}, "outputs": {"fhir": {"content": document}},
    })  # fmt: skip
    for path, contradicts in ((None, True), (written(tmp_path, 'code = "consistency.*"\nreason = "known"\nexpires = 9999-01-01'), False)):
        settings = ClinicalSettings(suppress=path)
        card = score_trace(trace, DocumentValidator(settings), settings)
        assert any(one.code.startswith("consistency.") for one in card.findings) is contradicts
        assert card.label == ("Warn" if contradicts else "Pass")


def test_the_configuration_digest_contains_the_entries_in_force(tmp_path: Path) -> None:
    def printed(expires: str) -> Any:
        return fingerprint(ClinicalSettings(suppress=written(tmp_path, f'code = "a"\nreason = "r"\nexpires = {expires}')))["suppress"]

    assert printed("9999-01-01") != printed("2000-01-01") == []
    assert "suppress" not in fingerprint(ClinicalSettings())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = [", "is not TOML"),
        ('[[suppress]]\ncode = "a"\nexpires = 2030-01-01', "entry 1: reason is missing"),
        ('[[suppress]]\ncode = "a"\nreason = "r"', "expires is missing"),
        ('[[suppress]]\nreason = "r"\nexpires = 2030-01-01', "name a code, a path or a profile"),
        ('[[suppress]]\ncode = "a"\nreason = " "\nexpires = 2030-01-01', "reason"),
        ('[[suppress]]\ncode = "*"\npath = "**"\nreason = "r"\nexpires = 2030-01-01', r"entry 1: name a code, a path or a profile; \* alone"),
        ('[[suppress]]\ncode = "a"\nreason = "r"\nexpires = "soon"', "entry 1: expires must be a date, such as 2027-01-31$"),
        ('[[suppress]]\ncode = "a"\nreason = "r"\nexpires = 2030-01-01T12:00:00', "entry 1: expires must be a date, such as 2027-01-31$"),
        ('[[suppress]]\ncode = "a"\nreason = "r"\nexpires = 2030-01-01\nseverity = "x"', "severity"),
        ('[[suppress]]\ncode = "fhir.*"\nreason = "r"\nexpires = 2030-01-01\ncritical = true', r"entry 1: with critical = true, name one code in full"),
        ('[[suppress]]\ncode = "*.s*"\nreason = "r"\nexpires = 2030-01-01\ncritical = true', "name one code in full"),
        ('[[suppress]]\ncode = "fhir.*"\npath = "P*"\nreason = "r"\nexpires = 2030-01-01\ncritical = true', "name one code in full"),
        ('[[suppress]]\npath = "Patient.*"\nreason = "r"\nexpires = 2030-01-01\ncritical = true', "name one code in full"),
        ('[[suppress]]\nprofile = "p"\nreason = "r"\nexpires = 2030-01-01\ncritical = true', "name one code in full"),
        ('[[supress]]\ncode = "a"', "supress"),
        ('[[suppress]]\ncode = "a"\nreason = "r"\nexpires = 2030-01-01\n' * 2, "has two entries for a"),
    ],
)
def test_a_malformed_list_is_one_message(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=expected) as raised:
        DocumentValidator(ClinicalSettings(suppress=path))
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_list_may_be_json_and_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text('{"suppress": [{"code": "a", "reason": "r", "expires": "2030-01-01"}]}', encoding="utf-8")
    assert [one.name for one in read_list(path).entries] == ["a"]
    with pytest.raises(ConfigError, match="cannot be read"):
        read_list(tmp_path / "absent.toml")


LAST = '"reason": "r", "expires": "2030-01-01"}]}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'{"suppress": [{"code": "\ud800", ' + LAST, "entry 1: code holds half of a surrogate pair"),
        (r'{"suppress": [{"code": "a", "reason": "r", "expires": "2030-01-01"}, {"path": "P\udfff", ' + LAST, "entry 2: path holds half"),
        (r'{"suppress": [{"\ud800": "a", ' + LAST, r"entry 1: \\ud800: unknown key"),
        (r'{"\ud800": []}', r"\\ud800: unknown key"),
        ('{"suppress": [{"code": 5, ' + LAST, "entry 1: code is not a string"),
        ('{"suppress": [{"code": "a", "code": "b", ' + LAST, "code: given twice; keep one"),
        ('{"suppress": [], "suppress": [{"code": "b", ' + LAST, "suppress: given twice; keep one"),
        ('{"suppress": [{"code": "a", "reason": "r", "expires": ' + "9" * 5_000 + "}]}", "too many digits"),
        ('{"suppress": [{"code": "a", "reason": "r", "expires": NaN}]}', "entry 1: expires must be a date"),
        ('{"suppress": ' + "[" * 5_000 + "]" * 5_000 + "}", "nested too deep"),
        ('{"suppress": [\n{"code": ', "line 2: not valid JSON"),
        ("[]", "not a JSON object"),
    ],
)
def test_a_malformed_json_list_names_the_entry_and_its_field_in_printable_text(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=expected) as raised:
        read_list(path)
    assert str(raised.value).startswith("suppress: ")
    assert str(path) in str(raised.value)
    assert str(raised.value).encode().count(b"\n") == 0


def test_an_empty_name_of_a_list_is_told_as_such() -> None:
    with pytest.raises(ConfigError, match=r"is a folder \(so is an empty name\); name the file"):
        read_list(Path())


def test_a_report_names_what_was_suppressed_what_expired_and_what_matched_nothing() -> None:
    known = SuppressList([entry(code="used"), entry(code="unused"), entry(code="over", expires=date(2020, 1, 1))], DAY)
    counts = SuppressionCounts(known, {"used": 3, "elsewhere": 1})
    assert counts.lines() == [
        "used: 3 suppressed until 2026-06-01 (known)",
        "unused: 0 suppressed until 2026-06-01 (known); matched nothing: take it out",
        "over: 0 suppressed until 2020-01-01 (known); expired: suppresses nothing; renew it or take it out",
        "elsewhere: 1 suppressed; not in the list at hand",
    ]
    assert counts.idle == {"unused": "unmatched", "over": "expired"}
    assert counts.in_short == "4 findings suppressed; expired in the suppress list: 1; matched nothing in the suppress list: 1"
    assert SuppressionCounts(SuppressList(), {}).table() is None


def test_a_list_that_changes_after_the_start_changes_neither_scores_nor_report(tmp_path: Path) -> None:
    settings = ClinicalSettings(suppress=written(tmp_path, 'code = "a"\nreason = "r"\nexpires = 9999-01-01'))
    before = fingerprint(settings)
    written(tmp_path, 'code = "b"\nreason = "r"\nexpires = 9999-01-01')
    assert [one.name for one in settings.suppressions.entries] == ["a"]
    assert fingerprint(settings) == before
    assert [one.name for one in pickle.loads(pickle.dumps(settings)).suppressions.entries] == ["a"]
