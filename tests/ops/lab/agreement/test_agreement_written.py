"""The two sets that no rule is tuned to: what is recorded is whole, halves hold, and the command counts."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.ops.lab.agreement.test_agreement_mutations import PATIENT
from tests.ops.lab.laboratory import Laboratory
from touchstone.ops.lab.agreement.written import changed as changes
from touchstone.ops.lab.agreement.written.cases import FOLDER, HALVES, KINDS, cases, definitions, half_of
from touchstone.ops.lab.agreement.written.measure import as_text, measured
from touchstone.ops.lab.agreement.written.operators import OPERATORS, applicable, changed

GOOD = {"resourceType": "Patient", "id": "p", "birthDate": "1970-01-31", "gender": "male"}
BAD = GOOD | {"birthDate": "31/01/1970"}


def test_cases_are_sixty_half_of_them_valid_each_in_the_half_of_its_name_with_a_verdict() -> None:
    found = cases()
    assert len(found) == len({one.name for one in found}) == 60
    assert sum(bool(one.official and one.official["valid"]) for one in found) == 30
    assert {one["name"]: half for half in HALVES for one in json.loads((FOLDER / f"{half}.json").read_text())} == {one.name: half_of(one.name) for one in found}
    assert all(one.rule and one.official is not None and one.official["valid"] == (not one.official["errors"]) for one in found)
    assert {name for one in found for name in one.uses} <= set(definitions())


def test_each_kind_has_valid_and_invalid_cases_some_of_them_unread_with_what_they_use() -> None:
    found = cases(KINDS)
    assert len(found) == len({one.name for one in found}) > 500
    assert sum(one.half == "unread" for one in found) >= 50
    assert {name for one in found for name in one.uses} == set(definitions(KINDS))
    assert not set(definitions()) & set(definitions(KINDS))  # one validator is asked about both
    told = [(one.kind, bool(one.official["valid"])) for one in found if one.official is not None]
    assert all(told.count((kind, is_valid)) >= 3 for kind in {one.kind for one in found} for is_valid in (True, False))


def test_mutations_are_three_hundred_by_known_operators_and_quote_no_document() -> None:
    rows = json.loads(changes.RECORD.read_text())["mutations"]
    assert len(rows) == 300 == len({tuple(row[:3]) for row in rows})
    assert len({row[1] for row in rows}) >= 25
    assert {row[1] for row in rows} <= set(OPERATORS)
    assert {row[0].partition("/")[0] for row in rows} == set(changes.SOURCES)
    assert all(" at " in error and "'" not in error for row in rows for error in row[4])


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_changes_one_place_the_same_way_each_time_and_leaves_the_document_as_it_was(name: str) -> None:
    document = PATIENT | {
        "meta": {"profile": ["http://example.org/p"]},
        "text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div>'},
        "status": "final",
        "active": True,
        "gender": "male",
        "birthDate": "1970-01-31",
        "issued": "2020-01-01T10:00:00Z",
        "period": {"start": "2020-01-01", "end": "2020-01-02"},
        "identifier": [{"system": "http://example.org/i", "value": "1", "period": {"start": "2020", "end": "2021"}}],
        "telecom": [{"system": "phone", "value": "1"}],
        "valueQuantity": {"value": 1.5, "system": "http://unitsofmeasure.org", "code": "mg"},
        "code": {"coding": [{"system": "http://loinc.org", "code": "1-8"}], "text": "x"},
        "subject": {"reference": "Patient/1"},
    }
    before = json.dumps(document)
    places = applicable(document, name)
    once = changed(document, name, places[-1], 1)
    assert once == changed(document, name, places[-1], 1) != before
    assert json.dumps(document) == before


def small_set(folder: Path) -> tuple[Path, Path]:
    """Two cases in each half, one of them broken, which the record calls valid; and a mutation whose document nobody has."""
    (folder / "definitions.json").write_text("{}")
    names: dict[str, list[str]] = {half: [] for half in HALVES}
    for number in range(100):
        names[half_of(f"case {number}")].append(f"case {number}")
    told = {"valid": True, "errors": [], "warnings": []}
    for half in HALVES:
        both = [{"name": name, "kind": "dates", "rule": "R", "official": told, "document": one} for name, one in zip(names[half], (GOOD, BAD), strict=False)]
        (folder / f"{half}.json").write_text(json.dumps(both))
    record = folder / "mutations.json"
    record.write_text(json.dumps({"mutations": [["r4/none", "member-gone", "status", "0", []]]}))
    return folder, record


def test_kinds_and_differences_are_told_of_one_half_and_sums_of_the_other(tmp_path: Path) -> None:
    folder, record = small_set(tmp_path)
    found = measured(None, folder=folder, kinds=None, record=record)
    expected = {"cases": 2, "agree": 1, "agreement": 0.5, "valid": 2, "false_alarms": 1, "false_alarm_rate": 0.5, "missed": 0}
    assert found["cases"]["kinds"] == {"dates": expected}
    assert found["cases"]["unread"] == expected
    assert [one["expected"] for one in found["cases"]["dev"]["disagreements"]] == ["valid"]
    assert found["mutations"]["left_out"] == {"its document or its guide is not in the data": 1}
    unread = {one["name"] for one in json.loads((folder / "unread.json").read_text())}
    text = as_text(found)
    assert "cases: dates" in text
    assert "cases, unread half" in text
    assert not any(name in text + json.dumps(found) for name in unread)


def test_a_changed_document_is_left_out_and_a_guide_that_is_absent_is_told(tmp_path: Path) -> None:
    folder, record = small_set(tmp_path)
    (examples := tmp_path / "data" / "fhir" / "r4-examples").mkdir(parents=True)
    (examples / "one.json").write_text(json.dumps(GOOD))
    data, one = tmp_path / "data", changes.Mutation("r4/one", "date-with-slashes", "birthDate")
    text = changes.made(data, one)
    assert text is not None
    rows = [[one.document, one.operator, one.where, digest, ["x at Patient"]] for digest in (changes.digest(text), "another")]
    record.write_text(json.dumps({"mutations": rows}))
    assert measured(data, folder=folder, kinds=None, record=record)["mutations"]["left_out"] == {"its document or its guide is not in the data": 2}
    (packages := data / "packages").mkdir()
    with tarfile.open(packages / "us_core_610.tgz", "w:gz") as archive:
        about = json.dumps({"name": "hl7.fhir.us.core", "version": "6.1.0"}).encode()
        (member := tarfile.TarInfo("package/package.json")).size = len(about)
        archive.addfile(member, io.BytesIO(about))
    found = measured(data, folder=folder, kinds=None, record=record)["mutations"]
    assert found["left_out"] == {"its document is not the one that was judged": 1}
    assert found["dev"]["agree"] + found["unread"]["agree"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--written", "--oracle", "x"), "--written takes no files"), (("--record",), "--record needs --written"), (("--written", "--record"), "--record needs")],
)
def test_a_wrong_command_line_is_told(run: Laboratory, arguments: tuple[str, ...], message: str) -> None:
    ran = run("agreement", *arguments)
    assert ran.code == 2
    assert message in ran.one_line


def test_the_data_gives_the_documents_that_were_judged(clinical_data: Path) -> None:
    rows = json.loads(changes.RECORD.read_text())["mutations"]
    for document, operator, where, digest, _ in rows:
        text = changes.made(clinical_data, changes.Mutation(document, operator, where))
        assert text is not None, document
        assert changes.digest(text) == digest, document
