import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from written_cases import HAS, NEARLY

from touchstone.scorers.clinical.failure_modes.entries import persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import knowledge
from touchstone.scorers.clinical.failure_modes.modes import MODES

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
