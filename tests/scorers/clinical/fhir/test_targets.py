"""Types and profiles of what references point to (R4: references.html#literal, profiling.html, bundle.html#references)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import DIV, PLAIN, bundle, codes, definition, observation, patient, report
from touchstone.scorers.clinical.formats.fhir import Options, is_valid

ASKED, WANTED = "http://a.test/sd/seen", "http://a.test/sd/born"
TARGET = "fhir.profiles.target"
REST = replace(PLAIN, rest_references=True)
GROUP = {"resourceType": "Group", "id": "g", "text": {"status": "generated", "div": DIV}, "type": "person", "actual": True}


def encounter(reference: Any, **changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "Encounter",
        "id": "e1",
        "text": {"status": "generated", "div": DIV},
        "status": "planned",
        "class": {"code": "AMB"},
        "serviceProvider": reference,
    } | changes


@pytest.fixture
def asking(tmp_path: Path) -> Options:
    """Options that name a profile of Observation whose subject keeps a profile of Patient, which asks for a birth date."""
    typed = [{"code": "Reference", "targetProfile": [WANTED]}]
    subject = {"id": "Observation.subject", "path": "Observation.subject", "min": 1, "type": typed}
    base = "http://hl7.org/fhir/StructureDefinition/Observation"
    seen = definition(subject, url=ASKED, type="Observation", baseDefinition=base)
    born = definition({"id": "Patient.birthDate", "path": "Patient.birthDate", "min": 1}, url=WANTED)
    for name, one in {"seen": seen, "born": born}.items():
        (tmp_path / f"StructureDefinition-{name}.json").write_text(json.dumps(one))
    return replace(PLAIN, packages=tuple(tmp_path.iterdir()), profiles=(ASKED,))


def told(resource: dict[str, Any], options: Options = PLAIN) -> list[str]:
    return [one.severity for one in report(resource, options).findings if one.code in {"fhir.references.target", TARGET}]


@pytest.mark.parametrize(
    ("reference", "options", "severities"),
    [
        ("Organization/1", REST, []),
        ("http://server.example/fhir/Organization/1/_history/2", REST, []),
        ("http://server.example/Group.html", REST, []),
        ("Group/12345", PLAIN, ["minor"]),
        ("Group/12345", REST, ["major"]),
        ("https://server.example/fhir/Group/12345", PLAIN, ["minor"]),
        ("https://server.example/fhir/Group/12345/_history/1", REST, ["major"]),
    ],
)
def test_the_url_of_a_reference_implies_the_type_of_its_target(reference: str, options: Options, severities: list[str]) -> None:
    assert told(encounter({"reference": reference}), options) == severities


@pytest.mark.parametrize(("reference", "listed"), [("urn:oid:1.2.3", True), ("http://server.example/x", True), ("Organization/1", False)])
def test_a_reference_whose_type_nobody_tells_is_listed_as_not_checked(reference: str, listed: bool) -> None:
    skipped = report(encounter({"reference": reference})).not_checked
    assert any("types of references" in str(one) for one in skipped) is listed


def test_what_a_bundle_holds_wins_over_the_url() -> None:
    made = bundle(encounter({"reference": "http://server.example/Organization/g"}), GROUP)
    made["entry"][1]["fullUrl"] = "http://server.example/Organization/g"
    assert told(made) == ["major"]


@pytest.mark.parametrize(
    ("subject", "others", "breach"),
    [
        ({"reference": "http://server.example/Patient/p1"}, [patient()], False),
        ({"reference": "Patient/p1"}, [patient()], False),
        ({"reference": "Patient/elsewhere"}, [patient(birthDate=None)], False),
        ({"reference": "http://server.example/Patient/p1"}, [patient(birthDate=None)], True),
        ({"reference": "Patient/p1"}, [patient(birthDate=None)], True),
        ({"reference": "Patient/p1/_history/1"}, [patient(birthDate=None)], True),
    ],
)
def test_an_entry_that_a_reference_finds_keeps_the_profile_that_is_asked_of_it(
    asking: Options, subject: dict[str, str], others: list[dict[str, Any]], breach: bool
) -> None:
    made = bundle(observation(subject=subject), *others)
    assert (TARGET in codes(made, asking)) is breach, report(made, asking).findings


@pytest.mark.parametrize("breach", [True, False])
def test_a_contained_target_keeps_the_profile_that_is_asked_of_it(asking: Options, breach: bool) -> None:
    inner = patient(meta=None, text=None, birthDate=None if breach else "1980-01-01")
    assert (TARGET in codes(observation(subject={"reference": "#p1"}, contained=[inner]), asking)) is breach


def test_profiles_that_ask_for_each_other_in_a_circle_end(tmp_path: Path) -> None:
    typed = [{"code": "Reference", "targetProfile": ["http://a.test/sd"]}]
    other = {"id": "Patient.link.other", "path": "Patient.link.other", "type": typed}
    (tmp_path / "a.json").write_text(json.dumps(definition(other)))
    people = [patient(id=f"p{n}", link=[{"other": {"reference": f"Patient/p{m}"}, "type": "seealso"} for m in range(12) if m != n]) for n in range(12)]
    assert is_valid(report(bundle(*people), replace(PLAIN, packages=(tmp_path / "a.json",), profiles=("http://a.test/sd",))))
