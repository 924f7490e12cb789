"""Paths of findings lead to the right characters of a document."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.clinical.consistency.patient import ADT, CCDA, fhir
from touchstone.scorers.clinical.formats.ccda.element_names import ElementPaths
from touchstone.scorers.clinical.formats.hl7v2 import lexer
from touchstone.scorers.clinical.reading.displayed import displayed
from touchstone.scorers.clinical.reading.hl7v2_spots import _of_any as of_any
from touchstone.scorers.clinical.reading.hl7v2_spots import _of_usual_lines as of_usual_lines
from touchstone.scorers.clinical.reading.hl7v2_spots import displayed as messages
from touchstone.scorers.clinical.reading.hl7v2_spots import hl7v2_spots
from touchstone.scorers.clinical.reading.json_spots import json_spots
from touchstone.scorers.clinical.reading.spots import Lines, Spot
from touchstone.scorers.clinical.reading.xml_spots import ccda_spots, fhir_xml_spots

BUNDLE = json.dumps(fhir(), indent=1)


def shown(text: str, spot: Spot | None) -> str | None:
    return None if spot is None else text[spot.start : spot.end]


@pytest.mark.parametrize(
    ("path", "expected", "is_exact"),
    [
        ("Patient.gender", '"gender": "female"', True),
        ("Patient.name[0].given[1]", '"Maria"', True),
        ("Patient.identifier[1].system", '"system": "http://hl7.org/fhir/sid/us-ssn"', True),
        ("Observation[1].valueQuantity.value", '"value": 162', True),
        ("Observation[3].component[1].valueQuantity.unit", '"unit": "mmHg"', True),
        ("Observation[0].value[x]", '"valueQuantity"', True),
        ("Bundle.entry[0].resource.birthDate", '"birthDate": "1961-04-09"', True),
        ("Bundle.type", '"type": "collection"', True),
        ("Bundle", '"resourceType": "Bundle"', True),
        ("Condition[1]", '"resourceType": "Condition"', True),
        ("Condition[1].abatementDateTime", '"resourceType": "Condition"', False),
        ("Encounter[0].period.?", '"period"', False),
        ("Observation[0].category:VSCat[0].coding", '"coding"', True),
        ("Observation.component", None, False),
        ("Observation[99].code", '"resourceType": "Bundle"', False),
    ],
)
def test_a_fhir_path_leads_to_its_member_or_to_the_nearest_one(path: str, expected: str | None, is_exact: bool) -> None:
    spot = json_spots(BUNDLE, [path])[path]
    assert shown(BUNDLE, spot) == expected
    assert spot is None or spot.is_exact is is_exact


def test_all_paths_of_a_document_are_found_at_once_as_one_by_one() -> None:
    paths = [path for path, _ in walked(fhir(), "Bundle")]
    together = json_spots(BUNDLE, paths)
    assert all(json_spots(BUNDLE, [path])[path] == together[path] for path in paths[::7])


def walked(value: Any, path: str) -> list[tuple[str, Any]]:
    found = [(path, value)]
    if isinstance(value, dict):
        for name, one in value.items():
            found += walked(one, f"{path}.{name}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            found += walked(one, f"{path}[{number}]")
    return found


NAMES = st.from_regex(r"[a-z][A-Za-z]{0,6}", fullmatch=True).filter(lambda name: name != "ofType")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.sampled_from([None, 0, 2]), st.booleans())
def test_every_path_of_any_json_leads_to_its_value(members: dict[str, Any], indent: int | None, is_ascii: bool) -> None:
    resource = {"resourceType": "Basic", **members}
    text = json.dumps(resource, indent=indent, ensure_ascii=is_ascii)
    every = [(path, value) for path, value in walked(resource, "Basic") if not re.search(r"\]\[", path)]  # FHIR has no lists of lists
    spots = json_spots(text, [path for path, _ in every])
    for path, value in every:
        spot = spots[path]
        assert spot is not None
        assert spot.is_exact
        assert 0 <= spot.start < spot.end <= len(text)
        if not isinstance(value, dict | list):
            written = text[spot.start : spot.end]
            assert json.loads(written if path.endswith("]") else f"{{{written}}}") == (value if path.endswith("]") else {path.rpartition(".")[2]: value})


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_json_on_one_line_is_indented_without_changing_a_value(members: dict[str, Any]) -> None:
    text = json.dumps({"resourceType": "Basic", **members, "padding": "x" * 2_000, "decimal": "D"}).replace('"D"', "1.10")
    document = displayed(text, "fhir")
    assert "\n" in document.text
    assert "1.10" in document.text
    assert json.loads(document.text) == json.loads(text)


def test_comments_and_lines_of_ndjson_keep_their_places() -> None:
    commented = '{ // "resourceType": "Nothing"\n "resourceType": "Patient", /* { */ "gender": "x" }'
    assert shown(commented, json_spots(commented, ["Patient.gender"])["Patient.gender"]) == '"gender": "x"'
    lines = '{"resourceType":"Patient","id":"a"}\n{"resourceType":"Patient","id":"b"}'
    assert shown(lines, json_spots(lines, ["Line[2].Patient.id"])["Line[2].Patient.id"]) == '"id":"b"'


@pytest.mark.parametrize("text", ["", "{", '{"resourceType":', "[" * 5_000, '{"a":' * 5_000, '{"resourceType":"Bundle","entry":[{}', "nonsense", "[]"])
def test_text_that_is_no_document_has_no_places_and_no_error(text: str) -> None:
    for path, spot in json_spots(text, ["Patient.gender", "Bundle.entry[0]", "Line[3].Patient", "Patient"]).items():
        assert spot is None or 0 <= spot.start < spot.end <= len(text), path


def test_every_element_of_a_ccda_document_is_found_by_the_path_that_the_validator_writes() -> None:
    etree = pytest.importorskip("lxml.etree")
    root = etree.fromstring(CCDA.encode())
    paths = ElementPaths()
    every = [(paths.path(element), element) for element in root.iter("*")]
    spots = ccda_spots(CCDA, [path for path, _ in every])
    lines = Lines(CCDA)
    for path, element in every:
        spot = spots[path]
        assert spot is not None
        assert spot.is_exact
        assert CCDA[spot.start : spot.end].startswith(f"<{etree.QName(element).localname}")
        assert lines.line_and_column(spot.start)[0] == element.sourceline


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ClinicalDocument/recordTarget/patientRole/id[2]/@extension", 'extension="999-12-3456"'),
        ("ClinicalDocument/recordTarget/patientRole/patient/birthTime/@value", 'value="19610409"'),
        ("/ClinicalDocument[1]/recordTarget[1]/patientRole[1]/addr[1]", "<addr>"),
        ("ClinicalDocument/recordTarget/patientRole/telecom", "<patientRole>"),
        ("ClinicalDocument/?", '<ClinicalDocument xmlns="urn:hl7-org:v3"'),
    ],
)
def test_attributes_and_absent_elements_of_ccda_have_places(path: str, expected: str) -> None:
    assert (shown(CCDA, ccda_spots(CCDA, [path])[path]) or "").startswith(expected)


def test_fhir_xml_is_read_by_the_paths_of_fhir() -> None:
    text = (
        '<Bundle xmlns="http://hl7.org/fhir"><entry><resource><Patient><name id="n"><given value="A"/><given value="B"/></name>'
        '<gender value="x"/></Patient></resource></entry>\n'
        '<entry><resource><Observation><valueString value="v"/></Observation></resource></entry></Bundle>'
    )
    paths = [
        "Patient.name[0].given[1]",
        "Patient.gender",
        "Observation[0].value[x]",
        "Bundle.entry[0].resource.gender",
        "Observation[0].code",
        "Bundle",
        "Patient.name[0].id",
    ]
    found = [shown(text, spot) for spot in fhir_xml_spots(text, paths).values()]
    assert found == ['<given value="B"/>', '<gender value="x"/>', '<valueString value="v"/>', '<gender value="x"/>', "<Observation>", text[:36], 'id="n"']


TWO = messages(ADT + "\r" + ADT.replace("ZOE", "ANA"))


@pytest.mark.parametrize(
    ("path", "expected", "is_exact"),
    [
        ("PID-5", "SAMPLE-ORTEGA^ZOE^M^^^^L", True),
        ("PID-5.2", "ZOE", True),
        ("message[2]/PID-5.2", "ANA", True),
        ("PID-3[2].1", "999123456", True),
        ("PID-3.4.2", "2.16.840.1.113883.19.5", True),
        ("OBX[2]-3.2", "Systolic", True),
        ("MSH-1", "|", True),
        ("MSH-2", "^~\\&", True),
        ("MSH-9.3", "ADT_A01", True),
        ("PID-2", "|", False),
        ("PID-99", "PID", False),
        ("OBX[2]", "OBX", True),
        ("ZZZ[1]", "MSH", False),
        ("line 2", "EVN|A01|20260302081500-0500", True),
        ("overall", None, False),
    ],
)
def test_an_hl7v2_path_leads_to_its_part_of_the_segment(path: str, expected: str | None, is_exact: bool) -> None:
    spot = hl7v2_spots(TWO, [path])[path]
    assert shown(TWO, spot) == expected
    assert spot is None or spot.is_exact is is_exact


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x0b\x1c|#^~\\&"), max_size=5), min_size=1, max_size=6),
    st.sampled_from("|#"),
)
def test_fields_are_where_the_lexer_reads_them(values: list[str], separator: str) -> None:
    text = messages(f"MSH{separator}^~\\&{separator}A\rPID{separator}" + separator.join(values))
    segment = lexer.read(text).messages[0].segments[-1]
    spots = hl7v2_spots(text, [f"PID-{number}" for number in range(1, len(values) + 1)])
    for number, value in enumerate(values, 1):
        spot = spots[f"PID-{number}"]
        assert spot is not None
        assert 0 <= spot.start < spot.end <= len(text)
        if value and segment.name == "PID":
            assert text[spot.start : spot.end] == value


@pytest.mark.parametrize(
    ("text", "is_usual"),
    [
        ("MSH|^~\\&|A\nPID|1\nOBX|1\nOBX|2\n", True),
        ("MSH|^~\\&|A\n\nPID|1\nZXY|1", True),
        ("MSH|^~\\&|A\nPID|1\nMSH|^~\\&|B\nPID|2", False),
        ("MSH|^~\\&|A\nPID|1\nBTS|1", False),
        ("MSH|^~\\&|A\nPID\nwhat is this", False),
        ("MSH|^~\\&|A\n PID|1", False),
        ("MSH|^~\\&#|A\nPID|1", False),
        ("MSH$%~\\&$A\nPID$1", False),
        ("PID|1\nMSH|^~\\&|A", False),
        ("", False),
    ],
)
def test_segments_of_a_usual_message_are_found_without_the_lexer_at_the_same_lines(text: str, is_usual: bool) -> None:
    quick = of_usual_lines(text.split("\n"))
    assert quick == (of_any(text) if is_usual else None)
