from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.clinical.fhir.resources import codes, patient
from touchstone.scorers.clinical.formats.fhir.primitives import CHECKS
from touchstone.scorers.clinical.formats.fhir.tables import definitions
from touchstone.scorers.clinical.formats.fhir.validator import engine

GOOD = {
    "date": ["1980", "1980-02", "2024-02-29"],
    "dateTime": ["1980", "2024-02-29", "2024-02-29T23:59:60Z", "2024-01-01T00:00:00.123+14:00"],
    "instant": ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.1-05:00"],
    "time": ["00:00:00", "23:59:59.999"],
    "id": ["a", "A-1.b", "a" * 64],
    "oid": ["urn:oid:1.2.3"],
    "uuid": ["urn:uuid:c757873d-ec9a-4326-a141-556f43239520"],
    "uri": ["http://a.example/x", "urn:oid:2.16.840", "relative/one"],
    "code": ["a", "a b"],
    "boolean": [True, False],
    "integer": [0, -1, 2147483647],
    "positiveInt": [1],
    "unsignedInt": [0],
    "decimal": [0, 1.5, -3],
    "base64Binary": ["AAAA", "AA AA", "YQ=="],
    "string": ["a", " a ", "é\n"],
}
BAD = {
    "date": ["1980-13", "2023-02-29", "1980-2-1", "0000", "1980-01-01T00:00:00Z", 1980, ""],
    "dateTime": ["2024-01-01T10:00:00", "2024-01-01T25:00:00Z", "2024-02-30", "20240101", "2024-01-01T10:00Z", "2024-01-01T10:00:00+15:00"],
    "instant": ["2024-01-01", "2024-01-01T10:00:00"],
    "time": ["24:00:00", "10:00", "10:00:00Z"],
    "id": ["a_b", "a" * 65, "", "a b"],
    "oid": ["1.2.3", "urn:oid:3.1", "urn:oid:1.02"],
    "uuid": ["urn:uuid:C757873D-ec9a-4326-a141-556f43239520", "c757873d-ec9a-4326-a141-556f43239520"],
    "uri": ["a b", "urn:oid:x", "urn:uuid:1"],
    "code": [" a", "a ", "a  b", "a\tb", "", 5],
    "boolean": ["true", 1, None],
    "integer": ["1", 1.5, 2147483648, True],
    "positiveInt": [0],
    "unsignedInt": [-1],
    "decimal": ["1.0", True],
    "base64Binary": ["%%%", "A", ""],
    "string": ["", "a\x00b", 5],
}


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in GOOD.items() for value in values])
def test_a_good_value_passes(kind: str, value: object) -> None:
    assert CHECKS[kind](value) is None


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in BAD.items() for value in values])
def test_a_bad_value_is_told(kind: str, value: object) -> None:
    assert CHECKS[kind](value) is not None


def test_a_missing_timezone_and_a_day_that_does_not_exist_have_codes_of_their_own() -> None:
    assert [CHECKS["dateTime"](value)[0] for value in ("2024-01-01T10:00:00", "2023-02-29")] == ["fhir.primitives.timezone", "fhir.primitives.calendar"]  # type: ignore[index]


def test_every_primitive_type_of_r4_has_a_check() -> None:
    assert definitions().primitives - {"xhtml"} == CHECKS.keys()


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.text()), st.dictionaries(st.text(), st.text())))
def test_no_value_makes_a_check_raise(value: object) -> None:
    for check in CHECKS.values():
        check(value)


def test_a_verdict_does_not_depend_on_what_was_validated_before() -> None:
    engine.cache_clear()
    listed = patient(name=[{"given": ["Stanford"]}])
    bare = {"resourceType": "Practitioner", "name": [{"given": "Stanford"}]}
    coded = patient(contact=[{"name": {"family": "A"}, "relationship": [{"coding": [{"system": "http://codes.test", "code": "widget"}]}]}])
    media = {"resourceType": "Media", "status": "completed", "content": {"contentType": "widget"}}
    fresh = [codes(one) for one in (bare, media)]
    for good in (listed, coded):
        assert codes(good) == set()
    assert [codes(one) for one in (bare, media)] == fresh
    assert fresh == [{"fhir.structure.list"}, {"fhir.bindings.required"}]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("date", "\u0662\u0660\u0662\u0660-01-01"), ("dateTime", "\u0662\u0660\u0662\u0660"), ("time", "10:00:0\u0660"), ("instant", "202\u0660-01-01T00:00:00Z")],
)
def test_digits_are_those_of_ascii(kind: str, value: str) -> None:
    assert CHECKS[kind](value) is not None


@pytest.mark.parametrize("value", ["1980-13-01", "1980-02-32", "1980-13", "1980-01-01T24:00:00Z", "1980-01-01T10:61:00Z", "1980-01-01T10:00:00+15:00"])
def test_numbers_that_no_date_or_time_has_are_told_apart_from_a_wrong_form(value: str) -> None:
    told = CHECKS["dateTime"](value)
    assert told == ("fhir.primitives.form", "no such month, day, hour, minute, second or offset exists")


@pytest.mark.parametrize(("kind", "value"), [("dateTime", "01/02/1980"), ("date", "1980-01-01T24:00:00Z"), ("instant", "1980-13-01"), ("dateTime", "1980-1-1")])
def test_a_wrong_form_is_told_with_the_right_one(kind: str, value: str) -> None:
    told = CHECKS[kind](value)
    assert told is not None
    assert "YYYY-MM-DD" in told[1]
