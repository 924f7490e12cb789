"""C-CDA documents for tests: synthetic, written by us."""

from __future__ import annotations

from pathlib import Path

from touchstone.scorers.clinical.formats import ccda
from touchstone.scorers.clinical.formats.ccda import Options
from touchstone.scorers.clinical.report import Context, Report

#: What must never be seen outside of a document unless the settings ask for it.
CANARY = "Canarybird"
TEMPLATES = "2.16.840.1.113883.10.20.22."
ADDR = "<addr use='HP'><streetAddressLine>1 Test Way</streetAddressLine><city>Boston</city><state>MA</state><postalCode>02101</postalCode></addr>"
TELECOM = "<telecom use='HP' value='tel:+15555550100'/>"


def template(number: str, extension: str | None = "2015-08-01") -> str:
    dated = f' extension="{extension}"' if extension else ""
    return f'<templateId root="{TEMPLATES}{number}"{dated}/>'


def both(number: str, extension: str = "2015-08-01") -> str:
    return template(number, None) + template(number, extension)


def section(number: str, code: str, title: str, entries: str = "", attributes: str = "", text: str = "Nothing to report.") -> str:
    return (
        f"<component><section{attributes}>{both(number)}<code code='{code}' codeSystem='2.16.840.1.113883.6.1'/><title>{title}</title>"
        f"<text>{text}</text>{entries}</section></component>"
    )


def vital(loinc: str, value: str, unit: str, number: int = 1, at: str = "20240301093000-0500") -> str:
    return (
        f"<component><observation classCode='OBS' moodCode='EVN'>{both('4.27', '2014-06-09')}<id root='2.16.840.1.113883.19.5' extension='v{number}'/>"
        f"<code code='{loinc}' codeSystem='2.16.840.1.113883.6.1'/><text><reference value='#vital{number}'/></text><statusCode code='completed'/>"
        f"<effectiveTime value='{at}'/><value xsi:type='PQ' value='{value}' unit='{unit}'/></observation></component>"
    )


def vitals(*observations: str) -> str:
    return (
        f"<entry><organizer classCode='CLUSTER' moodCode='EVN'>{both('4.26')}<id root='2.16.840.1.113883.19.5' extension='vs'/>"
        "<code code='46680005' codeSystem='2.16.840.1.113883.6.96'/><statusCode code='completed'/><effectiveTime value='20240301093000-0500'/>"
        f"{''.join(observations)}</organizer></entry>"
    )


PROBLEM = (
    f"<entry><act classCode='ACT' moodCode='EVN'>{both('4.3')}<id root='2.16.840.1.113883.19.5' extension='c1'/>"
    "<code code='CONC' codeSystem='2.16.840.1.113883.5.6'/><statusCode code='active'/><effectiveTime><low value='20200110'/></effectiveTime>"
    f"<entryRelationship typeCode='SUBJ'><observation classCode='OBS' moodCode='EVN'>{both('4.4')}<id root='2.16.840.1.113883.19.5' extension='p1'/>"
    "<code code='55607006' codeSystem='2.16.840.1.113883.6.96'/><text><reference value='#problem1'/></text><statusCode code='completed'/>"
    "<effectiveTime><low value='20200110'/></effectiveTime><value xsi:type='CD' code='E11.9' codeSystem='2.16.840.1.113883.6.90'/>"
    "</observation></entryRelationship></act></entry>"
)
DEFAULT_VITALS = vitals(vital("8480-6", "122", "mm[Hg]", 1), vital("8462-4", "78", "mm[Hg]", 2), vital("8867-4", "72", "/min", 3))
NARRATIVE = "<list><item ID='vital1'>122</item><item ID='vital2'>78</item><item ID='vital3'>72</item></list>"


def ccd(
    *,
    vital_signs: str = DEFAULT_VITALS,
    problem: str = PROBLEM,
    header: str = "",
    gender: str = "F",
    birth: str = "19700214",
    document_time: str = "20240301103000-0500",
    leave_out: str = "",
    extra: str = "",
) -> str:
    """A Continuity of Care Document of R2.1 that keeps the rules; what is given replaces its parts. `leave_out`: a section's title."""
    sections = {
        "Allergies": section("2.6.1", "48765-2", "Allergies", attributes=" nullFlavor='NI'"),
        "Medications": section("2.1.1", "10160-0", "Medications", attributes=" nullFlavor='NI'"),
        "Problems": section("2.5.1", "11450-4", "Problems", problem, text="<content ID='problem1'>Diabetes</content>"),
        "Results": section("2.3.1", "30954-2", "Results", attributes=" nullFlavor='NI'"),
        "Social History": section("2.17", "29762-2", "Social History"),
        "Vital Signs": section("2.4.1", "8716-3", "Vital Signs", vital_signs, text=NARRATIVE),
    }
    body = "".join(content for title, content in sections.items() if title != leave_out)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<realmCode code="US"/><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>
{both("1.1")}{both("1.2")}
<id root="2.16.840.1.113883.19.5.99999.1"/><code code="34133-9" codeSystem="2.16.840.1.113883.6.1"/><title>Synthetic summary</title>
<effectiveTime value="{document_time}"/><confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/><languageCode code="en-US"/>{header}
<recordTarget><patientRole><id root="2.16.840.1.113883.19.5" extension="998991"/>{ADDR}{TELECOM}<patient>
<name use="L"><given>Alice</given><family>{CANARY}</family></name><administrativeGenderCode code="{gender}" codeSystem="2.16.840.1.113883.5.1"/>
<birthTime value="{birth}"/><maritalStatusCode code="M" codeSystem="2.16.840.1.113883.5.2"/><raceCode code="2106-3" codeSystem="2.16.840.1.113883.6.238"/>
<ethnicGroupCode code="2186-5" codeSystem="2.16.840.1.113883.6.238"/></patient></patientRole></recordTarget>
<author><time value="20240301103000-0500"/><assignedAuthor><id root="2.16.840.1.113883.4.6" extension="1234567893"/>{ADDR}{TELECOM}
<assignedPerson><name><given>Ada</given><family>Doe</family></name></assignedPerson></assignedAuthor></author>
<custodian><assignedCustodian><representedCustodianOrganization><id root="2.16.840.1.113883.4.6" extension="1234567893"/><name>Test Clinic</name>{TELECOM}{ADDR}
</representedCustodianOrganization></assignedCustodian></custodian>
<component><structuredBody>{body}{extra}</structuredBody></component>
</ClinicalDocument>
"""


def validated(document: str | bytes, *, quote: bool = False, rules: tuple[Path, ...] = (), schema: Path | None = None, **options: object) -> Report:
    """The report of a document. Rule files of the machine are never looked for."""
    data = document if isinstance(document, bytes) else document.encode()
    chosen = Options(rules=rules, schema=schema, installed_rules=False, **options)  # type: ignore[arg-type]
    return ccda.validate(data, Context(quote=quote), chosen)


def codes(report: Report, *severities: str) -> set[str]:
    return {finding.code for finding in report.findings if not severities or finding.severity in severities}
