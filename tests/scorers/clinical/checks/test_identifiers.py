import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks import identifiers
from touchstone.scorers.clinical.report import Context

CONTEXT = Context()


def severities(found: list) -> list[str]:
    return [finding.severity for finding in found]


@pytest.mark.parametrize("oid", ["2.16.840.1.113883.4.6", "1.3.6.1.4.1.99999", "0.39", "2.999", "2.25.329800735698586629295641978511506172918", "1.0"])
def test_sound_oids_pass(oid: str) -> None:
    assert identifiers.oid_problem(oid) is None


@pytest.mark.parametrize(
    ("oid", "problem"),
    [
        ("3.1.2", "first arc must be 0, 1, or 2"),
        ("1.40.1", "second arc must be 0-39"),
        ("0.400000", "second arc must be 0-39"),
        ("2.16.0840.1", "leading zero"),
        ("2.16..1", "single dots"),
        (".2.16", "single dots"),
        ("2.16.", "single dots"),
        ("2", "single dots"),
        ("", "empty"),
        ("2.16.a", "digits and dots only"),
        ("2.16.٣", "digits and dots only"),
        ("2." + "1" * 300, "at most 255"),
        (None, "must be text"),
    ],
)
def test_an_oid_is_refused_with_the_rule_it_breaks(oid: object, problem: str) -> None:
    assert problem in (identifiers.oid_problem(oid) or "")


def test_the_longest_known_root_names_an_oid() -> None:
    assert identifiers.identify_oid_root("2.16.840.1.113883.19.5") == "Synthetic (HL7 examples)"
    assert identifiers.identify_oid_root("2.16.840.1.113883.99") == "HL7"
    assert identifiers.identify_oid_root("1.3.6.1.4.1.5") == "Enterprise"
    assert identifiers.identify_oid_root("2.999.1") is None


@given(st.text("0123456789", min_size=9, max_size=9))
def test_a_generated_npi_has_a_sound_check_digit(prefix: str) -> None:
    npi = identifiers.generate_npi(prefix)
    assert "major" not in severities(identifiers.check_npi(npi, "p", CONTEXT))


@given(st.text("0123456789", min_size=9, max_size=9), st.integers(0, 9), st.integers(1, 9))
def test_one_mistyped_digit_of_an_npi_is_caught(prefix: str, place: int, shift: int) -> None:
    npi = identifiers.generate_npi(prefix)
    wrong = npi[:place] + str((int(npi[place]) + shift) % 10) + npi[place + 1 :]
    assert severities(identifiers.check_npi(wrong, "p", CONTEXT)) == ["major"]


def test_the_published_example_npi_passes() -> None:
    assert identifiers.npi_check_digit("123456789") == 3
    assert identifiers.check_npi("1234567893", "p", CONTEXT) == []


def test_an_unusual_first_digit_alone_is_minor() -> None:
    found = identifiers.check_npi(identifiers.generate_npi("912345678"), "p", CONTEXT)
    assert [(finding.severity, finding.code) for finding in found] == [("minor", "identifiers.npi-first-digit")]


@pytest.mark.parametrize("npi", ["", "123", "12345678933", "123456789X", "１２３４５６７８９３", 1234567893, None])
def test_what_is_not_ten_digits_is_no_npi(npi: object) -> None:
    assert [finding.code for finding in identifiers.check_npi(npi, "p", CONTEXT)] == ["identifiers.npi-form"]


@pytest.mark.parametrize("prefix", ["", "12345678", "12345678x", "٣" * 9])
def test_no_npi_is_generated_from_another_prefix(prefix: str) -> None:
    with pytest.raises(ValueError, match="nine digits"):
        identifiers.generate_npi(prefix)


@given(st.uuids(version=4) | st.uuids(version=1) | st.uuids(version=5))
def test_uuids_of_known_versions_pass_in_either_case(value: object) -> None:
    assert identifiers.check_uuid(str(value), "p", CONTEXT) == []
    assert identifiers.check_uuid(str(value).upper(), "p", CONTEXT) == []


@pytest.mark.parametrize(
    ("uuid", "expected"),
    [
        ("00000000-0000-0000-0000-000000000000", []),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", []),
        ("f47ac10b-58cc-0372-a567-0e02b2c3d479", [("minor", "identifiers.uuid-version")]),
        ("f47ac10b-58cc-4372-c567-0e02b2c3d479", [("minor", "identifiers.uuid-variant")]),
        ("f47ac10b58cc4372a5670e02b2c3d479", [("major", "identifiers.uuid")]),
        ("f47ac10b-58cc-4372-a567-0e02b2c3d47g", [("major", "identifiers.uuid")]),
        (17, [("major", "identifiers.uuid")]),
    ],
)
def test_a_uuid_is_judged_by_form_variant_and_version(uuid: object, expected: list[tuple[str, str]]) -> None:
    assert [(finding.severity, finding.code) for finding in identifiers.check_uuid(uuid, "p", CONTEXT)] == expected


@pytest.mark.parametrize(
    "uri",
    [
        "http://hospital.example/ids",
        "urn:oid:2.16.840.1.113883.4.6",
        "urn:uuid:f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "urn:ietf:rfc:3986",
        "mailto:a@b.example",
    ],
)
def test_sound_uris_pass(uri: str) -> None:
    assert identifiers.check_uri(uri, "p", CONTEXT) == []


