import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks import datetimes, identifiers, plausibility, terminology, unit_checks, valuesets
from touchstone.scorers.clinical.checks.scalars import number_of, shown
from touchstone.scorers.clinical.checks.ucum_reader import read_unit
from touchstone.scorers.clinical.report import Context

CHECKS: dict[str, Callable[[Any, Context], Any]] = {
    "oid": lambda value, context: identifiers.check_oid(value, "p", context, label="root"),
    "npi": lambda value, context: identifiers.check_npi(value, "p", context),
    "uuid": lambda value, context: identifiers.check_uuid(value, "p", context),
    "uri": lambda value, context: identifiers.check_uri(value, "p", context),
    "root": lambda value, context: identifiers.check_ccda_root(value, "p", context),
    "identifier": lambda value, context: identifiers.check_fhir_identifier({"system": value, "value": value}, "p", context),
    "npi of a system": lambda value, context: identifiers.check_fhir_identifier({"system": identifiers.NPI_SYSTEM, "value": value}, "p", context),
    "date": lambda value, context: datetimes.check_fhir(value, "date", "p", context),
    "dateTime": lambda value, context: datetimes.check_fhir(value, "dateTime", "p", context),
    "instant": lambda value, context: datetimes.check_fhir(value, "instant", "p", context),
    "time": lambda value, context: datetimes.check_fhir(value, "time", "p", context),
    "DTM": lambda value, context: datetimes.check_hl7v2(value, "p", context, zone="required"),
    "TS": lambda value, context: datetimes.check_ccda(value, "p", context),
    "value set": lambda value, context: valuesets.check_code("HL70085", value, "p", context),
    "unit": lambda value, context: unit_checks.check_unit(value, "p", context, loinc="2345-7"),
    "quantity": lambda value, context: unit_checks.check_quantity_unit("p", context, unit=value, code=value),
    "value": lambda value, context: plausibility.judge_value(value, "p", context, unit="mg/dL", loinc="2345-7").findings,
    "pressure": lambda value, context: plausibility.check_blood_pressure(value, 80, "p", context),
    "range": lambda value, context: plausibility.check_reference_range(value, 5, "p", context),
    "LOINC": lambda value, context: terminology.check_code("LN", value, "p", context).findings,
    "SNOMED": lambda value, context: terminology.check_code("SCT", value, "p", context).findings,
    "ICD": lambda value, context: terminology.check_code("I10C", value, "p", context).findings,
    "RxNorm": lambda value, context: terminology.check_code("RXNORM", value, "p", context).findings,
    "any system": lambda value, context: terminology.check_code(value, value, "p", context).findings,
}
TEXT_CHECKS: dict[str, Callable[[str, Context], Any]] = {
    "authority": lambda text, context: identifiers.check_assigning_authority(
        "p", context, identifier=text, universal_id=text, universal_id_type="ISO", type_code="NPI"
    ),
    "authority's types": lambda text, context: identifiers.check_assigning_authority("p", context, universal_id="1.2", universal_id_type=text, type_code=text),
    "name": lambda text, context: plausibility.judge_value(5, "p", context, unit=text, name=text).findings,
    "unit of a value": lambda text, context: plausibility.judge_value(5, "p", context, unit=text, loinc="2345-7").findings,
    "code of a value": lambda text, context: plausibility.judge_value(5, "p", context, unit="mg/dL", loinc=text).findings,
    "range units": lambda text, context: plausibility.check_reference_range(1, 2, "p", context, low_unit=text, high_unit="g"),
    "system of a unit": lambda text, context: unit_checks.check_unit("x", "p", context, system=text, loinc=text),
    "normalised": lambda text, _: [][: len(unit_checks.normalize_ucum_unit(text))],
    "suggested": lambda text, _: [][: len(unit_checks.suggest_unit(text, text) or "")],
    "value set's name": lambda text, context: valuesets.check_code(text, text, "p", context),
}
TEN_MEGABYTES = 10_000_000
HOSTILE: list[Any] = [
    *(None, True, False, b"bytes", [], [[]], {}, {"a": 1}, object()),
    *(0, -1, 10**5000, -(10**5000), 1e400, -1e400, float("nan"), Decimal("1e99999"), Decimal("NaN"), Decimal("sNaN")),
    *("", " ", "\x00", "1\x002", "\ud800", "a\udfffb", "\u202e", "1e400", "-1e400", "1_000", "NaN", "inf", "٣", "１２３", "²", "\n", "2024\n", "'\"<>&"),
    *("urn:oid:", "urn:uuid:", "urn:OID:" + "1." * 200),
    *(character * TEN_MEGABYTES for character in "1({a\x00é "),
    "1." * (TEN_MEGABYTES // 2),
]
#: Far above what is needed, far below what a scan of a quadratic kind would take.
SECONDS_MAX = 2.0


@pytest.fixture(scope="module", autouse=True)
def loaded_parser() -> None:
    """The first unit that no table has loads the parser, which takes a second: not what is measured here."""
    read_unit("1e400")


@pytest.mark.parametrize("name", [*CHECKS, *TEXT_CHECKS])
def test_hostile_values_are_answered_with_findings_and_soon(name: str) -> None:
    check = CHECKS.get(name) or TEXT_CHECKS[name]
    for value in HOSTILE:
        if name in TEXT_CHECKS and not isinstance(value, str):
            continue
        for context in (Context(), Context(quote=True)):
            started = time.process_time()
            found = list(check(value, context))
            assert time.process_time() - started < SECONDS_MAX
            assert all(isinstance(finding, Finding) for finding in found)
            assert sum(len(finding.message) + len(finding.suggestion or "") for finding in found) < 3000
            assert all(finding.model_dump_json() for finding in found)


ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text(max_size=40) | st.binary(max_size=8) | st.lists(st.integers(), max_size=2)
)


@given(ANYTHING, st.sampled_from(list(CHECKS)))
@settings(max_examples=200, deadline=None)
def test_no_value_makes_a_check_raise(value: Any, name: str) -> None:
    CHECKS[name](value, Context(quote=True))


@given(st.text(max_size=40) | st.text("0123456789.-+:TZe{}()[]/*^mgdLlu", max_size=40), st.sampled_from(list(TEXT_CHECKS)))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_a_check_raise(text: str, name: str) -> None:
    TEXT_CHECKS[name](text, Context(quote=True))


@given(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=30).map("zq".__add__), st.sampled_from([*CHECKS, *TEXT_CHECKS]))
@settings(deadline=None)
def test_nothing_of_a_value_is_repeated_unasked(secret: str, name: str) -> None:
    for finding in (CHECKS.get(name) or TEXT_CHECKS[name])(secret, Context()):
        assert secret not in finding.model_dump_json()


@given(st.integers() | st.floats(allow_nan=False) | st.decimals(allow_nan=False))
def test_numbers_are_read_as_they_are(number: Any) -> None:
    read = number_of(number)
    assert read is not None
    assert shown(number) is not None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5.0),
        (" -5.5e1 ", -55.0),
        ("1e400", float("inf")),
        ("1_0", None),
        ("0x10", None),
        ("nan", None),
        ("", None),
        (".", None),
        ("١", None),
        ("5 mg", None),
    ],
)
def test_only_plain_numbers_are_read_from_text(text: str, number: float | None) -> None:
    assert number_of(text) == number
