import json
from collections import Counter
from typing import Any

from touchstone.ops.lab.agreement.invariants import spots
from touchstone.ops.lab.agreement.mutations import KINDS, mutants, resources_of
from touchstone.ops.lab.agreement.values import VALUES
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
