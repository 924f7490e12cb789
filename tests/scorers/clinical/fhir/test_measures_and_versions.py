from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import codes, found, patient, report

URL = "http://measures.test/Measure/one"
KINDS = "http://terminology.hl7.org/CodeSystem/measure-population"
SCORING = "http://terminology.hl7.org/CodeSystem/measure-scoring"


def concept(code: str, system: str = KINDS) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def population(code: str, **more: Any) -> dict[str, Any]:
    return {"code": concept(code), **more}


CRITERIA = {"criteria": {"language": "text/fhirpath", "expression": "true"}}
GROUP = {"code": concept("g1", "http://measures.test/groups"), "population": [population("numerator", **CRITERIA), population("denominator", **CRITERIA)]}
STRATIFIED = GROUP | {"stratifier": [{"code": concept("age", "http://measures.test/strata"), **CRITERIA}]}
GIVEN = {"code": GROUP["code"], "population": [population("numerator", count=1), population("denominator", count=2)]}
SECOND = {"code": concept("g2", "http://measures.test/groups")}
ODD = {"code": concept("odd", "http://measures.test/strata")}


def told(groups: list[dict[str, Any]], given: list[dict[str, Any]], scoring: str = "", kind: str = "summary", **more: Any) -> set[str]:
    measure: dict[str, Any] = {"resourceType": "Measure", "id": "m", "url": URL, "name": "M", "status": "draft", "group": groups}
    if scoring:
        measure["scoring"] = concept(scoring, SCORING)
    measured = {
        "resourceType": "MeasureReport",
        "status": "complete",
        "type": kind,
        "measure": "#m",
        "period": {"start": "2024"},
        "contained": [measure, *more.pop("contained", [])],
    } | ({"group": given} if given else {})
    return codes(measured | more)


WRONG = {"fhir.measures.report"}


def test_a_report_of_the_groups_and_populations_of_its_measure_is_good() -> None:
    assert told([GROUP], [GIVEN]) == set()
    assert told([GROUP], [{**GIVEN, "measureScore": {"value": 0.5}}], "proportion") == set()
    assert told([GROUP, SECOND], [GIVEN, SECOND]) == set()
    assert told([GROUP, SECOND], [], kind="data-collection") == set()


@pytest.mark.parametrize(
    ("groups", "given"),
    [
        ([GROUP], [GIVEN, GIVEN]),
        ([GROUP, SECOND], [GIVEN]),
        ([GROUP], [GIVEN | {"code": SECOND["code"]}]),
        ([GROUP, SECOND], [GIVEN, {"population": []} | {"id": "x"}]),
        ([GROUP], [GIVEN | {"population": [population("numerator", count=1)]}]),
        ([GROUP], [GIVEN | {"population": [*GIVEN["population"], population("initial-population", count=1)]}]),
        ([GROUP], [GIVEN | {"population": [{"count": 1}]}]),
        ([STRATIFIED], [GIVEN]),
        ([STRATIFIED], [GIVEN | {"stratifier": [ODD | {"code": [ODD["code"]]}]}]),
    ],
)
def test_a_report_with_other_groups_populations_or_strata_than_its_measure_is_told(groups: list[dict[str, Any]], given: list[dict[str, Any]]) -> None:
    assert told(groups, given) >= WRONG


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ([{"text": "age"}], {"text": "age"}, True),
        ([{"text": "age"}], concept("age", "http://measures.test/strata") | {"text": "age"}, True),
        ([concept("age", "http://measures.test/strata") | {"text": "age"}], {"text": "age"}, True),
        ([{"text": "age"}], {"text": "sex"}, False),
        ([{"text": "age"}], concept("age", "http://measures.test/strata"), False),
        ([concept("sex", "http://measures.test/strata") | {"text": "age"}], concept("age", "http://measures.test/strata") | {"text": "age"}, False),
    ],
)
def test_strata_are_matched_by_text_where_one_side_has_no_codes(mine: list[dict[str, Any]], theirs: dict[str, Any], same: bool) -> None:
    stratified = GROUP | {"stratifier": [{"code": theirs, **CRITERIA}]}
    assert (told([stratified], [GIVEN | {"stratifier": [{"code": mine}]}]) >= WRONG) is not same


