"""Where the findings of a trace are: in lines of its document, because the trace itself may be one line."""

import json
import re
from pathlib import Path

import pytest

from tests.ops.commands import Commands

PATIENT = {"resourceType": "Patient", "id": "a", "name": [{"use": "bogus", "family": "Winter"}], "gender": "X"}
MESSAGE = "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|T|2.5.1\rEVN||20240101120000+0000\rPID|1||1^^^X^MR||Winter^Ada||1980|Q\rPV1|1|I"


def trace(**outputs: object) -> str:
    return json.dumps({"traceId": "t1", "outputs": {form: {"content": content} for form, content in outputs.items()}})


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        (trace(fhir=PATIENT), "outputs.fhir/Patient.gender", '"gender": "X"'),
        (trace(fhir=json.dumps(PATIENT, indent=1)), "outputs.fhir/Patient.gender", '"gender": "X"'),
        (trace(hl7v2=MESSAGE), "outputs.hl7v2/PID-8", "PID|1|"),
    ],
)
def test_the_line_of_a_finding_in_a_trace_is_that_which_show_prints(commands: Commands, text: str, path: str, line: str) -> None:
    Path("tr.jsonl").write_text(text + "\n", encoding="utf-8")
    told = commands("score", "clinical", "tr.jsonl").out
    found = re.search(rf"{re.escape(path)} \(line (\d+), column \d+ of the document\)", told)
    assert found is not None, told
    assert told.count("Lines of a document are those that `touchstone show` prints") == 1
    shown = commands("show", "tr.jsonl", "--suite", "clinical").out
    assert re.search(rf"^\s*{found[1]} .*{re.escape(line)}", shown, re.MULTILINE), shown


@pytest.mark.parametrize("form", ["console", "markdown", "html", "junit"])
def test_no_report_of_a_trace_names_a_line_as_if_it_were_of_the_file(commands: Commands, form: str) -> None:
    Path("tr.jsonl").write_text(trace(fhir=PATIENT) + "\n", encoding="utf-8")
    told = commands("score", "clinical", "tr.jsonl", "--format", form).out
    assert "of the document" in told
    assert not re.search(r"line \d+, column \d+(?! of the document)", told)


def test_the_lines_of_a_file_are_the_file_s_own(commands: Commands) -> None:
    Path("p.json").write_text(json.dumps(PATIENT, indent=2), encoding="utf-8")
    told = commands("eval", "validate", "p.json").out
    assert "Patient.gender (p.json:10:3): " in told
    assert "Lines of a document" not in told
