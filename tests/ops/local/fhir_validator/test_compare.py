import json
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.ops.lab.agreement.test_agreement_mutations import BUNDLE, OBSERVATION, PATIENT
from tests.ops.local.fhir_validator.stand_in import StandIn, issue, outcome
from touchstone.ops.local.fhir_validator import server
from touchstone.ops.local.fhir_validator.documents import fhir_documents
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.comparison.explanations import explanations, set_aside
from touchstone.scorers.clinical.comparison.places import Places
from touchstone.scorers.operation_outcome import Issue


def test_both_valid_is_one_line(run: Commands, official: StandIn, patient: Path) -> None:
    ran = run("fhir-validator", "compare", patient)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "patient.json: both valid"
    assert "same verdict on 1 of 1 (100.00%)" in ran.out
    assert ran.err == ""


def test_a_difference_is_told_by_side_place_and_id_and_quotes_nothing(run: Commands, official: StandIn, patient: Path) -> None:
    official.answer = lambda _: (200, outcome(issue("error", "E_MADE_UP", "Patient.name[0].family", "bad 'Winter'")))
    ran = run("fhir-validator", "compare", patient)
    assert "patient.json: official invalid, ours valid – unexplained" in ran.out
    assert "official error       Patient.name[0].family  E_MADE_UP" in ran.out
    assert "Winter" not in ran.out
    assert "bad 'Winter'" in run("fhir-validator", "compare", patient, "--quote").out


def test_ours_is_told_too(run: Commands, official: StandIn, tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text(json.dumps(OBSERVATION | {"status": "done"}))
    ran = run("fhir-validator", "compare", tmp_path / "o.json", "--json")
    (one,) = json.loads(ran.out)["documents"]
    assert (one["official"], one["ours"]) == ("valid", "invalid")
    assert [(each["side"], each["location"]) for each in one["differences"]] == [("ours", "Observation.status")]


def test_a_document_on_which_it_throws_is_told_apart(run: Commands, official: StandIn, patient: Path, tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text(json.dumps(OBSERVATION))
    thrown = (500, b'{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"exception"}]}')
    official.answer = lambda body: thrown if b"Observation" in body else (200, outcome())
    ran = run("fhir-validator", "compare", patient, tmp_path / "o.json", "--json")
    assert (ran.code, json.loads(ran.out)["undecided"]) == (0, ["o.json"])
    official.answer = lambda _: thrown
    assert "failed on every document" in run("fhir-validator", "compare", patient).one_line


@pytest.mark.parametrize("answer", [(200, b"no JSON"), (200, b'{"resourceType":"Patient"}'), (502, b"")])
def test_a_broken_oracle_is_one_line_and_exit_3(run: Commands, official: StandIn, patient: Path, answer: tuple[int, bytes]) -> None:
    official.answer = lambda _: answer
    ran = run("fhir-validator", "compare", patient)
    assert (ran.code, ran.out) == (3, "")
    assert "the official validator at 127.0.0.1:" in ran.one_line


def test_one_that_cannot_be_started_is_one_line_and_exit_3(run: Commands, patient: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise ConfigError("no Java on the PATH")

    monkeypatch.setattr(server.FhirValidator, "start", fail)
    ran = run("fhir-validator", "compare", patient)
    assert (ran.code, ran.one_line) == (3, "touchstone: no Java on the PATH")


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
    def refused(name: str) -> Issue:
        value_set = f"http://hl7.org/fhir/ValueSet/{name}|4.0.1"
        reason = f"The System URI could not be determined for the code 'x' in the ValueSet '{value_set}'"
        text = (
            f"The value provided ('x') was not found in the value set 'X' ({value_set}), and a code is required from this value set  (error message = {reason})"
        )
        return Issue("error", "Terminology_TX_NoValid_16", "X.code", text)

    for name in ("currencies", "mimetypes", "all-languages", "ucum-units"):
        assert set_aside(refused(name)) == "code systems that are not in the packages"
    assert set_aside(refused("administrative-gender")) is None


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
    assert [one.name for one in fhir_documents([tmp_path])] == ["a.json", "b.ndjson:1", "b.ndjson:3", "c.json", "d.json[1]", "e.json"]


def test_no_document_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no FHIR document in what was given"):
        fhir_documents([tmp_path])
    with pytest.raises(ConfigError, match="no such file or folder"):
        fhir_documents([tmp_path / "absent"])
