"""Which must-support elements of the claimed profiles are populated, in a document and over all files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import observation, report
from touchstone.scorers.clinical.formats.fhir import Options
from touchstone.scorers.clinical.must_support import TITLE, Coverage, CoverageCounts, merge

URL = "http://hospital.example.net/StructureDefinition/lab"
ABSENT = {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}
CODING = {"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}


@pytest.fixture
def package(tmp_path: Path) -> Options:
    folder = tmp_path / "lab.test#1.2.3" / "package"
    folder.mkdir(parents=True)
    must: dict[str, Any] = {"mustSupport": True}
    elements: list[dict[str, Any]] = [
        {"id": "Observation", "path": "Observation", **must},
        {"id": "Observation.issued", "path": "Observation.issued", **must},
        {"id": "Observation.value[x]", "path": "Observation.value[x]", **must},
        {"id": "Observation.referenceRange", "path": "Observation.referenceRange"},
        {"id": "Observation.referenceRange.text", "path": "Observation.referenceRange.text", **must},
        {"id": "Observation.category", "path": "Observation.category", "slicing": {"discriminator": [{"type": "pattern", "path": "$this"}], "rules": "open"}},
        {"id": "Observation.category:Lab", "path": "Observation.category", "sliceName": "Lab", "patternCodeableConcept": {"coding": [CODING]}, **must},
        {"id": "Observation.note", "path": "Observation.note", "slicing": {"discriminator": [{"type": "exists", "path": "foo()"}], "rules": "open"}},
        {"id": "Observation.note:Odd", "path": "Observation.note", "sliceName": "Odd", **must},
    ]
    definition = {
        "resourceType": "StructureDefinition", "url": URL, "version": "1.2.3", "name": "Lab", "status": "active", "kind": "resource", "abstract": False,
        "type": "Observation", "derivation": "constraint", "baseDefinition": "http://hl7.org/fhir/StructureDefinition/Observation",
        "differential": {"element": elements},
    }  # fmt: skip
    (folder / "StructureDefinition-lab.json").write_text(json.dumps(definition), encoding="utf-8")
    (folder / "package.json").write_text('{"name": "lab.test", "version": "1.2.3"}', encoding="utf-8")
    return Options(marks=False, installed_packages=False, packages=(tmp_path,))


def coverage(package: Options, **changes: Any) -> dict[str, bool | None]:
    given = {"meta": {"profile": [URL]}, "issued": None, "valueQuantity": None, "category": None, **changes}
    return report(observation(**given), package).must_support.get("lab|1.2.3", {})


def populated(package: Options, **changes: Any) -> set[str]:
    return {element.removeprefix("Observation.") for element, one in coverage(package, **changes).items() if one}


def test_elements_count_as_populated_also_as_a_choice_and_in_a_slice_and_below_an_absent_element(package: Options) -> None:
    assert populated(package, valueString="x") == {"value[x]"}
    assert populated(package, category=[{"coding": [CODING]}]) == {"category:Lab"}
    assert populated(package, category=[{"coding": [{**CODING, "code": "exam"}]}]) == set()
    assert populated(package, referenceRange=[{"text": "1-2"}], issued="2024-01-01T00:00:00Z") == {"referenceRange.text", "issued"}
    # An element whose parent never occurs is listed as missing, too.
    assert coverage(package)["Observation.referenceRange.text"] is False
    assert "Observation" not in coverage(package)


def test_a_reason_why_data_is_absent_does_not_populate_an_element(package: Options) -> None:
    assert populated(package, _issued={"extension": [ABSENT]}) == set()
    assert populated(package, valueQuantity={"extension": [ABSENT]}) == set()


def test_a_slice_that_cannot_be_decided_is_never_missing(package: Options) -> None:
    assert coverage(package, note=[{"text": "x"}])["Observation.note:Odd"] is None


def test_a_profile_that_no_resource_claims_is_not_listed_unless_it_is_asked_for(package: Options) -> None:
    assert coverage(package, meta=None) == {}
    assert coverage(replace(package, profiles=(URL,)), meta=None) != {}


def test_an_element_is_populated_if_any_document_has_it_and_missing_only_if_all_say_so() -> None:
    total: Coverage = {}
    for populated_here in (False, None, False):
        merge(total, {"p": {"a": populated_here, "b": False, "c": populated_here is None}})
    assert total == {"p": {"a": None, "b": False, "c": True}}


def test_the_table_names_what_no_file_populates() -> None:
    counts = CoverageCounts()
    counts.add({"p|1": {"P.a": True, "P.b": False, "P.c": None}})
    counts.add({"p|1": {"P.a": False, "P.b": False, "P.c": None}})
    table = counts.table("file")
    assert table is not None
    assert (table.title, [*table.rows]) == (TITLE, [("p|1", "2", "3", "1", "P.b; not decidable: 1")])
    assert list(counts.lines("file")) == ["  p|1 (2 files): 1 of 3 populated; never: P.b; not decidable: 1"]
    assert CoverageCounts().table("file") is None


def test_profiles_beyond_the_bound_are_counted_and_reported() -> None:
    counts = CoverageCounts()
    for number in range(103):
        counts.add({f"profile-{number:03}|1.0": {"Patient.name": True}})
        counts.add({f"profile-{number:03}|1.0": {"Patient.name": False}})
    table = counts.table("file")
    assert table is not None
    assert list(counts.lines("file"))[-1].strip() == table.rows[-1][0] == "3 more profiles, beyond the 100 that are shown"
