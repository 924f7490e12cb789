from datetime import UTC, datetime

import pytest

from tests.scorers.clinical.hl7v2.messages import NOW, OBX, PID, header, message, report_of, result
from touchstone.scorers.clinical.formats.hl7v2 import validate
from touchstone.scorers.clinical.formats.hl7v2.fields import REMEMBERED, Checker
from touchstone.scorers.clinical.formats.hl7v2.tables import load
from touchstone.scorers.clinical.formats.memory import TEXT_LENGTH_MAX, Memory
from touchstone.scorers.clinical.report import Context


def test_a_question_is_asked_once_for_each_text() -> None:
    asked: list[str] = []
    memory = Memory(lambda text: asked.append(text) or len(text))

    assert [memory["a"], memory["bb"], memory["a"]] == [1, 2, 1]
    assert asked == ["a", "bb"]


def test_a_memory_keeps_no_more_than_its_bound_and_no_long_text() -> None:
    memory = Memory(len, texts_max=10)
    for number in range(1_000):
        assert memory[str(number)] == len(str(number))
    assert memory["x" * (TEXT_LENGTH_MAX + 1)] == TEXT_LENGTH_MAX + 1

    assert len(memory) <= 10
    assert all(len(text) <= TEXT_LENGTH_MAX for text in memory)


@pytest.mark.parametrize("datatype", ["XPN", "XAD", "XTN", "CX", "XCN", "ST", "TX", "FT", "DT", "TS", "DTM", "NM", "SI", "EI", "PL"])
def test_only_codes_are_remembered(datatype: str) -> None:
    assert datatype not in REMEMBERED


@pytest.mark.parametrize("position", [2, 3, 5, 7, 11, 13, 19, 29])
def test_nothing_of_a_person_is_remembered(position: int) -> None:
    checker = Checker(load("2.5.1"), "PID")

    checker.accepts[position]("x")  # the first value makes the field's pattern

    assert not isinstance(getattr(checker.accepts[position], "__self__", None), Memory)
    assert checker.elements[position].most == 0 or checker._problems_of(position) is None


@pytest.mark.parametrize(
    "row",
    [
        OBX.replace("718-7^Hemoglobin^LN", "718-7^Hemoglobin"),
        OBX.replace("|N|", "|ZZ^Odd^HL70078|"),
        OBX.replace("UCUM", "NO SYSTEM"),
        "OBX|1|CWE|94500-6^RNA^LN||1^a^L~2^b||||||F|||20260211083000-0600",
    ],
)
def test_what_is_remembered_is_told_at_each_place_as_if_it_were_new(row: str) -> None:
    once = report_of(result(row))
    twice = report_of(result(row, row.replace("OBX|1", "OBX|2").replace("LN||", "LN|2|").replace("Hemoglobin||", "Hemoglobin|2|")))
    of_values = [found for found in once.findings if found.code.startswith(("data_types.", "valuesets."))]

    assert of_values
    for found in of_values:
        moved = found.model_copy(update={"path": found.path.replace("OBX[1]", "OBX[2]")})
        assert found in twice.findings
        assert moved in twice.findings


def test_values_are_quoted_only_for_whom_they_may_be() -> None:
    data = result(OBX.replace("|N|", "|ZZ9|"))

    for quote in (True, False, True, False):
        assert ("ZZ9" in " ".join(found.message for found in report_of(data, quote=quote).findings)) is quote


def test_what_the_clock_decides_is_not_remembered() -> None:
    data = message(header(version="2.8"), PID, "OBR|1||8801^LAB|718-7^Hemoglobin^LN", "OBX|1|CWE|718-7^Hemoglobin^LN||1^a^L^^^^^^^^^^^^20270101||||||F")

    def told(now: datetime) -> list[str]:
        return [found.code for found in validate(data, Context(now=lambda: now)).findings if found.code == "datetimes.future"]

    assert told(NOW) == told(NOW)
    assert told(datetime(2030, 1, 1, tzinfo=UTC)) == []
