import json
from pathlib import Path
from typing import Any

from touchstone.ops.lab.value_sets import as_text, measure


def binding(value_set: str, strength: str) -> dict[str, Any]:
    return {"id": f"Patient.{value_set}", "binding": {"strength": strength, "valueSet": f"http://example.org/{value_set}"}}


def value_set(name: str, **include: Any) -> dict[str, Any]:
    return {"resourceType": "ValueSet", "url": f"http://example.org/{name}", "compose": {"include": [include]}}


def package(folder: Path, *definitions: dict[str, Any]) -> Path:
    (folder / "package").mkdir(parents=True)
    for number, one in enumerate(definitions):
        (folder / "package" / f"{one['resourceType']}-{number}.json").write_text(json.dumps(one))
    return folder


def test_bound_value_sets_are_counted_by_how_they_are_decided(tmp_path: Path) -> None:
    bound = [binding(name, "required") for name in ("listed", "ruled", "whole", "absent", "filtered")] + [binding("loose", "preferred")]
    snomed = "http://snomed.info/sct"
    made = package(
        tmp_path / "own",
        {"resourceType": "StructureDefinition", "url": "http://example.org/p", "differential": {"element": bound}},
        value_set("listed", system=snomed, concept=[{"code": "1"}]),
        value_set("ruled", system="urn:iso:std:iso:4217"),
        value_set("whole", system="http://loinc.org"),
        value_set("filtered", system=snomed, filter=[{"property": "concept", "op": "is-a", "value": "1"}]),
    )
    rules, vocabulary = tmp_path / "rules.sch", tmp_path / "voc.xml"
    rules.write_text("".join(f"document('voc.xml')/voc:systems/voc:system[@valueSetOid='{oid}']" for oid in ("1.2", "1.3")))
    vocabulary.write_text('<systems><system valueSetOid="1.2" valueSetName="A"/></systems>')
    found = measure([made], [], rules, vocabulary)
    counted = {key: found["own"][key] for key in ("bound", "by list", "by rule", "by system", "not")}
    assert counted == {"bound": 5, "by list": 1, "by rule": 1, "by system": 1, "not": 2}
    assert set(found["own"]["lacking"]) == {snomed, "http://loinc.org (its form only)", "value sets of example.org that no package at hand has"}
    assert (found["C-CDA (rules.sch)"]["by list"], found["C-CDA (rules.sch)"]["not"]) == (1, 1)
    assert "| own | 5 | 1 | 1 | 1 | 2 |" in as_text(found)
