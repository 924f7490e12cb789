"""The specification's example outputs (Priorities 2, 3, 5, 6, 8 and 9), line by line: severity, path, and what is said."""

import pytest

from tests.scorers.clinical.hl7v2.messages import OBX, PID, findings, header, result


@pytest.mark.parametrize(
    ("data", "severity", "path", "words"),
    [
        # Priority 2
        (result(pid=PID.replace("GOODHOPE&2.16.840.1.113883.3.1234&ISO", "")), "major", "PID-3", "CX.4 (Assigning Authority) is required for patient matching"),
        (
            result(OBX.replace("^LN||", "||")),
            "major",
            "OBX[1]-3",
            "CE.3 (Coding System) required when CE.1 (Identifier) is present",
        ),
        (
            result(OBX.replace("^LN||", "||"), version="2.8"),
            "major",
            "OBX[1]-3",
            "CWE.3 (Coding System) required when CWE.1 (Identifier) is present",
        ),
        (result(pid=PID.replace("Winter^Ada", "Winter^")), "minor", "PID-5", "XPN.2 (Given Name) is missing"),
        (result(pid=PID.replace("^USA^H", "^USA")), "info", "PID-11", "XAD.7 (Address Type) not specified"),
        # Priority 3
        (result(OBX.replace("|N|||F", "|AB|||F")), "major", "OBX[1]-8", "Invalid code"),
        # Priority 5
        (
            result(pid=PID.replace("2.16.840", "3.16.840")),
            "major",
            "PID-3",
            "Assigning authority OID invalid - OID first arc must be 0, 1, or 2",
        ),
        (result(pid=PID.replace("2.16.840.1.113883.3.1234", "1.4.9")), "info", "PID-3", "Assigning authority uses non-standard OID root"),
        # Priority 6: MSH-7 as specified, and only the offset (its own code)
        (result(head=header(sent="20260211101500")), "major", "MSH-7", "Timezone offset required (use +/-ZZZZ format, e.g., -0500)"),
        (result(OBX.replace("20260211083000-0600", "20260211083000")), "minor", "OBX[1]-14", "Timezone recommended for clinical timestamps"),
        # Priority 8, with the corrections: mg/dl is valid UCUM and only a matter of style
        (result(OBX.replace("g/dL^gram per deciliter^UCUM", "mmHg")), "major", "OBX[1]-6", "Invalid UCUM unit"),
        (result(OBX.replace("g/dL^gram per deciliter^UCUM", "mEq/L")), "major", "OBX[1]-6", "Invalid UCUM unit"),
        (result(OBX.replace("g/dL^gram per deciliter^UCUM", "g/dl")), "minor", "OBX[1]-6", "Unit is valid UCUM; an upper-case L for litre is preferred"),
        # Priority 9
        (
            result("OBX|1|NM|8867-4^Heart rate^LN||350|/min^per minute^UCUM|||||F|||20260211083000-0600"),
            "critical",
            "OBX[1]-5",
            "Heart rate value is outside physiologically possible range (20-300 /min)",
        ),
        (
            result("OBX|1|NM|2345-7^Glucose^LN||650|mg/dL^mg/dL^UCUM|70-110|HH|||F|||20260211083000-0600"),
            "major",
            "OBX[1]-5",
            "Blood glucose value is critically high (> 600 mg/dL)",
        ),
        (
            result(
                "OBX|1|NM|8480-6^Systolic^LN||110|mm[Hg]^mm[Hg]^UCUM|||||F|||20260211083000-0600",
                "OBX|2|NM|8462-4^Diastolic^LN||120|mm[Hg]^mm[Hg]^UCUM|||||F|||20260211083000-0600",
            ),
            "major",
            "OBX[1]-5",
            "Systolic must be greater than diastolic blood pressure",
        ),
        (result(OBX.replace("12.0-16.0", "16.0-12.0")), "major", "OBX[1]-7", "Reference range low is above its high"),
    ],
)
def test_an_example_of_the_specification_is_reproduced(data: bytes, severity: str, path: str, words: str) -> None:
    assert any((found.severity, found.path) == (severity, path) and words in found.message for found in findings(data)), findings(data)


def test_the_suggestions_name_what_is_right() -> None:
    suggestions = {found.path: found.suggestion for found in findings(result(OBX.replace("g/dL^gram per deciliter^UCUM", "mmHg")))}
    codes = {found.path: found.suggestion for found in findings(result(OBX.replace("|N|||F", "|AB|||F")))}

    assert "mm[Hg]" in (suggestions["OBX[1]-6"] or "")
    assert "Valid values: " in (codes["OBX[1]-8"] or "")
    assert "HH" in (codes["OBX[1]-8"] or "")


def test_a_missing_offset_is_not_a_malformed_time() -> None:
    codes = [found.code for found in findings(result(head=header(sent="20260211101500"))) if found.path.startswith("MSH-7")]

    assert codes == ["datetimes.zone-missing"]
