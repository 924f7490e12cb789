import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ops.clinical_cases import BAD_FHIR, BAD_HL7V2, GOOD_FHIR, GOOD_HL7V2, trace
from tests.ops.commands import Commands
from tests.streams.results_topic import BEGAN, projection, result
from touchstone.ops.cli.common.shared import EXIT_ERROR
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.case import validate_case
from touchstone.schemas.result import Failure, ScoreResult
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import ClinicalSettings, build
from touchstone.scorers.identity import deterministic_id

#: Recognised, and of no template that has rules.
CDA = '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>x</title></ClinicalDocument>'
TRACES = {"a.json": trace(fhir=GOOD_FHIR, hl7v2=GOOD_HL7V2), "b.json": trace(fhir=BAD_FHIR), "c.json": trace(hl7v2=BAD_HL7V2), "d.json": trace(ccda=CDA)}


@pytest.fixture
def run(commands: Commands) -> Commands:
    for name, content in TRACES.items():
        Path(name).write_text(json.dumps(content), encoding="utf-8")
    return commands


def scored(digest: str = "d1", minutes: int = 0, cases: Iterable[dict[str, Any]] = tuple(TRACES.values())) -> list[ScoreResult]:
    scorer = build(ClinicalSettings())
    told = []
    for number, content in enumerate(cases):
        case = validate_case(ProductionTrace, content)
        card = scorer.evaluate(case)
        like = result(event=f"e{number}", offset=number, suite="clinical", version="1.0", digest=digest)
        fields = {name: getattr(card, name) for name in type(card).model_fields}
        identity = {
            "result_id": deterministic_id(f"{number}/{digest}"),
            "case_id": f"t{number}",
            "kind": "trace",
            "scored_at": BEGAN + timedelta(minutes=minutes),
            "duration_ms": {"score": 5.0},
        }
        told.append(like.model_copy(update=fields | identity))
    return told


def stored(*results: ScoreResult) -> str:
    store = ResultStore.open("sqlite:///results.db", create=True)
    store.apply(projection(*results), 1.0)
    store.close()
    return "sqlite:///results.db"


def test_stored_traces_are_told_as_files_of_them_are(run: Commands) -> None:
    url = stored(*scored())
    live = json.loads(run("report", "--suite", "clinical", "--store", url, "--format", "json").out)
    files = json.loads(run("eval", "validate", *TRACES, "--format", "json").out)

    assert [entry.pop("file") for entry in live] == ["t0", "t1", "t2", "t3"]
    assert [entry.pop("file") for entry in files] == list(TRACES)
    assert live == files


@pytest.mark.parametrize(("arguments", "code", "told"), [((), 2, "of 4 traces"), (("--min-pass-rate", "0.25"), 0, "pass rate 25% of 4 traces")])
def test_the_exit_code_is_that_of_eval_validate(run: Commands, arguments: tuple[str, ...], code: int, told: str) -> None:
    ran = run("report", "--suite", "clinical", "--store", stored(*scored()), *arguments)

    assert (ran.code, told in ran.err) == (code, True)


@pytest.mark.parametrize("form", ["console", "markdown", "junit"])
def test_every_format_names_the_traces(run: Commands, form: str) -> None:
    out = run("report", "--suite", "clinical", "--store", stored(*scored()), "--format", form).out

    assert all(f"t{number}" in out for number in range(4))


def test_of_several_configurations_the_newest_is_reported_and_the_others_are_told(run: Commands) -> None:
    url = stored(*scored("old"), *scored("new", minutes=5, cases=[TRACES["a.json"]]))
    newest = run("report", "--suite", "clinical", "--store", url, "--format", "json")
    older = run("report", "--suite", "clinical", "--store", url, "--format", "json", "--config-digest", "old")

    assert len(json.loads(newest.out)) == 1
    assert "scored in 2 ways" in newest.err
    assert len(json.loads(older.out)) == 4


def test_a_trace_that_could_not_be_scored_says_why(run: Commands) -> None:
    bare = result(event="e9", suite="clinical", label="unscored").model_copy(
        update={"values": {}, "failures": (Failure(component="clinical", kind="scorer", code="timeout"),)}
    )
    (entry,) = json.loads(run("report", "--suite", "clinical", "--store", stored(bare), "--format", "json").out)

    assert (entry["label"], entry["not_checked"][0]["reason"]) == ("unscored", "could not be scored (timeout)")


def test_a_result_that_another_program_wrote_is_named(run: Commands) -> None:
    odd = result(suite="clinical", details={"documents": [{"path": 1}]})
    ran = run("report", "--suite", "clinical", "--store", stored(odd))

    assert (ran.code, ran.out, odd.result_id in ran.err.splitlines()[-1]) == (EXIT_ERROR, "", True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--suite", "clinical", "--batch", "b1"), "no stored batch"),
        (("--suite", "summary_loss"), "the store holds no result of suite summary_loss"),
        (("--suite", "clinical"), "the store holds no result of suite clinical"),
        (("--suite", "clinical", "--output", "."), "is a directory"),
    ],
)
def test_what_cannot_be_reported_is_one_line(run: Commands, arguments: tuple[str, ...], told: str) -> None:
    ran = run("report", "--store", stored(result()), *arguments)

    assert (ran.code, told in ran.one_line) == (EXIT_ERROR, True)
