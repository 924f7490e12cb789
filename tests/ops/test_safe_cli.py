import json
from pathlib import Path
from typing import Any

import pytest

from tests.ops.commands import Commands, Ran
from tests.scorers.safe.cases import ROWS_BATCH, SUMMARY_BATCH, record, samples
from tests.scorers.safe.test_console import SCORECARD
from touchstone.schemas.case import SafeCase
from touchstone.scorers.safe.batch import result_of
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings

CANARY = "zanzibar-canary"


class Command:
    """Runs `touchstone safe score` in this process, in an empty working directory."""

    def __init__(self, commands: Commands, directory: Path) -> None:
        self._commands, self.directory = commands, directory

    def __call__(self, *arguments: object, stdin: str | None = None, env: dict[str, str] | None = None) -> Ran:
        return self._commands("safe", "score", *arguments, stdin=None if stdin is None else stdin.encode(), env=env)

    def file(self, name: str, *records: Any) -> Path:
        """A JSON lines file; a string is written as it is."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records), encoding="utf-8")
        return path


@pytest.fixture
def run(commands: Commands, tmp_path: Path) -> Command:
    return Command(commands, tmp_path)


def test_all_pass_exits_0(run: Command) -> None:
    ran = run(run.file("b.jsonl", record()))
    assert (ran.code, ran.err) == (0, "SAFE v0 PASS: 1 case passed (exit 0)\n")


def test_a_fail_exits_1(run: Command) -> None:
    ran = run(run.file("b.jsonl", *SUMMARY_BATCH))
    assert ran.code == 1
    assert ran.err == "SAFE v0 FAIL: 1 of 5 cases failed (exit 1)\n"


def test_a_review_without_a_fail_exits_2(run: Command) -> None:
    assert run(run.file("b.jsonl", *ROWS_BATCH)).code == 2


def test_the_scorecard_is_printed_as_the_specification_draws_it(run: Command) -> None:
    assert run(run.file("b.jsonl", *SUMMARY_BATCH)).out.startswith(SCORECARD)


def test_batches_are_found_in_the_data_directory_by_concern_and_pattern(run: Command) -> None:
    for name in ("I25_batch_1", "I25_batch_2", "other"):
        run.file(f"data/I25/{name}.jsonl", record(f"{name}-1", batch=name))
    report = json.loads(run("--concern", "I25", "--batch", "I25_batch_*", "--format", "json").out)
    assert (report["batch_id"], report["summary"]["total_cases"]) == ("I25_batch_*", 2)


def test_one_batch_gives_its_own_id(run: Command) -> None:
    report = json.loads(run("--data", samples(), "--concern", "I30", "--format", "json").out)
    assert (report["concern_id"], report["batch_id"]) == ("I30", "I30_batch_1")


def test_standard_input_is_a_batch(run: Command) -> None:
    assert run("-", stdin=json.dumps(SUMMARY_BATCH)).out.startswith(SCORECARD)


def test_strict_ah_changes_scores(run: Command) -> None:
    path = run.file("b.jsonl", *ROWS_BATCH)
    usual, strict = (json.loads(run(path, "--format", "json", *flag).out) for flag in ([], ["--strict-ah"]))
    assert (usual["mean_scores"]["AH"], strict["mean_scores"]["AH"]) == (0.9, 0.8)


def test_verbose_adds_details(run: Command) -> None:
    path = run.file("b.jsonl", *ROWS_BATCH)
    assert "Details:" not in run(path).out
    assert "Details:" in run(path, "--verbose").out


def test_json_goes_to_the_output_file_and_nothing_to_standard_output(run: Command) -> None:
    ran = run(run.file("b.jsonl", record()), "--format", "json", "--output", "reports/golden.json")
    assert ran.out == ""
    assert "wrote reports/golden.json" in ran.err
    assert json.loads(Path("reports/golden.json").read_text())["summary"]["overall_pass_rate"] == 1.0


def test_markdown_goes_to_the_report_directory(run: Command) -> None:
    ran = run(run.file("b.jsonl", record()), "--format", "markdown", env={"SAFE_V0_REPORT_DIR": "elsewhere"})
    (path,) = Path("elsewhere").iterdir()
    assert path.name.startswith("SAFE_v0_I25_2")
    assert path.suffix == ".md"
    assert ran.out == ""


def test_markdown_goes_to_standard_output_on_request(run: Command) -> None:
    assert run(run.file("b.jsonl", record()), "--format", "markdown", "--output", "-").out.startswith("# SAFE v0: I25")
    assert not Path("reports").exists()


def test_junit_goes_to_standard_output(run: Command) -> None:
    assert run(run.file("b.jsonl", record()), "--format", "junit").out.startswith("<?xml")


def test_all_writes_files_and_prints_the_console_report(run: Command) -> None:
    ran = run(run.file("b.jsonl", *SUMMARY_BATCH), "--format", "all")
    assert ran.out.startswith(SCORECARD)
    assert sorted(path.suffix for path in Path("reports").iterdir()) == [".json", ".md", ".xml"]


def test_several_formats_take_a_directory_as_output(run: Command) -> None:
    path = run.file("b.jsonl", record())
    run(path, "--format", "json,junit", "--output", "out")
    assert sorted(each.suffix for each in Path("out").iterdir()) == [".json", ".xml"]
    refused = run(path, "--format", "all", "--output", "report.json")
    assert (refused.code, "--output is a directory" in refused.err) == (3, True)


def test_a_concern_cannot_name_a_file_outside_the_report_directory(run: Command) -> None:
    run(run.file("b.jsonl", record(concern="../../evil")), "--format", "markdown")
    assert [path.name[:8] for path in Path("reports").iterdir()] == ["SAFE_v0_"]
    assert not list(run.directory.parent.glob("*evil*"))


def test_precedence_is_command_line_environment_document_default(run: Command) -> None:
    path = run.file("b.jsonl", *ROWS_BATCH)
    run.file("safe.config.json", '{"thresholds": {"AC": {"pass": 0.5}}, "reportFormats": ["json"], // ours\n "strictAH": true}')
    report = json.loads(run(path, env={"SAFE_V0_AH_STRICT": "false"}).out)
    assert (report["pass_rates"]["AC"], report["mean_scores"]["AH"]) == (1.0, 0.9)
    assert run(path, "--format", "console", "--strict-ah", env={"SAFE_V0_AH_STRICT": "false"}).code == 1


def test_another_document_is_read_on_request(run: Command) -> None:
    run.file("other.json", '{"reportFormats": ["json"]}')
    assert json.loads(run(run.file("b.jsonl", record()), "--config", "other.json").out)["report_type"] == "SAFE_v0"


def test_the_gate_replaces_the_rule_of_labels(run: Command) -> None:
    path = run.file("b.jsonl", *SUMMARY_BATCH)
    assert run(path, "--min-pass-rate", "0.6").code == 0
    assert run(path, "--min-pass-rate", "0.8").code == 1


def test_files_are_quoted_by_default_and_withheld_on_request_or_by_setting(run: Command) -> None:
    path = run.file("b.jsonl", record(signals=[CANARY]))
    assert CANARY in run(path).out
    for arguments, env in (([path, "--withhold"], {}), ([path], {"SAFE_V0_QUOTE": "false"})):
        out = run(*arguments, env=env).out
        assert CANARY not in out
        assert "CR Misses: signal 1 of " in out
        assert "withheld:" not in out


@pytest.mark.parametrize("form", ["console", "markdown", "junit", "html"])
def test_what_may_not_be_quoted_is_named_by_its_place_or_counted_and_never_by_a_hash(run: Command, form: str) -> None:
    path = run.file("b.jsonl", record("T1", signals=[CANARY, "fever", "rash"], found=["fever", "rash"]), record("T2", signals=[CANARY], found=[CANARY]))
    run(path, "--withhold", "--verbose", "--format", form, "--output", "report")
    out = Path("report").read_text()
    assert "withheld:" not in out
    assert CANARY not in out
    if form == "console":
        assert "CR found: 2 not quoted\n    CR missing: signal 1\n" in out


def test_a_text_that_only_looks_like_a_reference_is_quoted(run: Command) -> None:
    path = run.file("b.jsonl", record("T1", signals=["withheld: by law"], found=["nothing"]))
    assert 'CR missing: "withheld: by law"' in run(path, "--verbose").out


def test_withheld_results_are_those_of_the_stream(run: Command) -> None:
    path = run.file("b.jsonl", *SUMMARY_BATCH)
    printed = json.loads(run(path, "--format", "json", "--withhold").out)["results"]
    streamed = [result_of(SafeScorer(SafeSettings()).evaluate(SafeCase.model_validate(each))) for each in SUMMARY_BATCH]
    assert printed == [json.loads(result.model_dump_json()) for result in streamed]


def test_observations_are_appended(run: Command) -> None:
    path = run.file("b.jsonl", *ROWS_BATCH)
    for _ in range(2):
        run(path, "--observations", "seen.jsonl")
    lines = [json.loads(line) for line in Path("seen.jsonl").read_text().splitlines()]
    assert len(lines) == 10
    assert set(lines[0]) == {"test_id", "scores", "label", "timestamp"}
    assert set(lines[0]["scores"]) == {"CR", "AH", "AC"}


def test_a_repeated_case_counts_once_and_is_told(run: Command) -> None:
    ran = run(run.file("b.jsonl", record("T1"), record("T2"), record("T1")), "--format", "json")
    assert json.loads(ran.out)["summary"]["total_cases"] == 2
    assert "1 repeated event id, counted once (first repeat: " in ran.err


def test_a_bad_case_spares_the_others_is_listed_and_exits_3(run: Command) -> None:
    path = run.file("b.jsonl", record("T1"), record("T2", signals=["  "], summary=CANARY), "{nonsense " + CANARY, record("T3"))
    ran = run(path, "--format", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["summary"]["total_cases"], len(report["errors"])) == (3, 2, 2)
    assert "b.jsonl, line 2: expectations.signal_generation.must_find_signals.0 is an empty or blank expected string" in ran.err
    assert "b.jsonl, line 3: is not valid JSON" in ran.err
    assert CANARY not in ran.err + ran.out
    assert "Traceback" not in ran.err


def test_many_bad_cases_are_cut_short_on_standard_error(run: Command) -> None:
    ran = run(run.file("b.jsonl", *(["nonsense"] * 30)))
    assert "and 10 more; the JSON report lists all" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent.json"], "absent.json: no such file"),
        (["--concern", "I99", "--data", "DATA"], "unknown concern 'I99'"),
        (["--concern", "I25", "--data", "DATA", "--batch", "x*"], "no batch of I25 matches 'x*'"),
        (["--data", "DATA"], "choose one with --concern"),
        (["--concern", "I25"], "data: cannot be read"),
        (["--concern", "I25", "--data", "good.jsonl"], "good.jsonl: is a file, and --data wants a folder"),
        (["good.jsonl", "--concern", "I99"], "no case to score (concern I99, batch '*'; 1 other case passed over)"),
        (["good.jsonl", "--data", "DATA"], "two sources"),
        (["good.jsonl", "--format", "pdf"], "--format pdf: give console, json"),
        (["good.jsonl", "--config", "absent.json"], "absent.json: cannot be read"),
        (["good.jsonl", "--config", "bad.json"], "bad.json: strictAh: unknown key"),
        (["good.jsonl", "--format", "json", "--output", "good.jsonl/x.json"], "cannot be written"),
        (["good.jsonl", "--observations", "absent/seen.jsonl"], "check --observations"),
        (["good.jsonl", "--min-pass-rate", "80"], "--min-pass-rate"),
        (["good.jsonl", "--nonsense"], "No such option"),
    ],
)
def test_every_error_is_one_clear_line_and_exits_3(run: Command, arguments: list[str], told: str) -> None:
    run.file("good.jsonl", record())
    run.file("bad.json", '{"strictAh": true}')
    ran = run(*[str(samples()) if argument == "DATA" else argument for argument in arguments])
    assert ran.code == 3
    assert ran.out == ""
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_a_file_whose_list_of_cases_is_empty_passes_no_gate(run: Command) -> None:
    run.file("good.jsonl", record())
    run.file("empty.json", "[]")
    ran = run("good.jsonl", "empty.json", "--min-pass-rate", "0")

    assert ran.code == 3
    assert "empty.json: holds no case, only an empty list" in ran.err


@pytest.mark.parametrize(
    ("env", "told"),
    [({"SAFE_V0_CR_PASS": "0.4"}, "review 0.5 is above pass 0.4"), ({"SAFE_V0_STRICT": "1"}, "SAFE_V0_STRICT: unknown variable")],
)
def test_bad_settings_exit_3(run: Command, env: dict[str, str], told: str) -> None:
    ran = run(run.file("good.jsonl", record()), env=env)
    assert (ran.code, told in ran.err, ran.err.count("\n")) == (3, True, 1)


def test_an_unwritable_report_directory_exits_3_before_scoring(run: Command) -> None:
    run.file("reports", "a file stands where the directory should")
    ran = run(run.file("b.jsonl", record()), "--format", "all")
    assert (ran.code, ran.out) == (3, "")
    assert "reports: cannot be written (" in ran.err
    assert "set SAFE_V0_REPORT_DIR or reportDir" in ran.err


@pytest.mark.parametrize(("only", "listed"), [("failed", ["005"]), ("not-passed", ["003", "005"])])
def test_only_what_was_asked_for_is_listed_and_all_is_counted(run: Command, only: str, listed: list[str]) -> None:
    ran = run(run.file("b.jsonl", *SUMMARY_BATCH), "--only", only)
    assert ran.out.startswith(SCORECARD)
    assert [number for number in ("001", "002", "003", "004", "005") if f"I25-BATCH1-{number}" in ran.out] == listed
    assert ran.code == 1


def test_what_can_be_asked_for_alone_is_named(run: Command) -> None:
    ran = run(run.file("b.jsonl", record()), "--only", "red")
    assert (ran.code, ran.err) == (3, "touchstone: --only red: give failed or not-passed\n")


def test_html_is_written_to_the_report_directory(run: Command) -> None:
    run(run.file("b.jsonl", *SUMMARY_BATCH), "--format", "html")
    (path,) = Path("reports").iterdir()
    assert path.name.startswith("SAFE_v0_I25_2")
    assert path.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_packed_files_patterns_and_folders_of_folders_are_read(run: Command) -> None:
    import gzip

    run.file("in/a/one.jsonl", record("T1"))
    run.file("in/b/deep/two.jsonl", record("T2"))
    Path("in/three.jsonl.gz").write_bytes(gzip.compress(json.dumps(record("T3")).encode(), mtime=0))
    told = [json.loads(run(path, "--format", "json").out)["summary"]["total_cases"] for path in ("in", "in/*/*.jsonl", "in/**/*.jsonl", "in/three.jsonl.gz")]
    assert told == [3, 1, 2, 1]


def test_several_processes_print_the_same_report(run: Command) -> None:
    path = run.file("b.jsonl", *SUMMARY_BATCH)
    assert run(path, "--jobs", "2").out == run(path).out


def test_a_file_that_cannot_be_read_gets_no_scorecard_of_zeros(run: Command) -> None:
    run.file("bad.json", '{"a":')
    ran = run("bad.json")
    assert ran.code == 3
    assert "no case was scored" in ran.out
    assert "0.00" not in ran.out
    assert "bad.json, line" in ran.out
