from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.scorers.clinical.ccda.documents import ADDR, PROBLEM, ccd, codes, section, validated, vital, vitals
from touchstone.schemas.case import validate_case
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical import build
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats import ccda
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.clinical.settings import CcdaSettings, ClinicalSettings

ALONE = ClinicalSettings(ccda=CcdaSettings(installed_rules=False))


def interval(low: str, high: str) -> str:
    ends = f"<value xsi:type='IVL_PQ'><low value='{low}' unit='/min'/><high value='{high}' unit='/min'/></value>"
    return vitals(vital("8867-4", "72", "/min").replace("<value xsi:type='PQ' value='72' unit='/min'/>", ends))


def severities(report: Report) -> dict[str, str]:
    return {finding.code: finding.severity for finding in report.findings}


def test_a_sound_document_passes_with_nothing_above_information() -> None:
    found = DocumentValidator(ALONE).validate(ccd())
    assert [finding for finding in found.report.findings if finding.severity != "info"] == []
    assert (found.scores.label, found.valid, found.scores.format, found.scores.terminology) == ("Pass", True, 100, 100)
    assert {
        "templates",
        "structure",
        "identifiers",
        "datetimes",
        "units",
        "plausibility",
        "terminology",
        "valuesets",
        "narrative",
    } <= found.report.rules_fired.keys()


def test_what_was_not_applied_is_named() -> None:
    checks = {skipped.check for skipped in validated(ccd()).not_checked}
    assert {"ccda.rules", "ccda.schema"} <= checks


