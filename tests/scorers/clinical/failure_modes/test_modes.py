import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from chart_cases import HAS as CHARTS_WITH
from chart_cases import NEARLY as CHARTS_NEARLY
from written_cases import HAS, NEARLY

from touchstone.scorers.clinical.failure_modes.entries import persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import knowledge
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS

SEXES = {"m": "male", "f": "female", "other": "other"}


def entry(text: str) -> dict[str, Any]:
    """One entry of a written case."""
    found: dict[str, Any] = {}
    if match := re.match(r"\[(\S+)\]\s*", text):
        found["code"], text = match[1], text[match.end() :]
    for sign, key in (("@", "startDate"), ("!", "status")):
        if match := re.search(rf"\s*{sign}(\S+)", text):
            found[key], text = match[1], text[: match.start()] + text[match.end() :]
    if ".." in found.get("startDate", ""):
        found["startDate"], found["endDate"] = found["startDate"].split("..")
    return found | {"name": text.strip()}


def persona(line: str) -> tuple[dict[str, Any], str]:
    """The persona and prompt of a written case."""
    body, _, prompt = line.partition(" # ")
    who, *lists = (part.strip() for part in body.split("|"))
    age, sex = who.split()
    made: dict[str, Any] = {"age": int(age)} | ({"sex": SEXES[sex]} if sex in SEXES else {})
    for key, part in zip(("conditions", "medications", "labs", "encounters"), lists, strict=False):
        made[key] = [] if part == "-" else [entry(one.strip()) for one in part.split(";")]
    for medication in made.get("medications", ()):
        name, found, indication = medication["name"].partition(" for ")
        if found:
            medication |= {"name": name, "indication": indication}
    for lab in made.get("labs", ()):
        name, _, value = lab["name"].partition(" = ")
        number, _, unit = value.partition(" ")
        lab |= {"name": name, "value": float(number) if re.fullmatch(r"[\d.]+", number) else number, "unit": unit}
    return made, prompt.strip()


def failed(line: str) -> set[str]:
    """The modes that a written case fails."""
    made, prompt = persona(line)
    read = persona_entries(made, prompt)
    answers = {name: mode.ask(read, knowledge()) for name, mode in MODES.items()}
    return {name for name, answer in answers.items() if answer and not isinstance(answer, str)}


@pytest.mark.parametrize(("mode", "line"), [(mode, line) for mode, lines in HAS.items() for line in lines])
def test_a_persona_that_has_it_fails(mode: str, line: str) -> None:
    assert mode in failed(line)


@pytest.mark.parametrize(("mode", "line"), [(mode, line) for mode, lines in NEARLY.items() for line in lines])
def test_a_persona_that_nearly_has_it_passes(mode: str, line: str) -> None:
    assert mode not in failed(line)


def test_every_mode_has_ten_of_each() -> None:
    assert set(HAS) == set(NEARLY) == set(MODES)
    assert min(len(lines) for table in (HAS, NEARLY) for lines in table.values()) >= 10


def of_chart(case: dict[str, Any]) -> set[str]:
    read = persona_entries(case["persona"], case["prompt"])
    answers = {name: mode.ask(read, knowledge()) for name, mode in MODES.items()}
    return {name for name, answer in answers.items() if answer and not isinstance(answer, str)}


@pytest.mark.parametrize(("mode", "case"), [pytest.param(mode, case, id=what) for mode, cases in CHARTS_WITH.items() for what, case in cases])
def test_a_chart_that_has_it_fails_this_mode_and_no_other(mode: str, case: dict[str, Any]) -> None:
    assert of_chart(case) == {mode}


@pytest.mark.parametrize("case", [pytest.param(case, id=what) for cases in CHARTS_NEARLY.values() for what, case in cases])
def test_a_chart_that_nearly_has_it_fails_nothing(case: dict[str, Any]) -> None:
    assert of_chart(case) == set()


@pytest.mark.parametrize(
    ("prompt", "fails"),
    [
        ("In May she was hospitalized for asthma", True),
        ("A man who never smoked and was hospitalized with pneumonia", True),
        ("Admitted with chest pain last spring", True),
        ("No fever and no ER visits this year", False),
        ("Warn the patient what to do if hospitalized", False),
        ("She may need hospitalization later", False),
        ("Hospitalization was offered and she went home", False),
        ("The plan is to prevent hospital admissions", False),
    ],
)
def test_a_stay_counts_where_the_prompt_states_it_as_a_fact(prompt: str, fails: bool) -> None:
    assert ("missing_encounter" in of_chart({"persona": {"encounters": [{"type": "office visit"}]}, "prompt": prompt})) is fails


@pytest.mark.parametrize(
    ("drugs", "fails"),
    [
        (["Prilosec 20 mg", "Protonix 40 mg"], {"duplicate_therapy"}),
        (["Zoloft 50 mg", "Sertraline 50 mg"], set()),
        (["Motrin 50 mg"], {"paediatric_dose"}),
        (["Fosamax 70 mg weekly"], {"drug_without_indication"}),
    ],
)
def test_a_brand_is_its_ingredient(drugs: list[str], fails: set[str]) -> None:
    assert of_chart({"persona": {"age": 60, "conditions": ["GERD", "Depression", "Back pain"], "medications": drugs}, "prompt": ""}) == fails


def test_every_question_is_answered_by_code() -> None:
    assert list(MODES) == list(QUESTIONS)
