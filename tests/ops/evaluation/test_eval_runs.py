import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.ops.commands import Commands, Ran
from tests.ops.contracts.fitting import faults
from tests.ops.evaluation.generator import Generator
from tests.scorers.clinical.conformance.fake_services import ERROR, FINE, WARNING, FakeService, in_a_thread, result
from tests.scorers.clinical.conformance.fake_services import report as report_of_ccda
from tests.scorers.clinical.judging.judges import USAGE, FakeJudge, answer
from touchstone.ops.contracts.documents import schemas
from touchstone.ops.local.fhir_validator import artifacts
from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS, curated_cases
from touchstone.scorers.judges import serve
from touchstone.scorers.judges.ask.judge import Unanswered

PERSONA = "/api/plan-persona"
HL7V2 = "/api/generate/hl7v2"
QUICK = {"EVAL_SYSTEM_RETRY_MIN_S": "0.001", "EVAL_SYSTEM_RETRY_MAX_S": "0.002", "EVAL_SYSTEM_ATTEMPTS_MAX": "2"}


@pytest.fixture
def commands(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TOUCHSTONE_JUDGE_API_KEY", "TOUCHSTONE_JUDGE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    return commands


def report() -> dict[str, Any]:
    newest = max(Path("eval-results").glob("eval-*.json"), key=lambda path: path.stat().st_mtime_ns)
    document: dict[str, Any] = json.loads(newest.read_bytes())
    return document


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {case["case_id"]: case["status"] for case in document["cases"]}


def test_the_sample_outputs_run_out_of_the_box(commands: Commands) -> None:
    ran = commands("eval", "--batch", "--system", SAMPLE_OUTPUTS, "--no-judge", "--save-traces")
    document = report()
    assert ran.code == 1, ran.err
    faulty = {"pregnancy-002": "Warn", "edge-002": "Warn", "emergency-001": "Fail"}
    assert statuses(document) == {case.id: faulty.get(case.id, "Pass") for case in curated_cases()}
    summary = document["summary"]
    assert (summary["total"], summary["passed"], summary["warned"], summary["failed"]) == (12, 9, 2, 1)
    assert (summary["expectations_asked"], summary["expectations_met"]) == (88, 86)
    assert "  Total Tests: 12\n  ✓ Passed: 9\n  ! Warned: 2\n  ✗ Failed: 1\n\n  Pass Rate: 75%\n" in ran.out
    assert "Clinical: not scored (--no-judge)" in ran.out
    assert {tuple(case["components_missing"]) for case in document["cases"]} <= {("clinical",), ("terminology", "clinical")}
    assert ran.err.splitlines()[-1] == "Evaluation FAIL: 1 of 12 tests failed (exit 1)"

    assert faults(document, schemas()["evaluation"], strictly=False) == []

    # The saved traces read back to the very results of the run.
    of_run = {
        str(Path("eval-results", case["trace_file"])): case["scores"] for case in document["cases"] if case["category"] in {"edge_case", "emergency_care"}
    }
    again = commands("score", "clinical", *of_run, "--format", "json")
    assert again.code == 1, again.err
    assert {entry["file"]: entry["scores"] for entry in json.loads(again.out)} == of_run
    trace = json.loads(Path("eval-results", document["cases"][0]["trace_file"]).read_bytes())
    import touchstone

    assert touchstone.score("clinical", trace).result_id == document["cases"][0]["result_ids"]["clinical"]


def test_documents_that_are_cut_in_half_lower_the_average(commands: Commands) -> None:
    halves = Path("halves", "diabetes-001")
    halves.mkdir(parents=True)
    for path in Path(SAMPLE_OUTPUTS, "diabetes-001").iterdir():
        half = path.read_text()
        halves.joinpath(path.name).write_text(half if path.name == "persona.json" else half[: len(half) // 2])
    ran = commands("eval", "--category", "diabetes_management", "--system", "halves", "--no-judge", "--save-traces")
    document = report()
    cut, missing = document["cases"]
    assert (cut["status"], missing["status"], document["summary"]["scored"]) == ("Fail", "unscored", 1), ran.err
    assert cut["scores"]["fhir_format"] == cut["scores"]["ccda_format"] == 0
    # No code of the half message is left, so Format is the whole: one document of three could be read.
    assert cut["scores"]["overall"] == document["summary"]["average_score"] == pytest.approx(cut["scores"]["hl7v2_format"] / 3, abs=0.5)
    saved = json.loads(Path("eval-results", cut["trace_file"]).read_bytes())
    assert (saved["outputs"]["fhir"]["scores"], saved["aggregateScores"]["overall"]) == ({"overall": 0, "format": 0}, cut["scores"]["overall"])


def test_a_score_that_findings_lowered_says_why_and_is_not_below_the_test_s_minimum(commands: Commands) -> None:
    ran = commands("eval", "--batch", "--system", SAMPLE_OUTPUTS, "--no-judge")
    (case,) = [case for case in report()["cases"] if case["case_id"] == "pregnancy-002"]
    assert (case["status"], case["scores"]["overall"], case["below_minimum"]) == ("Warn", 79.9, [])
    assert "overall: the overall score is at most 79.9, as for every Warn, because" in ran.out


def test_one_prompt_goes_to_the_system_and_what_it_generates_is_scored(commands: Commands, system: Generator) -> None:
    prompt = curated_cases()[0].prompt
    ran = commands("eval", "--prompt", prompt, "--system", system.url, "--no-judge", "-f", "hl7v2", env={"EVAL_SYSTEM_TOKEN": "t-1"})
    assert ran.code == 0, ran.out + ran.err
    (case,) = report()["cases"]
    assert (case["case_id"], case["status"], case["scores"]["overall"], case["expectations"]) == ("prompt", "Pass", 100.0, None)
    (planned, question, headers), (generated, persona, _) = system.asked
    assert (planned, question, headers["Authorization"], generated) == (PERSONA, {"prompt": prompt}, "Bearer t-1", HL7V2)
    # The codes that were found went along.
    assert persona["persona"]["conditions"][0]["code"] == "E11.9"
    assert [step["step"] for step in case["steps"]] == ["persona", "enrich", "generate.hl7v2", "score"]


def test_over_http_and_from_a_directory_the_scores_are_the_same(commands: Commands, system: Generator) -> None:
    commands("eval", "-c", "edge_case", "--system", system.url, "--no-judge", "-f", "fhir,hl7v2")
    over_http = report()
    commands("eval", "-c", "edge_case", "--system", SAMPLE_OUTPUTS, "--no-judge", "-f", "fhir,hl7v2")
    from_files = report()
    told = ("case_id", "status", "scores", "findings", "expectations", "enriched", "below_minimum")
    assert [{name: case[name] for name in told} for case in over_http["cases"]] == [{name: case[name] for name in told} for case in from_files["cases"]]


def test_a_file_of_prompts_is_evaluated_prompt_by_prompt(commands: Commands, system: Generator) -> None:
    Path("p.csv").write_text('id,prompt\n1,A man\n2,"A woman, 30"\n')
    ran = commands("eval", "-P", "p.csv", "--system", system.url, "--no-judge", "-f", "hl7v2", "-t")
    assert ran.code == 0, ran.err
    assert [(case["case_id"], case["place"]) for case in report()["cases"]] == [("prompt-0001", "p.csv, line 2"), ("prompt-0002", "p.csv, line 3")]
    assert {question["prompt"] for path, question, _ in system.asked if path == PERSONA} == {"A man", "A woman, 30"}
    # A prompt is the user's: it stands in the trace that was asked for, and nowhere else.
    assert "A woman" not in ran.out + ran.err + json.dumps(report())
    assert "A woman, 30" in Path("eval-results", report()["cases"][1]["trace_file"]).read_text()


def test_a_system_that_fails_makes_the_run_an_error_and_resume_asks_only_for_that(commands: Commands, system: Generator) -> None:
    failing = curated_cases()[1].prompt
    system.on_ask = lambda path, question: "500" if path == PERSONA and question["prompt"] == failing else None
    arguments = ("eval", "-c", "diabetes_management", "--system", system.url, "--no-judge", "-f", "hl7v2")
    ran = commands(*arguments)
    assert ran.code == 3
    assert "persona: the system answered 500" in ran.out
    assert "Canarybird" not in ran.out + ran.err + json.dumps(report())
    first = report()
    assert statuses(first) == {"diabetes-001": "Pass", "diabetes-002": "unscored"}
    system.on_ask = lambda _path, _question: None
    system.asked.clear()
    ran = commands(*arguments, "--resume")
    assert ran.code == 0, ran.err
    assert [question["prompt"] for path, question, _ in system.asked if path == PERSONA] == [failing]
    assert (report()["run_id"], report()["resumed"]) == (first["run_id"], 1)
    assert "Finished by an earlier call: 1" in ran.out
    assert "no unfinished run" in commands(*arguments, "--resume").err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_run_that_goes_on(commands: Commands, system: Generator, number: int, code: int) -> None:
    hanging = curated_cases()[1].prompt
    system.on_ask = lambda path, question: "hang" if path == PERSONA and question["prompt"] == hanging else None
    arguments = ("eval", "-c", "diabetes_management", "--system", system.url, "--no-judge", "-f", "hl7v2", "--concurrency", "1")

    def stop() -> None:
        if system.hanging.wait(60):
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=stop)
    thread.start()
    ran = commands(*arguments)
    thread.join()
    assert (ran.code, ran.out) == (code, "")
    assert ran.one_line == "touchstone: stopped: 1 of 2 tests are kept; the same command with --resume goes on"
    assert not list(Path("eval-results").glob("eval-*.json"))
    system.on_ask = lambda _path, _question: None
    system.asked.clear()
    assert commands(*arguments, "--resume").code == 0
    assert [path for path, _, _ in system.asked] == [PERSONA, HL7V2]
    assert statuses(report()) == {"diabetes-001": "Pass", "diabetes-002": "Pass"}


def test_traces_that_were_saved_are_a_directory_of_outputs(commands: Commands) -> None:
    commands("eval", "-c", "diabetes_management", "--system", SAMPLE_OUTPUTS, "--no-judge", "-t", "-f", "hl7v2")
    first = report()
    ran = commands("eval", "-c", "diabetes_management", "--system", "eval-results/traces", "--no-judge", "-f", "hl7v2")
    assert ran.code == 0, ran.err
    assert [case["scores"] for case in report()["cases"]] == [case["scores"] for case in first["cases"]]


def test_outputs_that_a_directory_does_not_have_are_told(commands: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / "edge-001"
    folder.mkdir(parents=True)
    (folder / "hl7v2.txt").write_bytes((SAMPLE_OUTPUTS / "edge-001" / "hl7v2.txt").read_bytes())
    ran = commands("eval", "-c", "edge_case", "--system", "outputs", "--no-judge", "-f", "hl7v2,ccda")
    assert ran.code == 3
    first, second = report()["cases"]
    assert [(failure["component"], failure["code"]) for failure in first["failures"]] == [("generate.ccda", "no_output")]
    assert [(failure["component"], failure["code"]) for failure in second["failures"]] == [("persona", "no_output")]
    assert first["scores"]["overall"] == 100.0


def test_a_gate_decides_by_the_pass_rate(commands: Commands) -> None:
    arguments = ("eval", "-c", "edge_case", "--system", SAMPLE_OUTPUTS, "--no-judge", "-f", "hl7v2", "--min-pass-rate")
    assert commands(*arguments, "0.5").code == 0
    assert commands(*arguments, "0.6").code == 1


def test_without_a_key_a_run_says_that_there_is_no_judge(commands: Commands) -> None:
    ran = commands("eval", "-p", "A man", "--system", SAMPLE_OUTPUTS, "-f", "hl7v2")
    assert report()["judge"] is True
    assert "Clinical: not scored (no key for the judge" in ran.out


def judged_by(monkeypatch: pytest.MonkeyPatch, judge: FakeJudge) -> dict[str, str]:
    monkeypatch.setattr(serve, "open_judge", lambda _settings, **_: judge)
    return {"TOUCHSTONE_JUDGE_BASE_URL": "http://127.0.0.1:1/v1"}


def test_a_judge_s_score_is_composed_with_those_of_the_validators(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = FakeJudge(answer(4))
    ran = commands("eval", "-c", "mental_health", "--system", SAMPLE_OUTPUTS, "-f", "hl7v2", "-t", env=judged_by(monkeypatch, judge))
    document = report()
    (case,) = document["cases"]
    assert ran.code == 0, ran.out + ran.err
    assert (case["scores"]["overall"], case["scores"]["clinical"], case["scores"]["hl7v2_format"], case["components_missing"]) == (87.5, 75.0, 100.0, [])
    assert (set(case["result_ids"]), document["judge"], judge.closed) == ({"clinical", "clinical_judge"}, True, True)
    assert "\n  Clinical: 75\n" in ran.out
    trace = json.loads(Path("eval-results", case["trace_file"]).read_bytes())
    assert trace["aggregateScores"] == {"format": 100.0, "terminology": 100.0, "clinical": 75.0, "overall": 87.5}


def test_a_judge_that_gives_no_verdict_is_missing_and_is_asked_again(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("eval", "-c", "mental_health", "--system", SAMPLE_OUTPUTS, "-f", "hl7v2")
    ran = commands(*arguments, env=judged_by(monkeypatch, FakeJudge(Unanswered("refused", USAGE))))
    (case,) = report()["cases"]
    assert (ran.code, case["status"], case["components_missing"]) == (2, "Warn", ["clinical"])
    assert "Clinical: missing in 1 of 1 tests" in ran.out
    ran = commands(*arguments, "--resume", env=judged_by(monkeypatch, FakeJudge(answer(5))))
    assert (report()["cases"][0]["components_missing"], report()["resumed"]) == ([], 0)


def test_a_judge_whose_server_refuses_the_key_is_told_with_what_to_set(commands: Commands, system: Generator) -> None:
    system.faults["/v1/chat/completions"] = ("401", 99)
    env = {"TOUCHSTONE_JUDGE_BASE_URL": f"{system.url}/v1", "TOUCHSTONE_JUDGE_API_KEY": "key-of-a-test"}
    ran = commands("eval", "-c", "diabetes_management", "--system", SAMPLE_OUTPUTS, "-f", "hl7v2", env=env)
    assert [case["failures"][0]["code"] for case in report()["cases"]] == ["judge_key"] * 2
    assert ran.out.count("clinical: the judge's server refused the key\n") == 2
    assert ran.err.count("touchstone: judge: the server refused the key (401); set TOUCHSTONE_JUDGE_API_KEY") == 1
    assert "key-of-a-test" not in ran.out + ran.err
    assert "Canarybird" not in ran.out + ran.err


def test_conformance_that_cannot_be_checked_says_why(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "missing", lambda: "no Java on the PATH")
    ran = commands("eval", "-c", "mental_health", "--system", SAMPLE_OUTPUTS, "--no-judge", "--conformance")
    assert ran.code == 0, ran.err
    (case,) = report()["cases"]
    assert {one["format"]: (one["valid"], one["reason"]) for one in case["conformance"]} == {
        "fhir": (None, "no Java on the PATH"),
        "ccda": (None, "no ONC C-CDA validator is configured (CONFORMANCE_CCDA_URL)"),
        "hl7v2": (None, "no external validator of HL7 v2 is known"),
    }
    assert "Conformance of FHIR: not checked (no Java on the PATH)" in ran.out


def test_with_services_conformance_is_asked_there_and_nothing_is_started(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "missing", lambda: pytest.fail("no validator is to be started"))
    ccda = report_of_ccda(result(ERROR, "SHALL contain (CONF:1198-5254) Canarybird"), result(WARNING, "SHOULD contain (CONF:81-7291)"))
    with in_a_thread(FakeService([FINE])) as one, in_a_thread(FakeService([ccda])) as two:
        env = {"TOUCHSTONE_FHIR_VALIDATOR_URL": one.url, "CONFORMANCE_CCDA_URL": two.url}
        ran = commands("eval", "-c", "mental_health", "--system", SAMPLE_OUTPUTS, "--no-judge", "--conformance", env=env)
    assert ran.code == 0, ran.err
    told = {form["format"]: form for form in report()["cases"][0]["conformance"]}
    assert {form: (one["valid"], one["errors"], one["warnings"]) for form, one in told.items()} == {
        "fhir": (True, 0, 0),
        "ccda": (False, 1, 1),
        "hl7v2": (None, 0, 0),
    }
    assert [(one["severity"], one["code"]) for one in told["ccda"]["findings"]] == [
        ("major", "conformance.ccda.1198-5254"),
        ("minor", "conformance.ccda.81-7291"),
    ]
    assert "ccda: does not conform (ONC C-CDA validator: 1 error, 1 warning)" in ran.out
    assert "Canarybird" not in ran.out + ran.err + json.dumps(report())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--batch", "--prompt", "x"], "give one of --batch, --category NAME"),
        (["--no-judge"], "give one of --batch, --category NAME"),
        (["--category", "none"], "--category: give one of diabetes_management, pregnancy_care"),
        (["--prompt", " ", "--system", "."], "--prompt: the prompt is empty"),
        (["--batch"], "no system under test: give --system URL|DIR"),
        (["--batch", "--system", ""], "--system: is empty; give a URL"),
        (["--batch", "--system", "nowhere"], "nowhere: is not a directory"),
        (["--batch", "--system", "http://host/?x"], "the command line: url: write http(s)://host"),
        (["--batch", "--formats", "pdf", "--system", "."], "--formats: give one or more of fhir, hl7v2, ccda"),
        (["--batch", "validate", "x"], "options before validate are those of a run"),
        (["-P", "none.csv", "--system", "."], "none.csv: cannot be read"),
        (["--batch", "--system", ".", "--output", "file/x"], "file/x: cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_exit_3(commands: Commands, arguments: list[str], told: str) -> None:
    Path("file").write_text("")
    ran: Ran = commands("eval", *arguments)
    assert ran.code == 3
    assert told in ran.one_line
    assert not Path("eval-results").exists()


def test_settings_come_from_the_document_the_environment_and_the_command_line(commands: Commands, system: Generator) -> None:
    Path("eval.config.json").write_text(json.dumps({"url": system.url, "persona_path": "/nowhere"}))
    system.answers["/elsewhere"] = (SAMPLE_OUTPUTS / "edge-001" / "persona.json").read_bytes()
    ran = commands("eval", "-p", "A man", "--no-judge", "-f", "hl7v2", env={"EVAL_SYSTEM_PERSONA_PATH": "/elsewhere"})
    assert ran.code == 0, ran.out + ran.err
    assert [path for path, _, _ in system.asked] == ["/elsewhere", HL7V2]


def test_an_unknown_setting_is_named(commands: Commands) -> None:
    assert "EVAL_SYSTEM_TIMEOUT_S" in commands("eval", "--batch", env={"EVAL_SYSTEM_TIMEOUT": "3"}).one_line
