import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.ops.commands import Commands
from tests.ops.web.history import history
from touchstone.ops.evaluation.regressions import case_id, read_cases
from touchstone.ops.reviews.prompts_of_traces import prompts_in_files
from touchstone.ops.reviews.to_cases import Wanted, to_cases
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS

NOW = datetime(2026, 2, 4, tzinfo=UTC)
PROMPT = "Zyxwv Quackenbush, a 58-year-old woman with type 2 diabetes"


def said(trace: str, verdict: str = "fail", mode: str | None = "no_hba1c", reviewer: str = "r1", review_pass: int = 1, **more: Any) -> AnnotationRecord:
    told = {"traceId": trace, "verdict": verdict, "failureMode": mode, "reviewer": reviewer, "timestamp": "2026-01-02T03:04:05Z", "reviewPass": review_pass}
    return AnnotationRecord.model_validate({**told, "notes": "a note about Zyxwv", **more})


def persona(*labs: str) -> dict[str, Any]:
    return {
        "name": "Anna Example", "gender": "female", "dateOfBirth": "1968-03-01",
        "conditions": [{"name": "Type 2 diabetes mellitus", "onsetDate": "2015-01-01"}],
        "medications": [{"name": "metformin", "startDate": "2015-02-01"}],
        "labs": [{"name": name, "value": 7.1, "unit": "%", "date": "2026-01-01"} for name in labs],
        "encounters": [],
    }  # fmt: skip


def run_of(folder: Path, records: list[AnnotationRecord], **chosen: Any) -> tuple[Any, Wanted]:
    wanted = Wanted(folder / "cases.json", folder / "cycles.jsonl", **chosen)
    return to_cases(records, wanted, lambda names: {name: PROMPT for name in names if name != "away"}, NOW), wanted


def test_settled_and_agreed_failures_become_cases_and_the_others_are_counted(tmp_path: Path) -> None:
    records = [
        said("agreed"), said("agreed", reviewer="r2", mode="dates"),
        said("disputed"), said("disputed", "pass", None, reviewer="r2"),
        said("settled"), said("settled", "pass", None, reviewer="r2"), said("settled", reviewer="lead", settled=True),
        said("uncoded", mode=None), said("away"), said("passed", "pass", None),
    ]  # fmt: skip
    made, wanted = run_of(tmp_path, records)
    cases = {one.trace_id: one.modes for one in read_cases(wanted.output).cases}
    assert cases == {"agreed": ("dates", "no_hba1c"), "settled": ("no_hba1c",)}
    assert made.left_out == {"reviewers disagree, and no verdict is settled": 1, "they have no category": 1, "their prompt is not at hand": 1}
    assert (made.total, made.added, made.cycle.cycle) == (2, 2, 1)


def test_the_same_again_adds_no_case_and_no_cycle(tmp_path: Path) -> None:
    run_of(tmp_path, [said("a"), said("b")])
    before = (tmp_path / "cases.json").read_bytes()
    again, _ = run_of(tmp_path, [said("a"), said("b")])
    assert (again.added, again.changed, again.cycle) == (0, 0, None)
    assert (tmp_path / "cases.json").read_bytes() == before
    assert len((tmp_path / "cycles.jsonl").read_text().splitlines()) == 1


def test_a_later_coding_changes_the_failure_modes_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    run_of(tmp_path, [said("a")])
    document = json.loads((tmp_path / "cases.json").read_bytes())
    document["cases"][0] |= {"expected": {"labs": ["hba1c"]}, "minimum": {"overall": 80}, "prompt": "shorter"}
    (tmp_path / "cases.json").write_text(json.dumps(document), encoding="utf-8")
    made, wanted = run_of(tmp_path, [said("a"), said("a", mode="missing_labs", review_pass=2)], checks={"missing_labs": "missing_key_lab"})
    (case,) = read_cases(wanted.output).cases
    assert (made.added, made.changed, made.cycle.cycle) == (0, 1, 2)
    assert (case.modes, case.checks) == (("missing_labs",), {"missing_labs": "missing_key_lab"})
    assert (case.expected, case.minimum, case.prompt) == ({"labs": ["hba1c"]}, {"overall": 80}, "shorter")