@pytest.mark.parametrize(
    ("document", "code", "severity", "path"),
    [
        (ccd(leave_out="Allergies"), "ccda.sections.required", "major", "structuredBody"),
        (ccd(vital_signs=""), "ccda.entries.required", "major", "component[6]/section"),
        (ccd(problem=PROBLEM.replace("<statusCode code='active'/>", "")), "ccda.entries.statusCode", "major", "entry/act"),
        (ccd(problem=PROBLEM.replace("code='active'", "code='normal'")), "ccda.entries.status", "major", "act/statusCode"),
        (ccd(problem=PROBLEM.replace("code='active'", "code='going'")), "ccda.valuesets.code", "major", "act/statusCode/@code"),
        (ccd(problem=PROBLEM.replace("4.4", "4.404")), "ccda.entries.holds", "major", "entry/act"),
        (ccd().replace("48765-2", "10160-0"), "ccda.sections.code", "major", "component[1]/section"),
        (ccd().replace("POCD_HD000040", "POCD_HD000041"), "ccda.structure.type-id", "major", "typeId"),
        (ccd().replace('<realmCode code="US"/>', ""), "ccda.templates.header", "major", "ClinicalDocument"),
        (ccd().replace('<birthTime value="19700214"/>', ""), "ccda.templates.header", "major", "patientRole/patient"),
        (ccd().replace(ADDR, "", 1), "ccda.templates.header", "major", "recordTarget/patientRole"),
        (ccd(gender="X"), "ccda.valuesets.code", "major", "administrativeGenderCode/@code"),
        (ccd().replace('maritalStatusCode code="M"', 'maritalStatusCode code="Q"'), "ccda.valuesets.code", "minor", "maritalStatusCode/@code"),
        (ccd().replace('languageCode code="en-US"', 'languageCode code="english language"'), "ccda.valuesets.language", "minor", "languageCode"),
        (ccd().replace('root="2.16.840.1.113883.19.5"', 'root="2.16.840..19.5"', 1), "identifiers.oid", "major", "/@root"),
        (ccd().replace('codeSystem="2.16.840.1.113883.6.1"', 'codeSystem="http://loinc.org"', 1), "identifiers.oid", "major", "/@codeSystem"),
        (ccd().replace("1234567893", "1234567890", 1), "identifiers.npi-check-digit", "major", "/@extension"),
        (
            ccd().replace('<id root="2.16.840.1.113883.19.5" extension="998991"/>', '<id extension="998991"/>'),
            "ccda.identifiers.root",
            "major",
            "patientRole/id",
        ),
        (ccd(document_time="20240301103000"), "datetimes.zone-missing", "major", "ClinicalDocument/effectiveTime/@value"),
        (ccd(document_time="202403"), "datetimes.precision", "major", "ClinicalDocument/effectiveTime/@value"),
        (ccd(document_time="20240230"), "datetimes.calendar", "major", "ClinicalDocument/effectiveTime/@value"),
        (ccd(birth="2.1.1970"), "datetimes.malformed", "major", "birthTime/@value"),
        (ccd(birth="20700214"), "datetimes.future", "minor", "birthTime/@value"),
        (
            ccd(problem=PROBLEM.replace("</effectiveTime><entry", "<high value='20190101'/></effectiveTime><entry")),
            "datetimes.period-order",
            "major",
            "act/effectiveTime",
        ),
        (ccd(vital_signs=vitals(vital("8480-6", "120", "mmHg"))), "units.invalid", "major", "value/@unit"),
        (ccd(vital_signs=vitals(vital("8867-4", "72", "mm[Hg]"))), "units.dimension", "major", "value/@unit"),
        (ccd(vital_signs=vitals(vital("8867-4", "720", "/min"))), "plausibility.impossible", "critical", "observation/value"),
        (ccd(vital_signs=vitals(vital("8867-4", "many", "/min"))), "ccda.observations.number", "major", "value/@value"),
        (
            ccd(vital_signs=vitals(vital("8480-6", "70", "mm[Hg]", 1), vital("8462-4", "90", "mm[Hg]", 2))),
            "plausibility.blood-pressure",
            "major",
            "entry/organizer",
        ),
        (ccd(problem=PROBLEM.replace("E11.9", "E11.99")), "terminology.membership", "major", "observation/value/@code"),
        (ccd(vital_signs=vitals(vital("8480-7", "120", "mm[Hg]"))), "terminology.form", "major", "observation/code/@code"),
        (ccd().replace("<title>", '<title nullFlavor="NIL">', 1), "ccda.nulls.code", "major", "title/@nullFlavor"),
        (ccd(gender='F" nullFlavor="UNK'), "ccda.nulls.contradiction", "minor", "administrativeGenderCode"),
        (ccd(problem=PROBLEM.replace("code='CONC' codeSystem='2.16.840.1.113883.5.6'", "")), "ccda.nulls.empty", "minor", "act/code"),
        (ccd(problem=PROBLEM.replace("#problem1", "#problem2")), "ccda.narrative.reference", "minor", "text/reference/@value"),
        (ccd(problem=PROBLEM.replace("#problem1", "problem1")), "ccda.narrative.reference", "minor", "text/reference/@value"),
        (ccd().replace("ID='vital2'", "ID='vital1'"), "ccda.narrative.id", "major", "/@ID"),
        (
            ccd(extra=section("2.17", "29762-2", "More", text="<linkHtml href='javascript:x()'>y</linkHtml>")),
            "ccda.narrative.script",
            "major",
            "linkHtml/@href",
        ),
        (ccd(extra=section("2.17", "29762-2", "More", text=" ")), "ccda.narrative.empty", "minor", "section/text"),
        (ccd(header="<madeUp/>"), "ccda.structure.element", "minor", "ClinicalDocument/?"),
        (ccd(problem=PROBLEM.replace("<statusCode code='active'/>", "<statusCode/>")), "ccda.nulls.empty", "major", "act/statusCode"),
        (
            ccd(problem=PROBLEM.replace("<effectiveTime><low value='20200110'/></effectiveTime>", "<effectiveTime/>", 1)),
            "ccda.entries.effectiveTime",
            "major",
            "act/",
        ),
        (ccd().replace("34133-9", "11506-3"), "ccda.templates.code", "major", "ClinicalDocument/code/@code"),
        (ccd().replace('realmCode code="US"', 'realmCode code="DE"'), "ccda.templates.header", "major", "realmCode/@code"),
        (ccd().replace(' value="19700214"', ""), "ccda.templates.header", "major", "patient/birthTime"),
        (ccd().replace('<time value="20240301103000-0500"/>', "<time/>"), "ccda.templates.header", "major", "author/time"),
        (ccd().replace('<effectiveTime value="20240301103000-0500"/>', "<effectiveTime/>"), "ccda.templates.header", "major", "ClinicalDocument/effectiveTime"),
        (ccd().replace("<given>Alice</given>", ""), "ccda.templates.header", "major", "patient/name"),
        (ccd().replace("<ClinicalDocument ", "<ClinicalDocument nullFlavor='NI' "), "ccda.nulls.document", "major", "ClinicalDocument/@nullFlavor"),
        (
            ccd().replace('<effectiveTime value="20240301103000-0500"/>', "<effectiveTime nullFlavor='UNK'/>"),
            "ccda.nulls.document",
            "minor",
            "effectiveTime/@nullFlavor",
        ),
        (ccd(gender='" nullFlavor="').replace('code="" nullFlavor=""', ""), "ccda.nulls.empty", "major", "administrativeGenderCode"),
        (ccd().replace('code="F" codeSystem="2.16.840.1.113883.5.1"', 'code="F" codeSystem="1.2.3"'), "ccda.valuesets.system", "minor", "/@codeSystem"),
        (ccd().replace('2106-3" codeSystem="2.16.840.1.113883.6.238"', 'White"'), "ccda.valuesets.code", "minor", "raceCode/@code"),
        (ccd(birth="20240601"), "datetimes.period-order", "major", "patient/birthTime"),
        (ccd(vital_signs=vitals(vital("8867-4", "72", ""))), "ccda.observations.unit", "major", "value/@unit"),
        (ccd(vital_signs=vitals(vital("8867-4", "72", "?").replace(" unit='?'", ""))), "units.dimension", "major", "observation/value"),
        (ccd(vital_signs=vitals(vital("8867-4", "72", "/min").replace("xsi:type='PQ' ", ""))), "ccda.structure.type", "major", "observation/value"),
        (ccd(vital_signs=interval("500", "600")), "plausibility.impossible", "critical", "observation/value"),
        (ccd(vital_signs=interval("90", "60")), "ccda.observations.interval", "major", "observation/value"),
        (ccd(problem=PROBLEM.replace(" moodCode='EVN'", "", 1)), "ccda.structure.attribute", "major", "entry/act"),
        (ccd(problem=PROBLEM.replace("moodCode='EVN'", "moodCode='XYZ'", 1)), "ccda.structure.mood", "major", "act/@moodCode"),
        (ccd(problem=PROBLEM.replace("classCode='ACT'", "classCode='ACT' negationInd='yes'")), "ccda.structure.boolean", "major", "act/@negationInd"),
        (ccd(problem=PROBLEM.replace("#problem1", "")), "ccda.narrative.reference", "minor", "text/reference/@value"),
        (ccd(problem=PROBLEM.replace("#problem1", "elsewhere")), "ccda.narrative.reference", "minor", "text/reference/@value"),
        (ccd(extra=section("2.17", "29762-2", "")), "ccda.narrative.title", "minor", "section/title"),
        (ccd(extra=section("2.17", "29762-2", "More", text="<linkHtml href='java&#9;script:x()'>y</linkHtml>")), "ccda.narrative.script", "major", "/@href"),
        (ccd(extra=section("2.17", "29762-2", "More", text="<paragraph onclick='x()'>y</paragraph>")), "ccda.narrative.script", "major", "paragraph"),
        (ccd(extra=section("2.17", "29762-2", "More", text="<script>x()</script>")), "ccda.narrative.script", "major", "text/?"),
        (
            ccd(extra=section("2.17", "29762-2", "More", attributes=" nullFlavor='NI'", text="<paragraph onload='x()'>y</paragraph>")),
            "ccda.narrative.script",
            "major",
            "paragraph",
        ),
        (ccd().replace("Synthetic summary", "Summary").replace("113883.19", "113883.3"), "ccda.watermarks.none", "info", "ClinicalDocument"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_a_fault_is_told_by_its_code_where_it_is(document: str, code: str, severity: str, path: str) -> None:
    found = [finding for finding in validated(document).findings if finding.code == code]
    assert found
    assert found[0].severity == severity
    assert path in found[0].path


@pytest.mark.parametrize(
    "document",
    [
        ccd(problem=PROBLEM.replace("<low value='20200110'/>", "<low nullFlavor='UNK'/>")),
        ccd(problem=PROBLEM.replace("<low value='20200110'/>", "<low value='2020'/>")),
        ccd(problem=PROBLEM.replace("xsi:type='CD' code='E11.9' codeSystem='2.16.840.1.113883.6.90'", "xsi:type='CD' nullFlavor='UNK'")),
        ccd(header='<x:own xmlns:x="urn:own"><x:part/></x:own>'),
        ccd(header='<sdtc:newerThanThisTable code="a"/>'),
        ccd(problem=PROBLEM.replace("code='E11.9' codeSystem='2.16.840.1.113883.6.90'", "code='anything' codeSystem='2.16.840.1.113883.3.9999'")),
        ccd(extra=section("2.9999", "1-8", "A section of another guide")),
        ccd(birth="1970"),
        ccd(vital_signs=interval("60", "80")),
        ccd(problem=PROBLEM.replace("#problem1", "scan.jpg")),
        ccd(problem=PROBLEM.replace("#problem1", "mid:1@example.org")),
        ccd(document_time="20240301"),
        ccd().replace('<templateId root="2.16.840.1.113883.10.20.22.1.2"/>', '<templateId root="2.16.840.1.113883.10.20.99.1" extension="2099-01-01"/>'),
        ccd(problem=PROBLEM.replace("moodCode='EVN'", "moodCode='INT'").replace("20200110", "20990110")),
        ccd().replace("<patient>", "<patient>\n<!-- a comment -->").replace("?>", '?>\n<?xml-stylesheet type="text/xsl" href="CDA.xsl"?>', 1),
    ],
    ids=[
        "null-low",
        "year",
        "null-value",
        "own-namespace",
        "later-extension",
        "other-system",
        "other-section",
        "birth-year",
        "interval",
        "file",
        "address",
        "day",
        "other-guide",
        "planned",
        "pi",
    ],
)
def test_what_a_conformant_document_may_hold_is_told_nothing_grave(document: str) -> None:
    report = validated(document)
    assert codes(report, "critical", "major") == set()
    assert ccda.is_valid(report)


def test_a_status_that_no_act_has_is_told_once() -> None:
    found = validated(ccd(problem=PROBLEM.replace("code='active'", "code='going'")))
    assert [finding.code for finding in found.findings if finding.path.rpartition("statusCode")[1]] == ["ccda.valuesets.code"]


def test_a_concern_about_an_allergy_needs_no_beginning_as_a_problem_does() -> None:
    allergy = PROBLEM.replace("22.4.3'", "22.4.30'").replace('22.4.3"', '22.4.30"').replace('22.4.4"', '22.4.7"')
    concern = allergy.replace("<effectiveTime><low value='20200110'/></effectiveTime>", "<effectiveTime value='20200110'/>", 1)
    assert "ccda.entries.effectiveTime" not in codes(validated(ccd(extra=section("2.6", "48765-2", "More allergies", concern))))


def test_a_number_whose_unit_is_none_of_ucum_s_is_shown_in_a_translation() -> None:
    pattern = "<value xsi:type='PQ' nullFlavor='OTH'><translation nullFlavor='OTH' value='72'><originalText>beats</originalText></translation></value>"
    document = ccd(vital_signs=vitals(vital("8867-4", "72", "/min").replace("<value xsi:type='PQ' value='72' unit='/min'/>", pattern)))
    assert "ccda.nulls.contradiction" not in codes(validated(document))


def test_ages_are_those_at_the_observation() -> None:
    newborn = ccd(birth="20240215", vital_signs=vitals(vital("8867-4", "150", "/min")))
    assert not any(code.startswith("plausibility") for code in codes(validated(newborn)))
    assert any(code.startswith("plausibility") for code in codes(validated(newborn.replace("20240215", "19600215"))))


def test_the_future_is_judged_from_the_moment_that_is_given() -> None:
    validator = DocumentValidator(ALONE)
    early = validator.validate(ccd(), at=datetime(2024, 1, 1, tzinfo=UTC))
    assert "datetimes.future" in codes(early.report)
    assert "datetimes.future" not in codes(validator.validate(ccd(), at=datetime(2024, 6, 1, tzinfo=UTC)).report)


def test_a_fault_that_a_rule_file_tells_is_not_told_twice(tmp_path: Path) -> None:
    context = "cda:ClinicalDocument[cda:templateId[@root='2.16.840.1.113883.10.20.22.1.2' and @extension='2015-08-01']]"
    test = "cda:component/cda:structuredBody/cda:component/cda:section/cda:templateId[@root='2.16.840.1.113883.10.20.22.2.6.1']"
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><ns prefix="cda" uri="urn:hl7-org:v3"/><pattern id="p">'
        f'<rule context="{context}"><assert id="allergies" test="{test}">Allergies</assert></rule></pattern></schema>'
    )
    report = validated(ccd(leave_out="Allergies"), rules=(tmp_path / "r.sch",))
    assert {"ccda.rules.allergies"} <= codes(report)
    assert "ccda.sections.required" not in codes(report)


XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:hl7-org:v3" elementFormDefault="qualified">
<xs:element name="ClinicalDocument"><xs:complexType><xs:sequence><xs:element name="realmCode"/>
<xs:element name="typeId"><xs:complexType><xs:attribute name="root" type="xs:integer"/><xs:attribute name="extension"/></xs:complexType></xs:element>
<xs:element name="id"/><xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>"""


def test_a_schema_s_faults_name_the_rule_the_place_and_what_was_expected_and_no_text(tmp_path: Path) -> None:
    (tmp_path / "cda.xsd").write_text(XSD)
    found = {finding.code: finding for finding in validated(ccd(), schema=tmp_path / "cda.xsd").findings if finding.code.startswith("ccda.schema")}
    assert set(found) == {"ccda.schema.cvc-datatype-valid-1-2-1", "ccda.schema.element-content"}
    assert "expected: id" in found["ccda.schema.element-content"].message
    assert found["ccda.schema.cvc-datatype-valid-1-2-1"].path == "ClinicalDocument/typeId"
    assert not any("2.16.840" in finding.message for finding in found.values())


def test_very_many_faults_of_a_schema_are_counted_and_few_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cda.xsd").write_text(XSD.replace('<xs:element name="typeId">', '<xs:element name="typeId" maxOccurs="unbounded">'))
    looked: list[object] = []
    monkeypatch.setattr("touchstone.scorers.clinical.formats.ccda.schema._found", lambda _document, path: looked.append(path))
    report = validated(ccd().replace("<typeId ", "<typeId root='x'/>" * 300 + "<typeId ", 1), schema=tmp_path / "cda.xsd")
    assert report.counts()["ccda.schema.cvc-datatype-valid-1-2-1", "major"] > 250
    assert len(looked) < 100


def test_a_schema_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "cda.xsd").write_text("<a/>")
    for path in (tmp_path / "cda.xsd", tmp_path / "absent.xsd"):
        with pytest.raises(ConfigError, match=r"ccda\.xsd"):
            DocumentValidator(ClinicalSettings(ccda=CcdaSettings(xsd=path)))


def test_a_document_with_very_many_faults_keeps_its_report_bounded() -> None:
    many = "".join(vital("8480-6", "many", "furlong", number) for number in range(3_000))
    report = validated(ccd(vital_signs=vitals(many)))
    assert len(report.findings) <= 500
    assert report.counts()["ccda.observations.number", "major"] == 3_000


def test_a_document_of_a_trace_is_validated_and_scored() -> None:
    case = validate_case(ProductionTrace, {"traceId": "t", "outputs": {"ccda": {"content": ccd(leave_out="Results")}}})
    card = build(ALONE).evaluate(case)
    assert (card.label, card.details["valid"], "ccda_overall" in card.values) == ("Warn", False, True)
    assert any(finding.path.startswith("outputs.ccda/ClinicalDocument/") for finding in card.findings)
    assert build(ALONE).evaluate(validate_case(ProductionTrace, {"traceId": "t", "outputs": {"ccda": {"content": ccd()}}})).label == "Pass"
