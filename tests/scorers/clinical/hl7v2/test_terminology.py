import pytest

from tests.scorers.clinical.hl7v2.messages import NOW, OBX, admission, result
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.formats.hl7v2 import terminology, validate
from touchstone.scorers.clinical.report import Context, Report


class Source:
    """A membership source that holds nothing but what it is told to hold."""

    def __init__(self, *members: str, answer: Membership = "not_member") -> None:
        self.members = members
        self.answer: Membership = answer
        self.asked: list[tuple[str, str]] = []

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        self.asked.append((system, code))
        return ("member", None) if code in self.members else (self.answer, "closed" if self.answer == "not_checked" else None)


def of(data: bytes, source: Source | None = None) -> Report:
    return validate(data, Context(now=lambda: NOW), source=source)


def told(data: bytes, source: Source | None = None) -> list[tuple[str, str, str]]:
    return [(found.severity, found.code, found.path) for found in of(data, source).findings if found.code.startswith("terminology.")]


def coded(code: str, system: str) -> bytes:
    return result(f"OBX|1|CWE|94500-6^RNA^LN||{code}^Shown^{system}||||||F")


@pytest.mark.parametrize(
    ("code", "system", "severity", "finding"),
    [
        ("73211008", "SCT", "major", "terminology.form"),
        ("73211008", "2.16.840.1.113883.6.96", "major", "terminology.form"),
        ("94500-7", "LN", "major", "terminology.form"),
        ("E11.99", "I10C", "major", "terminology.membership"),
        ("E119", "I10C", "minor", "terminology.spelling"),
        ("E11", "I10C", "info", "terminology.header"),
    ],
)
def test_a_code_that_its_system_cannot_hold_is_told_at_its_field(code: str, system: str, severity: str, finding: str) -> None:
    assert (severity, finding, "OBX[1]-5") in told(coded(code, system))


@pytest.mark.parametrize(("code", "system"), [("260415000", "SCT"), ("E11.9", "I10C"), ("anything", "99LAB"), ("I10", "I10"), ('""', "LN"), ("whatever", "L")])
def test_good_codes_and_codes_of_other_systems_are_no_fault(code: str, system: str) -> None:
    assert told(coded(code, system)) == []


def test_an_alternate_code_and_a_repetition_are_looked_at_too() -> None:
    assert told(admission("DG1|1||I10^x^L^I99.99^y^I10C|||W")) == [("major", "terminology.membership", "DG1[1]-3")]
    assert told(result("OBX|1|CWE|94500-6^RNA^LN||260415000^a^SCT~73211008^b^SCT||||||F")) == [("major", "terminology.form", "OBX[1]-5[2]")]


def test_each_distinct_code_is_asked_once_and_counted() -> None:
    source = Source("718-7")
    report = of(result(*[OBX.replace("OBX|1|", f"OBX|{number}|").replace("^LN||", f"^LN|{number}|") for number in range(1, 6)]), source)

    assert source.asked.count(("http://loinc.org", "718-7")) <= 1
    assert report.rules_fired["terminology"] == 1


def test_a_source_decides_what_no_shipped_table_holds() -> None:
    data = coded("260415000", "SCT")

    assert told(data, Source("94500-6", "718-7", "260415000")) == []
    assert ("major", "terminology.membership", "OBX[1]-5") in told(data, Source("94500-6", "718-7"))


def test_what_was_not_checked_is_named_with_its_reason() -> None:
    report = of(result("OBX|1|CWE|94500-6^RNA^LN||260415000^a^SCT^1^b^99LAB||||||F"))
    named = {(rule.check, rule.reason) for rule in report.not_checked}

    assert ("membership in SNOMED CT", "no table or server for SNOMED CT") in named
    assert (terminology.OTHER_SYSTEMS.check, terminology.OTHER_SYSTEMS.reason) in named
    closed = of(coded("260415000", "SCT"), Source(answer="not_checked"))
    assert ("membership in SNOMED CT", "closed") in {(rule.check, rule.reason) for rule in closed.not_checked}


def test_questions_of_one_document_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminology, "QUESTIONS_MAX", 3)
    source = Source(answer="not_checked")
    report = of(result(*[f"OBX|{number}|CWE|94500-6^RNA^LN|{number}|{number}000^a^RXNORM||||||F" for number in range(1, 9)]), source)

    assert len(source.asked) <= 3
    assert report.rules_fired["terminology"] == 3
    assert terminology.TOO_MANY in report.not_checked


def test_a_slow_source_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminology, "ASKING_S_MAX", -1.0)
    source = Source()
    report = of(coded("260415000", "SCT"), source)

    assert source.asked == []
    assert terminology.TOO_SLOW in report.not_checked


def test_units_of_results_are_left_to_the_units_check() -> None:
    findings = of(result(OBX.replace("g/dL^gram per deciliter^UCUM", "mmHg^x^UCUM"))).findings

    assert [found.code for found in findings if found.path == "OBX[1]-6" and found.severity == "major"] == ["units.invalid"]