def test_a_check_of_a_category_that_there_is_not_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no failure is in the category typo"):
        run_of(tmp_path, [said("a")], checks={"typo": "missing_key_lab"})


@pytest.mark.parametrize("document", ["{", "[]", '{"cases": [{"id": "A"}]}', '{"cases": [{"id": "a", "trace_id": "t", "prompt": "Zyxwv", "modes": 1}]}'])
def test_a_damaged_file_of_cases_is_one_message_without_its_prompts(tmp_path: Path, document: str) -> None:
    path = tmp_path / "cases.json"
    path.write_text(document, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_cases(path)
    assert str(path) in str(caught.value)
    assert "Zyxwv" not in str(caught.value)


def test_prompts_are_found_in_trace_files_of_any_shape(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "one.json").write_text(json.dumps({"traceId": "a", "prompt": "A man"}))
    (tmp_path / "two.json").write_text(json.dumps([{"id": "b", "prompt": " A woman "}, {"traceId": "c", "prompt": 3}]))
    (tmp_path / "three.jsonl").write_text('{"traceId": "d", "prompt": "A child"}\nnot JSON\n{"traceId": "e", "prompt": "not wanted"}\n')
    assert prompts_in_files(tmp_path, frozenset("abcd")) == {"a": "A man", "b": "A woman", "d": "A child"}


@pytest.fixture
def fixed_and_broken(tmp_path: Path) -> tuple[Path, Path]:
    """Outputs of the generator before and after it was mended."""
    for name in ("broken", "fixed"):
        folder = tmp_path / name / case_id("t1")
        folder.mkdir(parents=True)
        for file in ("persona.json", "hl7v2.txt"):
            (folder / file).write_bytes((SAMPLE_OUTPUTS / "diabetes-001" / file).read_bytes())
        if name == "broken":
            (folder / "persona.json").write_text(json.dumps(persona("Serum creatinine")))
            (folder / "hl7v2.txt").write_text("MSH|^~\\&|A|B|C|D|20260101120000||ADT^A01^ADT_A01|1|P|2.5.1\rPID|1||1^^^X^MR||Example^Anna||19680301|F\r")
    return tmp_path / "broken", tmp_path / "fixed"


def statuses(folder: str) -> list[tuple[str, list[dict[str, str]]]]:
    newest = max(Path(folder).glob("eval-*.json"), key=lambda path: path.stat().st_mtime_ns)
    return [(case["status"], case["modes"]) for case in json.loads(newest.read_bytes())["cases"]]


def test_a_case_fails_while_its_failure_persists_and_no_longer_when_it_is_gone(commands: Commands, fixed_and_broken: tuple[Path, Path]) -> None:
    Path("annotations.json").write_text(json.dumps([said("t1").record()]))
    Path("traces").mkdir()
    Path("traces/t1.json").write_text(json.dumps({"traceId": "t1", "prompt": PROMPT}))
    made = commands("errors", "to-cases", "annotations.json", "--traces", "traces", "--check", "no_hba1c=missing_key_lab")
    assert (made.code, made.err) == (0, "")
    assert made.out == "eval-data/regressions.json: 1 cases, 1 of them new, 0 coded anew.\nCycle 1 counted.\n"
    assert Path("eval-data/regressions.json").stat().st_mode & 0o777 == 0o600
    persists, gone = ("persists", "absent")
    for system, state in zip(fixed_and_broken, (persists, gone), strict=True):
        ran = commands("eval", "--cases", "eval-data/regressions.json", "--system", system, "--no-judge", "-f", "hl7v2", "-o", "out")
        ((status, modes),) = statuses("out")
        assert modes == [{"mode": "no_hba1c", "state": state, "by": "failure_modes/missing_key_lab"}], ran.err
        assert (status == "Fail") == (state == persists), ran.out
        assert ran.code == (1 if state == persists else ran.code)
        assert ("The failure persists: no_hba1c" in ran.out) == (state == persists)
        assert "Zyxwv" not in ran.out + ran.err + "".join(path.read_text() for path in Path("out").glob("*.json"))


def test_without_a_check_the_expectations_tell_and_without_any_it_is_a_warning(commands: Commands, fixed_and_broken: tuple[Path, Path]) -> None:
    case = {"id": case_id("t1"), "trace_id": "t1", "prompt": PROMPT, "modes": ["own_name"]}
    for expected, system, state, status in (
        ({}, fixed_and_broken[1], "unchecked", "Warn"),
        ({"labs": ["hba1c"]}, fixed_and_broken[1], "absent", "Pass"),
        ({"labs": ["hba1c"]}, fixed_and_broken[0], "persists", "Fail"),
    ):
        Path("cases.json").write_text(json.dumps({"cases": [{**case, "expected": expected}]}))
        ran = commands("eval", "--cases", "cases.json", "--system", system, "--no-judge", "-f", "hl7v2", "-o", "out")
        ((found, modes),) = statuses("out")
        assert (modes[0]["state"], found) == (state, status), ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["errors", "to-cases", "annotations.json"], "name the traces with --traces"),
        (["errors", "to-cases", "annotations.json", "--traces", "nowhere"], "no such file"),
        (["errors", "to-cases", "annotations.json", "--traces", ".", "--check", "x"], "write CATEGORY=MODE"),
        (["eval", "--cases", "empty.json", "--system", "samples"], "has no case"),
        (["eval", "--cases", "odd.json", "--system", "samples"], "regression-1"),
        (["eval", "--cases", "empty.json", "--batch"], "give one of"),
    ],
)
def test_a_mistake_is_one_line(commands: Commands, arguments: list[str], message: str) -> None:
    Path("annotations.json").write_text(json.dumps([said("t1").record()]))
    Path("empty.json").write_text('{"cases": []}')
    odd = {"id": "regression-1", "trace_id": "t", "prompt": PROMPT, "modes": ["x"], "expected": {"labs": ["no-such-lab"]}}
    Path("odd.json").write_text(json.dumps({"cases": [odd]}))
    ran = commands(*arguments)
    assert ran.code == 3
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "Zyxwv" not in ran.err


