import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.failure_modes import FailureModeSettings, build, resolve
from touchstone.scorers.clinical.failure_modes.entries import persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import Knowledge, knowledge
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.reading.fhir_persona import persona_of

STATINS = {"age": 58, "sex": "male", "medications": ["Atorvastatin 20 mg", "Simvastatin 40 mg"], "conditions": ["Hyperlipidemia"], "labs": ["LDL cholesterol"]}
DATA = Path(os.environ.get("TOUCHSTONE_DATA", "nowhere")) / "clinical-dev" / "fhir"


def scored(persona: Any = None, settings: FailureModeSettings | None = None, **trace: Any) -> Scorecard:
    case = ProductionTrace.model_validate({"traceId": "t", "timestamp": "2026-09-10T00:00:00Z", "outputs": {}, "persona": persona} | trace)
    return asyncio.run(build(settings or FailureModeSettings()).score(case))


def test_one_failed_mode_fails_the_trace_and_names_its_place() -> None:
    card = scored(STATINS)
    assert card.label == "Fail"
    assert {name for name, value in card.values.items() if value == 0} == {"duplicate_therapy"}
    assert [(one.code, one.path, one.severity) for one in card.findings] == [("mode.duplicate_therapy", "persona/medications[1]", "major")]


def test_what_cannot_be_asked_is_not_checked_and_has_no_value() -> None:
    card = scored({"age": 58, "sex": "male", "conditions": ["Hypertension"]})
    assert card.label == "Pass"
    assert {one.check for one in card.not_checked} == set(MODES) - set(card.values)
    assert "missing_key_lab" not in card.values
    assert card.values["modes_passed"] == 1.0


@pytest.mark.parametrize("persona", [None, {}])
def test_a_trace_without_a_patient_is_unscored(persona: Any) -> None:
    card = scored(persona)
    assert (card.label, card.failures[0].code) == ("unscored", "no_persona")


def test_a_persona_with_nothing_to_ask_about_is_unscored_and_not_a_pass() -> None:
    assert (scored({"name": "Robin Sample"}).label, scored({"name": "Robin Sample"}).failures[0].code) == ("unscored", "nothing_to_ask")


def test_a_mode_in_the_shadow_is_counted_and_decides_nothing() -> None:
    card = scored(STATINS, FailureModeSettings(shadow=("duplicate_therapy",)))
    assert (card.label, card.values["duplicate_therapy"], card.values["modes_passed"]) == ("Pass", 0.0, 1.0)
    assert card.findings[0].severity == "info"
    assert resolve({"FAILURE_MODES_SHADOW": "late_pregnancy"}, None).shadow == ("late_pregnancy",)
    with pytest.raises(ConfigError, match="no failure mode bad_mood"):
        resolve({"FAILURE_MODES_SHADOW": "bad_mood"}, None)


def test_lists_that_the_persona_does_not_have_come_from_its_fhir_document() -> None:
    entries = [
        {"resourceType": "Patient", "id": "p", "gender": "male", "birthDate": "1968-01-01"},
        *({"resourceType": "MedicationRequest", "medicationCodeableConcept": {"text": text}} for text in STATINS["medications"]),
    ]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in entries]}
    outputs = {"fhir": {"content": bundle}}
    for persona in ({"age": 58, "conditions": ["Hyperlipidemia"]}, None):
        card = scored(persona, outputs=outputs)
        assert [one.path for one in card.findings if one.code == "mode.duplicate_therapy"] == ["outputs.fhir/MedicationRequest[1]"]
    own = scored({"age": 58, "medications": ["Atorvastatin 20 mg"]}, outputs=outputs)
    assert own.values["duplicate_therapy"] == 1.0


@pytest.mark.parametrize("said", ["transgender man", "assigned female at birth", "non-binary"])
def test_organs_are_not_concluded_from_sex_where_the_persona_says_that_they_differ(said: str) -> None:
    card = scored({"age": 30, "sex": "male", "conditions": ["Pregnancy"], "summary": said})
    assert "sex_impossible" not in card.values


def test_findings_tell_of_conditions_and_drugs_only_where_they_may_quote() -> None:
    persona = STATINS | {"medications": [*STATINS["medications"], "Donepezil 10 mg", "Amoxicillin 125 mg"], "labs": []}
    plain = " ".join(one.message for one in scored(persona).findings).casefold()
    quoting = " ".join(one.message for one in scored(persona, FailureModeSettings(quote=True)).findings).casefold()
    for word in ("statin", "dementia", "ldl", "250"):
        assert word in quoting
        assert word not in plain


def test_a_hospital_stay_that_the_prompt_denies_is_not_looked_for() -> None:
    def value(prompt: str) -> float:
        return scored({"age": 50, "encounters": [{"type": "outpatient"}]}, prompt=prompt).values["missing_encounter"]

    assert value("She was hospitalized twice.") == 0
    assert value("No fever. She was hospitalized twice.") == 0
    assert value("She was never hospitalized.") == 1


def test_strange_personas_do_no_harm() -> None:
    persona: dict[str, Any] = {
        "age": "many", "sex": ["x"], "conditions": [None, 7, [], {"name": {"a": [1]}}, {"code": {"coding": [{"code": 5}]}}], "labs": {"a": {"b": {}}},
        "medications": "Metformin, " * 500, "encounters": [[[]]],
    }  # fmt: skip
    assert scored(persona, prompt="x" * 10_000).label in ("Pass", "Fail")


def test_a_name_that_the_table_does_not_define_is_refused() -> None:
    table = knowledge().model_dump()
    with pytest.raises(ValueError, match="does not define: no_such_lab"):
        Knowledge.model_validate(table | {"key_labs": {"diabetes": ("no_such_lab",)}})


def test_the_samples_fail_what_their_names_say() -> None:
    folder = Path(__file__).parent / "samples"
    names = {path.stem.removeprefix("sample-mode-").replace("-", "_") for path in folder.glob("*.json")}
    assert names == {*MODES, "none"}
    for path in folder.glob("*.json"):
        trace = json.loads(path.read_text())
        card = scored(trace["persona"], prompt=trace["prompt"])
        assert {name for name, value in card.values.items() if name in MODES and value == 0} == {path.stem.removeprefix("sample-mode-").replace("-", "_")} - {
            "none"
        }


@pytest.mark.skipif(not DATA.is_dir(), reason="the clinical corpora are not here (TOUCHSTONE_DATA)")
def test_real_records_raise_no_false_alarm() -> None:
    read = 0
    for path in sorted(DATA.rglob("*.json"))[:400]:
        persona = persona_of(path.read_bytes())
        if not persona:
            continue
        read += 1
        answers = {name: mode.ask(persona_entries({}, "", 2026, persona), knowledge()) for name, mode in MODES.items()}
        assert not {name for name, answer in answers.items() if answer and not isinstance(answer, str)}, path.name
    assert read > 20
