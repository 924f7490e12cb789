"""Mutations: seeded, of every kind, and each of one thing."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.lab.agreement.explained import explanations, set_aside
from touchstone.ops.lab.agreement.invariants import spots
from touchstone.ops.lab.agreement.mutations import KINDS, mutants, resources_of
from touchstone.ops.lab.agreement.places import Places
from touchstone.ops.lab.agreement.sources import sources
from touchstone.ops.lab.agreement.values import VALUES
from touchstone.ops.local.fhir_validator.client import Issue
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.fhir.tables import definitions

OBSERVATION: dict[str, Any] = {
    "resourceType": "Observation",
    "status": "final",
    "text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">x</div>'},
    "code": {"coding": [{"system": "http://loinc.org", "code": "718-7"}]},
    "subject": {"reference": "Patient/p1"},
    "effectiveDateTime": "2024-01-09",
    "valueQuantity": {"value": 13.5, "unit": "g/dL", "system": "http://unitsofmeasure.org", "code": "g/dL"},
}
PATIENT: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "p1",
    "gender": "female",
    "birthDate": "1970-01-01",
    "name": [{"family": "Winter", "given": ["Ada"]}],
}
BUNDLE = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": OBSERVATION}, {"resource": PATIENT}, {"resource": OBSERVATION}]}
POOL = [("o", OBSERVATION), ("p", PATIENT)]


def test_the_same_seed_gives_the_same_mutations() -> None:
    first, again, other = (list(mutants(POOL, 60, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_kind_is_met_and_changes_something() -> None:
    made = list(mutants(POOL, 240, 3))
    assert Counter(one.kind for one in made) == dict.fromkeys(KINDS, 10)
    originals = dict(POOL)
    assert all(json.dumps(json.loads(one.resource, object_pairs_hook=list)) != json.dumps(originals[one.source]) for one in made)


def test_a_member_can_stand_twice() -> None:
    made = [one for one in mutants(POOL, 240, 5) if one.kind == "twice"]
    assert made
    for one in made:
        seen: list[bool] = []
        json.loads(one.resource, object_pairs_hook=lambda pairs, seen=seen: seen.append(len(dict(pairs)) < len(pairs)))
        assert any(seen), one.where


def test_every_value_for_a_type_is_one_that_json_can_hold() -> None:
    assert json.loads(json.dumps(VALUES, default=list)).keys() == definitions().primitives - {"xhtml"}


def test_the_sources_are_left_as_they_were() -> None:
    before = json.dumps(POOL)
    list(mutants(POOL, 120, 4))
    assert json.dumps(POOL) == before


def test_only_usable_resources_are_changed() -> None:
    assert {one.source for one in mutants(POOL, 60, 1, lambda name, _: name == "p")} == {"p"}
    assert list(mutants(POOL, 12, 1, lambda _name, _resource: False)) == []
    assert list(mutants([], 12, 1)) == []


def test_the_entries_of_a_bundle_are_resources_of_their_own() -> None:
    found = resources_of("b.json", json.dumps(BUNDLE).encode())
    assert [name for name, _ in found] == ["b.json", "b.json:entry[0]", "b.json:entry[1]", "b.json:entry[2]"]
    assert resources_of("x", b"{") == resources_of("x", b"[1]") == []


def test_a_spot_is_told_by_its_path() -> None:
    assert [spot.path for spot in spots(PATIENT)][-3:] == ["Patient.name", "Patient.name[0].family", "Patient.name[0].given"]


@pytest.mark.parametrize(
    ("official", "ours"),
    [
        ("Bundle.entry[2].resource/*Observation/o2*/.value.ofType(Quantity).code", "Observation[1].valueQuantity.code"),
        ("Bundle.entry[1].resource.name[0]", "Patient.name[0]"),
        ("Bundle.entry[9].resource.name", "Bundle.entry[9].resource.name"),
        ("Bundle.entry[0]", "Bundle.entry[0]"),
        ("Patient.contained[0]/*Organization/x*/.name", "Patient.contained[0].name"),
        ("(document)", ""),
    ],
)
def test_official_places_are_written_as_ours(official: str, ours: str) -> None:
    assert Places(json.dumps(BUNDLE).encode()).of_official(official) == ours


def test_places_are_near_within_one_step() -> None:
    near = Places.near
    assert near("Patient.name[0]", {"Patient.name[0]"})
    assert near("Patient.name[0].given", {"Patient.name[0]"})
    assert near("Patient.name", {"Patient.name[0]"})
    assert not near("Patient", {"Patient.name[0].given"})
    assert not near("Patient.name", {"Patient.gender"})


@pytest.mark.parametrize("document", [b"", b"[]", b'{"resourceType":"Bundle","entry":3}', b'{"resourceType":"Bundle","entry":[null,{"resource":4}]}'])
def test_places_of_a_broken_document_stay_as_they_are(document: bytes) -> None:
    assert Places(document).of_official("Bundle.entry[1].resource.x") == "Bundle.entry[1].resource.x"


def test_what_could_not_be_looked_up_is_set_aside_and_what_is_wrong_is_not() -> None:
    code = "Terminology_TX_NoValid_16"
    assert set_aside(Issue("error", code, "Claim.total.currency", "not found in (http://hl7.org/fhir/ValueSet/currencies|4.0.1)")) is not None
    assert set_aside(Issue("error", code, "Patient.gender", "not found in (http://hl7.org/fhir/ValueSet/administrative-gender|4.0.1)")) is None


def test_a_difference_is_explained_only_by_classes_that_cover_all_of_it() -> None:
    assert explanations([], ["fhir.references.form"]) == ["reference form"]
    assert explanations([], ["fhir.references.form", "fhir.structure.unknown"]) == []
    assert explanations(["Unknown_Code_in_Version"], []) == ["codes of HL7 terminology"]
    period = "http://hl7.org/fhir/StructureDefinition/Period#per-1"
    assert explanations([period], []) == []
    assert explanations([period], [], {"invariant per-1"}) == ["comparison that the values leave open"]


def test_documents_are_found_in_files_lines_and_traces(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PATIENT))
    (tmp_path / "b.ndjson").write_text(f"{json.dumps(PATIENT)}\n\n{json.dumps(OBSERVATION)}\n")
    (tmp_path / "c.json").write_text(json.dumps({"traceId": "t", "outputs": {"fhir": {"content": json.dumps(PATIENT)}}}))
    (tmp_path / "d.json").write_text(json.dumps([{"outputs": {"fhir": {"content": PATIENT}}}, {"outputs": {}}]))
    (tmp_path / "e.json").write_text('{"resourceType": "Pat')
    (tmp_path / "f.json").write_text('{"name": "package"}')
    assert [one.name for one in sources([tmp_path])] == ["a.json", "b.ndjson:1", "b.ndjson:3", "c.json", "d.json[1]", "e.json"]


def test_no_document_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no FHIR document in what was given"):
        sources([tmp_path])
    with pytest.raises(ConfigError, match="no such file or folder"):
        sources([tmp_path / "absent"])
