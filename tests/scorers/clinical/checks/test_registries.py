import pytest

from touchstone.scorers.clinical.checks import registries
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES

MIME, COUNTRY, PART, CURRENCY = registries.MIME_TYPES, registries.COUNTRIES, registries.SUBDIVISIONS, registries.CURRENCIES
GOOD = [
    (LANGUAGES, "en"), (LANGUAGES, "en-US"), (LANGUAGES, "zh-Hans-CN"), (LANGUAGES, "sl-rozaj"), (LANGUAGES, "qaz"), (LANGUAGES, "x-own"),
    (MIME, "text/plain"), (MIME, "application/fhir+json; charset=utf-8"), (MIME, "haptics/ivs"), (MIME, "image/vnd.own-format"),
    (COUNTRY, "US"), (COUNTRY, "USA"), (COUNTRY, "840"), (COUNTRY, "XK"),
    (PART, "US-MA"), (PART, "CA-ON"), (PART, "FR-75"),
    (CURRENCY, "USD"), (CURRENCY, "EUR"), (CURRENCY, "XXX"),
    (registries.RACES, "2106-3"), (registries.RACES, "1010-8"), (registries.RACES, "2186-5"),
    (registries.STATES, "MA"), (registries.STATES, "PR"), (registries.STATES, "AE"),
    (registries.REGIONS, "021"), (registries.REGIONS, "840"), (registries.REGIONS, "001"),
]  # fmt: skip
NOT_LISTED = [
    (LANGUAGES, "qqq-Latn-XX-nonsense"), (LANGUAGES, "en-Zxxy"), (LANGUAGES, "vvv"), (MIME, "chemical/x-pdb"), (MIME, "picture/png"),
    (COUNTRY, "UK"), (COUNTRY, "us"), (COUNTRY, "US-MA"), (PART, "US-ZZ"), (PART, "UK-LND"), (CURRENCY, "DEM"), (CURRENCY, "USS"),
    (registries.RACES, "9999-4"), (registries.STATES, "XX"),
]  # fmt: skip
WRONG = [
    (LANGUAGES, "english"), (LANGUAGES, "e"), (LANGUAGES, "xx-US"), (MIME, "picture"), (MIME, "text/"), (MIME, "/plain"), (MIME, "text plain/x"),
    (COUNTRY, "United States"), (COUNTRY, "8"), (COUNTRY, ""), (PART, "Massachusetts"), (PART, "MA"), (CURRENCY, "usd"), (CURRENCY, "$"),
    (registries.RACES, "2106-4"), (registries.RACES, "White"), (registries.STATES, "Mass."), (registries.REGIONS, "21"), (registries.REGIONS, "world"),
]  # fmt: skip


@pytest.mark.parametrize(("system", "code"), GOOD)
def test_a_code_of_the_registry_has_no_problem(system: str, code: str) -> None:
    assert registries.problem_of(system, code) is None
    assert registries.holds(system, code) is True


@pytest.mark.parametrize(("system", "code"), NOT_LISTED)
def test_a_code_that_the_list_lacks_is_minor_and_its_membership_is_open(system: str, code: str) -> None:
    problem = registries.problem_of(system, code)
    assert problem is not None
    assert problem[0] == "minor"
    assert registries.holds(system, code) is None


@pytest.mark.parametrize(("system", "code"), WRONG)
def test_a_code_of_another_form_is_none_of_the_registry(system: str, code: str) -> None:
    problem = registries.problem_of(system, code)
    assert problem is not None
    assert problem[0] == "major"
    assert registries.holds(system, code) is False


@pytest.mark.parametrize(("system", "code", "edition"), [(CURRENCY, "USS", "2026"), (LANGUAGES, "vvv", "2024"), (registries.RACES, "9999-4", "US Core")])
def test_a_code_that_the_list_lacks_names_the_edition_that_was_asked(system: str, code: str, edition: str) -> None:
    problem = registries.problem_of(system, code)
    assert problem is not None
    assert f"as of {edition}" in problem[1]


@pytest.mark.parametrize(
    ("code", "ancestor", "expected"), [("1010-8", "1002-5", True), ("2106-3", "1002-5", False), ("1002-5", "1002-5", True), ("9999-4", "1002-5", None)]
)
def test_races_have_the_hierarchy_of_cdc(code: str, ancestor: str, expected: bool | None) -> None:
    assert registries.has_race(code, ancestor) is expected
