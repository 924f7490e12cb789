import pytest

from touchstone.scorers.clinical.checks import terminology
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.report import Context

CONTEXT = Context()


class Source:
    def __init__(self, answers: dict[str, Membership]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        self.asked.append((system, code))
        answer = self.answers.get(code, "not_checked")
        return answer, "no answer" if answer == "not_checked" else None


def told(system: object, code: object, source: Source | None = None) -> tuple[list[tuple[str, str]], str, str | None]:
    checked = terminology.check_code(system, code, "p", CONTEXT, source=source)
    return [(finding.severity, finding.code) for finding in checked.findings], checked.membership, checked.reason


@pytest.mark.parametrize(
    "name", ["http://hl7.org/fhir/sid/icd-10-cm", "2.16.840.1.113883.6.90", "urn:oid:2.16.840.1.113883.6.90", "I10C", "ICD-10-CM", " i10c "]
)
def test_a_code_system_is_known_by_each_of_its_names(name: str) -> None:
    assert terminology.code_system(name) is terminology.ICD10CM


@pytest.mark.parametrize("name", [None, "", "99LAB", "http://hl7.org/fhir/sid/icd-10", 7, "x" * 10_000])
def test_other_names_are_of_no_code_system(name: object) -> None:
    assert terminology.code_system(name) is None


@pytest.mark.parametrize("code", ["E11.9", "I10", "S00.01XA", "U07.1", "Z79.899", "C4A.0"])
def test_icd_members_are_told_without_a_server(code: str) -> None:
    assert told("I10C", code) == ([], "member", None)


def test_an_icd_code_that_is_in_no_list_is_not_a_member() -> None:
    findings, membership, _ = told("I10C", "E11.99")
    assert (findings, membership) == ([("major", "terminology.membership")], "not_member")


def test_a_header_is_a_member_but_not_billable() -> None:
    assert told("I10C", "E11")[:2] == ([("info", "terminology.header")], "member")
    assert terminology.is_icd10cm_header("E11")
    assert not terminology.is_icd10cm_header("E11.9")


def test_a_slip_of_spelling_is_minor_and_still_a_member() -> None:
    assert told("I10C", "E119")[:2] == ([("minor", "terminology.spelling")], "member")
    assert told("I10C", "e11.9")[:2] == ([("minor", "terminology.spelling")], "member")


@pytest.mark.parametrize(
    ("system", "code"),
    [("SCT", "73211008"), ("LN", "8867-5"), ("RXNORM", "0123"), ("CVX", "8"), ("NDC", "1"), ("I10C", "nix"), ("SCT", None), ("LN", 5), ("LN", "8" * 1000)],
)
def test_a_bad_form_is_major_and_no_member(system: str, code: object) -> None:
    assert told(system, code)[:2] == ([("major", "terminology.form")], "not_member")


@pytest.mark.parametrize(
    ("system", "code"),
    [("SCT", "73211009"), ("LN", "4548-5"[:4] + "-4"), ("RXNORM", "860975"), ("CVX", "140"), ("99LAB", "anything"), ("http://example.org", "x")],
)
def test_without_table_or_server_membership_is_not_checked_and_no_fault(system: str, code: str) -> None:
    findings, membership, reason = told(system, code)
    if membership != "member":
        assert (findings, membership) == ([], "not_checked")
        assert "no table or server" in (reason or "")


def test_loinc_codes_of_our_own_tables_are_members() -> None:
    assert told("LN", "8867-4") == ([], "member", None)


def test_a_source_is_asked_by_the_system_s_url() -> None:
    source = Source({"73211009": "member", "860975": "not_member"})
    assert told("SCT", "73211009", source) == ([], "member", None)
    assert told("RXNORM", "860975", source)[:2] == ([("major", "terminology.membership")], "not_member")
    assert told("RXNORM", "1", source) == ([], "not_checked", "no answer")
    assert told("http://example.org/codes", "x", source) == ([], "not_checked", "no answer")
    assert source.asked[0] == ("http://snomed.info/sct", "73211009")


def test_a_source_may_know_other_editions_of_icd_than_the_table() -> None:
    assert told("I10C", "E11.99", Source({"E11.99": "member"}))[1] == "member"
    assert told("I10C", "E11.99", Source({}))[1] == "not_member"


def test_expressions_are_not_evaluated() -> None:
    assert told("SCT", "64572001:363698007=39057004", Source({}))[1:] == ("not_checked", "post-coordinated expressions are not evaluated")


def test_units_are_codes_of_ucum() -> None:
    assert told("http://unitsofmeasure.org", "mg/dL") == ([], "member", None)
    assert told("http://unitsofmeasure.org", "mEq/L")[:2] == ([("major", "units.invalid")], "not_member")


def test_the_table_names_its_edition() -> None:
    assert terminology.icd10cm_edition().startswith("ICD-10-CM, ")
    assert terminology.icd10cm_edition() in terminology.check_code("I10C", "E11.99", "p", CONTEXT).findings[0].message