def test_from_the_store_the_prompts_come_from_the_archive_and_categories_are_kept_there(commands: Commands, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    with history(tmp_path, f"file://{tmp_path}/archive", store) as opened:
        document = {"kind": "trace", "id": "t-9", "traceId": "trace-9", "prompt": PROMPT, "outputs": {}}
        opened.open_archive().keep("t-9", "trace", "trace-9", orjson.dumps(document), at=NOW)
        opened.index.annotate("t-9", "ann", said("trace-9", mode=None).content(), NOW, expected=None, trace_id="trace-9")
        opened.index.annotate("e-1", "ann", said("e-1").content(), NOW, expected=None)
    env = {"TOUCHSTONE_STORE_URL": store, "TOUCHSTONE_ARCHIVE_URL": f"file://{tmp_path}/archive"}
    category = {"name": "no_hba1c", "kind": "generalization", "description": "No HbA1c", "annotations": [{"traceId": "trace-9", "reviewer": "ann"}]}
    Path("categories.json").write_text(json.dumps({"categories": [category]}))
    assert commands("errors", "code", "categories.json", env=env).out == "1 annotations coded in the store, review pass 2.\n"
    made = commands("errors", "to-cases", env=env)
    assert made.out.splitlines()[:2] == [
        "eval-data/regressions.json: 1 cases, 1 of them new, 0 coded anew.",
        "1 failed traces left out: their prompt is not at hand.",
    ], made.err
    assert [one.prompt for one in read_cases(Path("eval-data/regressions.json")).cases] == [PROMPT]
    exported = json.loads(commands("errors", "export", env=env).out)["categories"][0]
    assert (exported["kind"], exported["description"]) == ("generalization", "No HbA1c")
    assert "build a judge, code first" in commands("errors", "report", "-f", "markdown", env=env).out