@pytest.mark.parametrize(
    ("scoring", "kind", "score"),
    [("proportion", "summary", None), ("proportion", "summary", 2), ("ratio", "summary", None)],
)
def test_a_score_is_there_where_the_scoring_asks_for_one_and_nowhere_else(scoring: str, kind: str, score: float | None) -> None:
    given = GIVEN if score is None else GIVEN | {"measureScore": {"value": score}}
    assert told([GROUP], [given], scoring, kind) == WRONG


def test_a_score_of_a_cohort_is_not_counted_because_no_rule_of_r4_forbids_it() -> None:
    assert told([GROUP], [GIVEN | {"measureScore": {"value": 0.5}}], "cohort", "summary") == set()


@pytest.mark.parametrize(("count", "expected"), [(1, set()), (500, WRONG)])
def test_the_number_of_subjects_is_that_of_their_list(count: int, expected: set[str]) -> None:
    subjects = {"resourceType": "List", "id": "s", "status": "current", "mode": "snapshot", "entry": [{"item": {"reference": "Patient/1"}}]}
    given = {
        "code": GROUP["code"],
        "population": [population("numerator", count=count, subjectResults={"reference": "#s"}), population("denominator", count=2)],
    }
    assert told([GROUP], [given], kind="subject-list", contained=[subjects]) == expected


def test_a_report_without_its_measure_at_hand_is_not_checked() -> None:
    alone = {"resourceType": "MeasureReport", "status": "complete", "type": "summary", "measure": URL, "period": {"start": "2024"}, "group": [GIVEN]}
    assert codes(alone) == set()
    assert "MeasureReports against their Measure" in {one.check for one in report(alone).not_checked}


def carried(version: str, element: str, **value: Any) -> dict[str, Any]:
    return {"url": f"http://hl7.org/fhir/{version}/StructureDefinition/extension-{element}", **value}


@pytest.mark.parametrize(
    ("extension", "code"),
    [
        (carried("5.0", "Patient.nosuch", valueString="a"), "fhir.extensions.cross-version"),
        (carried("3.0", "Patient.name", valueString="a"), "fhir.extensions.cross-version"),
        (carried("2.7", "Patient.animal", valueString="a"), "fhir.extensions.cross-version"),
        (carried("1.0", "Patient.animal", extension=[{"url": "species", "valueCodeableConcept": {"text": "dog"}}]), "fhir.extensions.modifier"),
        (carried("5.0", "DeviceRequest.doNotPerform", valueBoolean=True), "fhir.extensions.modifier"),
        (carried("5.0", "Encounter.plannedStartDate", valueString="a"), "fhir.extensions.type"),
        (carried("5.0", "Encounter.reason", extension=[{"url": "nosuch", "valueString": "a"}]), "fhir.extensions.part"),
    ],
)
def test_an_element_of_another_version_that_does_not_exist_or_is_used_otherwise_is_told(extension: dict[str, Any], code: str) -> None:
    assert codes(patient(extension=[extension])) == {code}


@pytest.mark.parametrize(
    "extension",
    [
        carried("5.0", "Encounter.plannedStartDate", valueDateTime="2024-01-01"),
        carried("5.0", "Observation.value", valueAttachment={"url": "http://a.test/b"}),
    ],
)
def test_an_element_of_another_version_is_good_where_it_exists(extension: dict[str, Any]) -> None:
    judged = report(patient(extension=[extension]))
    assert not judged.findings
    assert "extensions without a definition" not in {one.check for one in judged.not_checked}


@pytest.mark.parametrize("version", ["4.3", "6.0", "9.0"])
def test_an_element_of_a_version_that_is_not_in_the_table_is_named_as_not_checked(version: str) -> None:
    judged = report(patient(extension=[carried(version, "Patient.nosuch", valueString="a")]))
    assert not judged.findings
    assert "extensions without a definition" in {one.check for one in judged.not_checked}


def test_a_modifying_element_of_another_version_is_good_as_a_modifier_extension() -> None:
    assert codes(patient(modifierExtension=[carried("5.0", "DeviceRequest.doNotPerform", valueBoolean=True)])) == set()
    told_of = found(patient(extension=[carried("3.0", "Patient.name", valueString="a")]), "fhir.extensions.cross-version")
    assert "R4 has what this element of FHIR 3.0 holds" in told_of.message
