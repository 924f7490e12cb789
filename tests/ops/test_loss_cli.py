import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ops.commands import Commands, Ran
from tests.ops.loss_cases import CANARY, TableScorer, card, gold, hard_fail, result, summary, unscored
from touchstone.schemas.reports.summary import LossReport
from touchstone.schemas.result import Scorecard
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.samples import GOLDS, expected, samples, unmet

Run = Callable[..., Ran]
MIXED: dict[str, Scorecard] = {"a": card(0.1), "b": card(0.5, "Review"), "c": hard_fail("truncated")}


@pytest.fixture
def run(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run(table, *arguments)`: scores a file of one case per entry of the table, with the table's answers in the model's place."""

    def score(table: Mapping[str, Any], *arguments: object, extra: str = "", **options: Any) -> Ran:
        lines = [json.dumps(summary(event_id)) for event_id in table]
        Path("cases.jsonl").write_text("\n".join(lines) + "\n" + extra, encoding="utf-8")
        monkeypatch.setattr("touchstone.scorers.summary.SUITE", replace(SUITE, build=lambda _: TableScorer(table)))
        return commands("loss", "score", *(arguments or ("cases.jsonl",)), **options)

    return score


@pytest.mark.parametrize(
    ("table", "arguments", "code", "told"),
    [
        ({"a": card(0.1)}, [], 0, "Loss V3 PASS: 1 case passed (exit 0)\n"),
        (MIXED, [], 1, "Loss V3 FAIL: 1 of 3 cases failed (exit 1)\n"),
        ({"a": card(0.1), "b": card(0.5, "Review")}, [], 2, "Loss V3 REVIEW: 1 of 2 cases to review, none failed (exit 2)\n"),
        ({"a": card(0.1), "b": unscored("no_gold")}, [], 3, "Loss V3 ERROR: 1 of 2 cases not scored (no_gold 1) (exit 3)\n"),
        ({"a": card(0.1), "b": unscored("no_gold")}, ["--allow-unscored"], 0, "Loss V3 PASS: 1 case passed (exit 0)\n"),
        (MIXED, ["--max-mean-loss", "0.6"], 0, "Loss V3 PASS: mean loss 0.5333 of 3 cases, at most 0.6 asked (exit 0)\n"),
        (MIXED, ["--max-mean-loss", "0.5"], 1, "Loss V3 FAIL: mean loss 0.5333 of 3 cases, at most 0.5 asked (exit 1)\n"),
    ],
)
def test_the_printed_verdict_is_the_exit_code(run: Run, table: dict[str, Scorecard], arguments: list[str], code: int, told: str) -> None:
    ran = run(table, "cases.jsonl", *arguments)
    assert (ran.code, ran.err) == (code, told)


def test_json_on_standard_output_is_exactly_one_document(run: Run) -> None:
    report = LossReport.model_validate_json(run(MIXED, "cases.jsonl", "--format", "json", "--worst", "1").out)
    assert [case.event_id for case in report.worst] == ["c"]
    assert [result.where for result in report.results] == [f"cases.jsonl, line {number}" for number in (1, 2, 3)]
    assert report.results[0].details == {"length": {"target": 300}}
    assert report.configuration


@pytest.mark.parametrize(
    ("form", "begins"), [("console", "Loss V3\nsuite summary_loss"), ("html", "<!doctype html>"), ("markdown", "# Loss V3"), ("junit", "<?xml")]
)
def test_other_formats_go_to_standard_output(run: Run, form: str, begins: str) -> None:
    assert run(MIXED, "cases.jsonl", "--format", form).out.startswith(begins)


def test_a_report_goes_whole_to_its_file(run: Run) -> None:
    ran = run(MIXED, "cases.jsonl", "--format", "json", "--output", "out/report.json")
    assert (ran.out, "wrote out/report.json" in ran.err) == ("", True)
    assert LossReport.model_validate_json(Path("out/report.json").read_bytes()).total_cases == 3


def test_standard_input_and_directories_are_read(run: Run) -> None:
    assert run(MIXED, "-", stdin=json.dumps([summary("a"), summary("b")]).encode()).code == 2
    assert "3 cases" in run(MIXED, ".").out


def test_bad_cases_are_listed_by_file_and_line_and_spare_the_others(run: Run) -> None:
    bad = json.dumps(summary("x", datum=gold(key_facts=[CANARY] * 9))) + "\n{" + CANARY + "\n"
    ran = run(MIXED, "cases.jsonl", "--format", "json", extra=bad)
    assert ran.code == 3
    assert LossReport.model_validate_json(ran.out).scored_cases == 3
    assert "touchstone: cases.jsonl, line 4: datum.summary.key_facts holds too few items" in ran.err
    assert "touchstone: cases.jsonl, line 5: is not valid JSON" in ran.err
    assert CANARY not in ran.out + ran.err


def test_many_bad_cases_are_cut_short_on_standard_error(run: Run) -> None:
    assert "and 10 more; the JSON report lists all" in run(MIXED, extra="nonsense\n" * 30).err


def test_a_repeated_event_counts_once_and_is_told(run: Run) -> None:
    ran = run(MIXED, "cases.jsonl", extra=json.dumps(summary("a")) + "\n")
    assert "1 repeated event id, counted once (first repeat: cases.jsonl, line 4)" in ran.err
    assert "3 cases" in ran.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent.json"], "absent.json: no such file"),
        (["cases.jsonl", "--config", "absent.json"], "absent.json: cannot be read"),
        (["cases.jsonl", "--config", "bad.json"], "bad.json"),
        (["cases.jsonl", "--output", "."], "is a directory"),
        (["cases.jsonl", "--output", "cases.jsonl/x"], "cannot be written"),
        (["cases.jsonl", "--format", "pdf"], "--format"),
        (["cases.jsonl", "--support", "hope"], "--support"),
        (["cases.jsonl", "--max-mean-loss", "2"], "--max-mean-loss"),
        ([], "FILES"),
        (["empty"], "holds no batch file"),
    ],
)
def test_every_mistake_is_told_and_exits_3(run: Run, arguments: list[str], told: str) -> None:
    Path("empty").mkdir()
    Path("bad.json").write_text('{"nonsense": true}')
    ran = run(MIXED, *(arguments or ["--worst", "3"]))
    assert (ran.code, ran.out) == (3, "")
    assert told.casefold() in ran.err.casefold()
    assert "Traceback" not in ran.err


def test_without_the_models_libraries_one_line_says_what_to_install(tmp_path: Path) -> None:
    # In a process of its own: modules that are taken out of this one would come back as others.
    (tmp_path / "cases.jsonl").write_text(json.dumps(summary("a")))
    program = (
        "import sys\nsys.modules.update(torch=None, onnxruntime=None)\nsys.argv = ['touchstone', 'loss', 'score', 'cases.jsonl']\n"
        "from touchstone.ops.cli import main\nmain()"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 3, ran.stderr
    assert "install the extra" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_help_has_an_example_and_imports_no_model_library() -> None:
    program = (
        "import sys; sys.argv = ['touchstone', 'loss', 'score', '--help']\nfrom touchstone.ops.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
    )
    heavy = ["torch", "numpy", "transformers", "sentence_transformers", "rapidfuzz", "pysbd", "touchstone.scorers.summary"]
    program += f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"COLUMNS": "160", "PATH": ""})
    assert "Example: touchstone loss score" in ran.stdout
    assert ran.stderr.strip() == "[]"


def test_without_a_gold_anywhere_nothing_is_loaded_and_one_line_says_what_to_name(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the models were loaded")

    monkeypatch.setattr("touchstone.scorers.summary._scorer", never)
    Path("cases.jsonl").write_text(json.dumps({"id": "a", "gold_ref": "doc-1", "generated": "One."}))
    ran = commands("loss", "score", "cases.jsonl")
    assert ran.code == 3
    assert "with --gold (or SUMMARY_LOSS_GOLD)" in ran.one_line


def test_one_case_that_brings_its_gold_is_reason_enough_to_score(run: Run) -> None:
    ran = run(MIXED, extra=json.dumps({"id": "a", "gold_ref": "doc-1", "generated": "One."}) + "\n")
    assert ran.code == 1


@pytest.mark.slow(15)
def test_the_samples_get_what_they_were_written_for(tmp_path: Path) -> None:
    files = [str(path) for path in samples().paths]
    command = [sys.executable, "-m", "touchstone.ops.cli", "loss", "score", *files, "--gold", str(GOLDS), "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=590, cwd=tmp_path, env=_environment())
    report = LossReport.model_validate_json(ran.stdout)
    results = {one.event_id: result(one.event_id, one) for one in report.results}
    assert unmet(results, expected()) == []
    assert ran.returncode == 3
    assert "no_gold 1" in ran.stderr
    assert not report.errors


def _environment() -> dict[str, str]:
    """This process's, from which the package can be imported anywhere."""
    import os

    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