@pytest.mark.parametrize(
    ("uri", "severity", "code"),
    [
        ("hospital.example/ids", "minor", "identifiers.uri-scheme"),
        ("", "minor", "identifiers.uri-scheme"),
        ("http://hospital.example/a b", "major", "identifiers.uri"),
        ("http://a/\x00", "major", "identifiers.uri"),
        ("urn:example:10|10", "minor", "identifiers.uri-characters"),
        ("urn:oid:3.1", "major", "identifiers.oid"),
        ("urn:oid:", "major", "identifiers.oid"),
        ("urn:uuid:f47ac10b", "major", "identifiers.uuid"),
        (None, "major", "identifiers.uri"),
    ],
)
def test_a_uri_is_refused_by_scheme_characters_and_content(uri: object, severity: str, code: str) -> None:
    assert [(finding.severity, finding.code) for finding in identifiers.check_uri(uri, "p", CONTEXT)] == [(severity, code)]


@pytest.mark.parametrize(
    ("url", "codes"),
    [
        ("http://a.example/Profile|1.0", []),
        ("urn:oid:1.2.3|1", []),
        ("mine|1.0", ["identifiers.uri-scheme"]),
        ("http://a.example/{id}|1", ["identifiers.uri-characters"]),
        (7, ["identifiers.uri"]),
    ],
)
def test_a_canonical_may_name_a_version(url: object, codes: list[str]) -> None:
    assert [finding.code for finding in identifiers.check_canonical(url, "p", CONTEXT)] == codes


def test_a_fhir_identifier_wants_a_system_and_a_value() -> None:
    found = identifiers.check_fhir_identifier({}, "Patient.identifier[0]", CONTEXT)
    assert [(finding.severity, finding.path) for finding in found] == [("info", "Patient.identifier[0].system"), ("minor", "Patient.identifier[0].value")]


def test_a_value_that_an_extension_explains_may_be_absent() -> None:
    identifier = {"system": "http://hospital.example", "_value": {"extension": [{}]}}
    assert identifiers.check_fhir_identifier(identifier, "p", CONTEXT) == []


def test_npis_and_uris_are_checked_by_the_identifier_s_system() -> None:
    wrong_npi = {"system": identifiers.NPI_SYSTEM, "value": "99999"}
    assert [f.code for f in identifiers.check_fhir_identifier(wrong_npi, "p", CONTEXT)] == ["identifiers.npi-form"]
    typed = {"system": "http://npi.example", "value": "99999", "type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "NPI"}]}}
    assert [f.code for f in identifiers.check_fhir_identifier(typed, "p", CONTEXT)] == ["identifiers.npi-form"]
    wrong_uri = {"system": identifiers.URI_SYSTEM, "value": "2.16.840"}
    assert [(f.severity, f.code) for f in identifiers.check_fhir_identifier(wrong_uri, "p", CONTEXT)] == [("major", "identifiers.uri-scheme")]


def test_an_assigning_authority_is_judged_by_the_type_of_its_id() -> None:
    def codes(**parts: str) -> list[str]:
        return [finding.code for finding in identifiers.check_assigning_authority("PID-3", CONTEXT, **parts)]

    assert codes(universal_id="2.16.840.1.113883.19.5", universal_id_type="ISO") == []
    assert codes(universal_id="9.9", universal_id_type="ISO") == ["identifiers.oid"]
    assert codes(universal_id="2.999.1", universal_id_type="ISO") == ["identifiers.oid-root"]
    assert codes(universal_id="2.16.840.1.113883.19.5") == ["identifiers.universal-id-type"]
    assert codes(universal_id="HOSPITAL", universal_id_type="L") == []
    assert codes(universal_id="zzz", universal_id_type="UUID") == ["identifiers.uuid"]
    assert codes(universal_id="zzz", universal_id_type="URI") == ["identifiers.uri-scheme"]
    assert codes(identifier="1234567890", type_code="NPI") == ["identifiers.npi-check-digit"]
    assert codes(identifier="12345", universal_id=identifiers.NPI_OID, universal_id_type="ISO") == ["identifiers.npi-form"]


def test_a_ccda_root_may_be_an_oid_a_uuid_or_a_name_of_hl7() -> None:
    def codes(root: object) -> list[tuple[str, str]]:
        return [(finding.severity, finding.code) for finding in identifiers.check_ccda_root(root, "id/@root", CONTEXT)]

    assert codes("2.16.840.1.113883.10.20.22.1.1") == []
    assert codes("f47ac10b-58cc-4372-a567-0e02b2c3d479") == []
    assert codes("2.999.1") == [("info", "identifiers.oid-root")]
    assert codes("SOMENAME") == [("minor", "identifiers.root")]
    assert codes("5.5.5") == [("major", "identifiers.oid")]


def test_values_are_shown_only_to_those_who_ask() -> None:
    assert "0000000000" not in identifiers.check_npi("0000000000", "p", CONTEXT)[0].message
    assert "123" in identifiers.check_npi("123", "p", Context(quote=True))[0].message
