import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ops.clinical_cases import BAD_FHIR, BAD_HL7V2, CANARY, CCDA, CUT_FHIR, DEADLY, GOOD_FHIR, GOOD_HL7V2, score_or_die, text, trace
from tests.ops.commands import Commands, Ran
from tests.scorers.clinical.fhir.resources import definition
from touchstone.ops.cli.common.shared import EXIT_ERROR
from touchstone.schemas.reports.clinical import ClinicalEntry


@pytest.fixture
def run(commands: Commands) -> "Run":
    return Run(commands)


class Run:
    """`run(files, *arguments)`: writes the files (name → content), validates them in that order, or the arguments given."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def __call__(self, files: dict[str, Any], *arguments: object, paths: list[str] | None = None, **options: Any) -> Ran:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else (content if isinstance(content, str) else text(content)).encode()
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(data)
        return self._commands("eval", "validate", *(list(files) if paths is None else paths), *arguments, **options)

    def entries(self, files: dict[str, Any], *arguments: object, **options: Any) -> list[dict[str, Any]]:
        documents: list[dict[str, Any]] = json.loads(self(files, *arguments, "--format", "json", **options).out)
        return documents


def test_an_entry_has_every_field_in_order(run: Run) -> None:
    (entry,) = run.entries({"bad.json": BAD_FHIR})
    assert list(entry) == [
        "file", "format", "label", "valid", "scores", "components_missing", "findings", "rules_fired", "not_checked", "checks", "findings_dropped",
            "finding_counts", "must_support", "suppressed", "suppress_idle",
    ]  # fmt: skip
    assert (entry["file"], entry["format"], entry["label"], entry["valid"]) == ("bad.json", "fhir", "Warn", False)
    assert entry["scores"]["overall"] == 79.9 < entry["scores"]["format"] < 100
    assert entry["components_missing"] == ["terminology", "clinical"]
    assert entry["rules_fired"]["structure"] > 0
    assert entry["checks"]["data_types"] < 100
    assert {finding["path"] for finding in entry["findings"]} >= {"Patient.gender", "Patient.birthDate"}
    always = {"severity", "code", "path", "message"}
    assert all(always <= set(finding) <= {*always, "suggestion", "line", "column"} for finding in entry["findings"])
    ClinicalEntry.model_validate(entry, strict=False)


def test_findings_are_told_the_gravest_first(run: Run) -> None:
    (entry,) = run.entries({"bad.json": BAD_FHIR | {"meta": {"versionId": CANARY}, "telecom": [{"value": "1"}]}})
    severities = [finding["severity"] for finding in entry["findings"]]
    assert severities == sorted(severities, key=["critical", "major", "minor", "info"].index)


@pytest.mark.parametrize(
    ("name", "content", "form", "label"),
    [
        ("good.json", GOOD_FHIR, "fhir", "Pass"),
        ("bad.json", BAD_FHIR, "fhir", "Warn"),
        ("cut.json", CUT_FHIR, "fhir", "Fail"),
        ("good.hl7", GOOD_HL7V2, "hl7v2", "Pass"),
        ("bad.hl7", BAD_HL7V2, "hl7v2", "Warn"),
        ("framed.hl7", f"\x0b{GOOD_HL7V2}\x1c\r", "hl7v2", "Pass"),
        ("cda.xml", CCDA, "ccda", "unscored"),
        ("fhir.xml", '<Patient xmlns="http://hl7.org/fhir"><gender value="female"/></Patient>', "fhir", "Pass"),
        ("junk.xml", f"<a>{CANARY}</a>", None, "unscored"),
        ("junk.json", f'{{"a": "{CANARY}"}}', None, "unscored"),
        ("junk.bin", bytes(range(256)) * 100, None, "unscored"),
        ("nul.json", b"\0" * 1000, None, "unscored"),
        ("empty.json", b"", None, "unscored"),
        ("blank.json", b" \n\t" * 40_000, None, "unscored"),
        ("half.json", text(GOOD_FHIR)[:60], "fhir", "Fail"),
        ("deep.json", '{"resourceType":"Patient","a":' + "[" * 10_000, "fhir", "Fail"),
        ("numbers.json", '{"resourceType":"Observation","valueInteger":1e400}', "fhir", "Fail"),
    ],
)
def test_each_kind_of_file_is_told_apart_by_its_content(run: Run, name: str, content: Any, form: str | None, label: str) -> None:
    (entry,) = run.entries({name: content})
    assert (entry["format"], entry["label"]) == (form, label)
    if label == "unscored":
        assert (entry["scores"], entry["valid"]) == ({}, None)
        assert entry["not_checked"][0]["reason"]
    assert CANARY not in json.dumps(entry)


def test_ndjson_is_one_entry_whose_paths_begin_with_the_line(run: Run) -> None:
    (entry,) = run.entries({"all.ndjson": f"{text(GOOD_FHIR)}\n{text(BAD_FHIR)}\n"})
    assert entry["format"] == "fhir"
    assert "Line[2].Patient.gender" in {finding["path"] for finding in entry["findings"]}


def test_a_trace_is_one_entry_whose_paths_begin_with_the_output(run: Run) -> None:
    (entry,) = run.entries({"t.json": trace(fhir=BAD_FHIR, hl7v2=GOOD_HL7V2)})
    assert (entry["format"], entry["label"], entry["valid"]) == ("trace", "Warn", False)
    assert {"overall", "format", "fhir_overall", "hl7v2_overall"} <= set(entry["scores"])
    assert "outputs.fhir/Patient.gender" in {finding["path"] for finding in entry["findings"]}
    assert entry["rules_fired"]["outputs.hl7v2/structure"] > 0
    assert entry["checks"]["outputs.fhir/data_types"] < 100


def test_a_file_of_traces_has_their_mean_scores_and_worst_label(run: Run) -> None:
    good, bad = trace("a", hl7v2=GOOD_HL7V2), trace("b", hl7v2=BAD_HL7V2)
    alone = [run.entries({"one.json": one})[0]["scores"]["overall"] for one in (good, bad)]
    for content in (f"{text(good)}\n{text(bad)}\n", text([good, bad]), json.dumps([good, bad], indent=1)):
        (entry,) = run.entries({"t.jsonl": content})
        assert (entry["format"], entry["label"]) == ("trace", "Warn")
        assert alone == [100.0, 79.9]
        assert entry["scores"]["overall"] == 79.9  # the mean would be better than the label
        assert {finding["path"].partition("/")[0] for finding in entry["findings"] if finding["severity"] == "major"} == {"trace[1]"}


def test_a_trace_that_cannot_be_read_counts_as_0_in_its_file(run: Run) -> None:
    (entry,) = run.entries({"t.jsonl": f"{text(trace('a', hl7v2=GOOD_HL7V2))}\n[1]\n"})
    assert (entry["label"], entry["scores"]["overall"], entry["scores"]["format"]) == ("Fail", 50.0, 50.0)
    good = "\n".join(text(trace(name, hl7v2=GOOD_HL7V2)) for name in "abcd")
    (entry,) = run.entries({"t.jsonl": f"{good}\n[1]\n"})
    assert (entry["label"], entry["scores"]["overall"], entry["scores"]["format"]) == ("Fail", 59.9, 80.0)
    assert "because a trace of the file is Fail; the weighted mean is 80" in next(one["message"] for one in entry["findings"] if one["code"] == "label.bound")


@pytest.mark.parametrize(
    ("content", "code", "path"),
    [
        (text(trace(fhir=GOOD_FHIR))[:-40], "trace.json", "trace"),
        (json.dumps(trace(fhir=GOOD_FHIR), indent=2)[:-40], "trace.json", "trace"),
        ({"traceId": CANARY * 100, "outputs": {}}, "trace.field", "traceId"),
        ({"traceId": "x", "outputs": [CANARY]}, "trace.field", "outputs"),
        (f"{text(trace(hl7v2=GOOD_HL7V2))}\n[1]\n", "trace.json", "trace[1]/trace"),
    ],
)
def test_a_trace_that_cannot_be_read_fails_with_a_critical_finding(run: Run, content: Any, code: str, path: str) -> None:
    (entry,) = run.entries({"t.json": content})
    assert (entry["format"], entry["label"], entry["valid"]) == ("trace", "Fail", None)
    assert [(finding["code"], finding["path"]) for finding in entry["findings"] if finding["severity"] == "critical"] == [(code, path)]
    assert CANARY not in json.dumps(entry)


def test_a_resource_that_speaks_of_traces_is_no_trace(run: Run) -> None:
    (entry,) = run.entries({"x.json": GOOD_FHIR | {"traceId": 1, "outputs": 2}})
    assert entry["format"] == "fhir"


def test_a_gigabyte_is_refused_unread(run: Run) -> None:
    for name, head in (("large.hl7", b"MSH|"), ("large.bin", b"")):
        with Path(name).open("wb") as stream:
            stream.write(head)
            stream.truncate(1024**3)
    begun = time.process_time()
    ran = run({}, "--format", "json", paths=["large.hl7", "large.bin"])
    assert time.process_time() - begun < 5
    assert [(entry["format"], entry["label"]) for entry in json.loads(ran.out)] == [("hl7v2", "unscored"), (None, "unscored")]
    assert (ran.code, ran.err.count("larger than 100 MiB: not read")) == (2, 2)


@pytest.mark.parametrize(
    ("files", "code", "verdict"),
    [
        ({"a.json": GOOD_FHIR, "b.hl7": GOOD_HL7V2}, 0, "PASS: 2 files passed"),
        ({"a.json": GOOD_FHIR, "b.json": BAD_FHIR}, 2, "WARN: 1 warned of 2 files, none failed"),
        ({"a.json": GOOD_FHIR, "b.xml": CCDA}, 2, "WARN: 1 not validated of 2 files, none failed"),
        ({"a.json": GOOD_FHIR, "b.txt": "hello"}, 2, "WARN: 1 not validated of 2 files, none failed"),
        ({"a.json": GOOD_FHIR, "b.json": ""}, 2, "WARN: 1 not validated of 2 files, none failed"),
        ({"a.json": BAD_FHIR, "b.json": CUT_FHIR, "c.xml": CCDA}, 1, "FAIL: 1 of 3 files failed"),
    ],
)
def test_the_printed_verdict_is_the_exit_code(run: Run, files: dict[str, Any], code: int, verdict: str) -> None:
    ran = run(files)
    assert (ran.code, ran.err.splitlines()[-1]) == (code, f"Clinical {verdict} (exit {code})")


def test_a_missing_file_is_told_and_ends_in_an_error_after_the_others(run: Run) -> None:
    ran = run({"a.json": GOOD_FHIR}, "--format", "json", paths=["absent.json", "a.json"])
    assert [(entry["file"], entry["label"]) for entry in json.loads(ran.out)] == [("absent.json", "unscored"), ("a.json", "Pass")]
    assert ran.err == "touchstone: absent.json: no such file; check the path\nClinical ERROR: 1 of 2 files could not be read (exit 3)\n"
    assert ran.code == EXIT_ERROR


def test_a_file_that_cannot_be_read_is_told_and_ends_in_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone.ops.batch import sources

    def refuse(source: sources.Source) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sources, "_file", refuse)
    ran = run({"a.json": GOOD_FHIR})
    assert ran.code == EXIT_ERROR
    assert "touchstone: a.json: cannot be read (Permission denied); check its permissions" in ran.err


def test_other_files_of_a_directory_are_listed_and_not_counted(run: Run) -> None:
    ran = run({"d/a.json": GOOD_FHIR, "d/LICENSE": "words", "d/x.bin": b"\0\1"}, "--format", "json", paths=["d"])
    assert [(entry["file"], entry["format"], entry["label"]) for entry in json.loads(ran.out)] == [
        ("d/LICENSE", None, "unscored"),
        ("d/a.json", "fhir", "Pass"),
        ("d/x.bin", None, "unscored"),
    ]
    assert (ran.code, ran.err) == (0, "Clinical PASS: 1 file passed; 2 files of no known or wanted format passed over (exit 0)\n")


def test_an_empty_file_of_a_directory_counts(run: Run) -> None:
    ran = run({"d/a.json": GOOD_FHIR, "d/b.json": ""}, paths=["d"])
    assert (ran.code, "d/b.json: not validated: empty" in ran.err) == (2, True)


@pytest.mark.parametrize("files", [{}, {"d/LICENSE": "words"}])
def test_nothing_to_validate_is_an_error_with_an_empty_or_full_list(run: Run, files: dict[str, Any]) -> None:
    Path("d").mkdir()
    ran = run(files, "--format", "json", paths=["d"])
    assert (ran.code, len(json.loads(ran.out))) == (3, len(files))
    assert "Clinical ERROR: nothing to validate" in ran.err


def test_formats_that_were_not_asked_for_are_listed_as_passed_over(run: Run) -> None:
    files = {"a.json": BAD_FHIR, "b.hl7": GOOD_HL7V2, "t.json": trace(fhir=BAD_FHIR)}
    ran = run(files, "--formats", "hl7v2, ccda", "--format", "json")
    fhir, hl7v2, skipped = json.loads(ran.out)
    assert (fhir["format"], fhir["label"], fhir["rules_fired"]) == ("fhir", "unscored", {})
    assert fhir["not_checked"] == [{"check": "fhir", "reason": "not among the formats asked for (hl7v2, ccda)"}]
    assert (hl7v2["label"], skipped["label"], skipped["format"]) == ("Pass", "unscored", "trace")
    assert (ran.code, ran.err) == (0, "Clinical PASS: 1 file passed; 2 files of no known or wanted format passed over (exit 0)\n")


def test_settings_come_from_command_line_environment_and_document(run: Run) -> None:
    Path("clinical.config.json").write_text('{"formats": ["fhir"], "limits": {"findings_max": 1}}')
    files = {"a.json": BAD_FHIR, "b.hl7": GOOD_HL7V2}
    assert [entry["label"] for entry in run.entries(files)] == ["Warn", "unscored"]
    assert [entry["label"] for entry in run.entries(files, env={"CLINICAL_FORMATS": "hl7v2"})] == ["unscored", "Pass"]
    assert [entry["label"] for entry in run.entries(files, "--formats", "fhir,hl7v2", env={"CLINICAL_FORMATS": "ccda"})] == ["Warn", "Pass"]
    fhir, _ = run.entries(files)
    assert ([finding["severity"] for finding in fhir["findings"]], fhir["findings_dropped"] > 0) == (["major", "info"], True)


def test_a_profile_and_its_package_can_be_named(run: Run) -> None:
    """A profile of one's own, from a folder, asks for a name that R4 does not ask for."""
    name = {"id": "Patient.name", "path": "Patient.name", "min": 1, "max": "*"}
    profile = definition(name, url="https://touchstone.example/StructureDefinition/named", name="Named", status="active")
    nameless = {
        "p.json": {"resourceType": "Patient"},
        "own/package/StructureDefinition-named.json": profile,
        "own/package/package.json": {"name": "own", "version": "1"},
    }
    asked = ["--package", "own", "--profile", profile["url"]]
    (entry,) = run.entries(nameless, *asked, paths=["p.json"])
    assert [finding["path"] for finding in entry["findings"] if finding["code"].startswith("fhir.profiles.")] == ["Patient.name"]
    (entry,) = run.entries({}, paths=["p.json"])
    assert entry["label"] == "Pass"
    missing = run({}, "--package", "nowhere", paths=["p.json"])
    assert (missing.code, "nowhere does not exist" in missing.err) == (EXIT_ERROR, True)


@pytest.mark.parametrize("form", ["json", "console", "markdown", "junit"])
def test_nothing_of_a_document_is_shown_unless_asked(run: Run, form: str) -> None:
    files = {"a.json": BAD_FHIR, "b.hl7": BAD_HL7V2, "t.json": trace(fhir=BAD_FHIR, hl7v2=BAD_HL7V2)}
    ran = run(files, "--format", form, "--verbose")
    assert CANARY not in ran.out + ran.err
    assert CANARY in run(files, "--format", form, "--verbose", "--quote").out


@pytest.mark.parametrize(("form", "begins"), [("console", "✓ PASS"), ("markdown", "# Clinical validation"), ("junit", "<?xml"), ("json", "[\n  {")])
def test_each_format_goes_to_standard_output_or_whole_to_a_file(run: Run, form: str, begins: str) -> None:
    ran = run({"a.json": GOOD_FHIR}, "--format", form)
    assert ran.out.startswith(begins)
    filed = run({"a.json": GOOD_FHIR}, "--format", form, "--output", "out/report")
    assert (filed.out, "wrote out/report" in filed.err) == ("", True)
    assert Path("out/report").read_text().startswith(begins)


def test_console_and_json_count_the_same(run: Run) -> None:
    files = {"d/a.json": GOOD_FHIR, "d/b.json": BAD_FHIR, "d/c.json": CUT_FHIR, "d/e.xml": CCDA, "d/notes": "x", "d/t.json": trace(hl7v2=GOOD_HL7V2)}
    entries, console = run.entries(files, paths=["d"]), run(files, paths=["d"]).out
    counts = {label: sum(entry["label"] == label for entry in entries) for label in ("Pass", "Warn", "Fail")}
    assert counts == {"Pass": 2, "Warn": 1, "Fail": 1}
    for line in ("Total Tests: 5", "✓ Passed: 2", "! Warned: 1", "✗ Failed: 1", "- Not validated: 1", "Passed over: 1", "Pass Rate: 40%"):
        assert f"  {line}" in console
    assert all(entry["file"] in console for entry in entries)


def test_standard_input_is_one_file(run: Run) -> None:
    ran = run({}, "--format", "json", paths=["-"], stdin=GOOD_HL7V2.encode())
    assert [(entry["file"], entry["label"]) for entry in json.loads(ran.out)] == [("-", "Pass")]


def test_a_file_name_with_control_characters_is_made_visible(run: Run) -> None:
    name = "a\n\x1b[31mb.json"
    ran = run({name: BAD_FHIR})
    assert "a\\n\\x1b[31mb.json" in ran.out
    assert "\x1b" not in ran.out + ran.err
    assert run.entries({name: BAD_FHIR})[0]["file"] == name


@pytest.mark.parametrize("form", ["json", "console", "markdown", "junit"])
def test_a_file_name_that_is_no_utf8_breaks_no_report(run: Run, form: str) -> None:
    Path("d").mkdir()
    Path("d", os.fsdecode(b"caf\xe9.json")).write_text(text(GOOD_FHIR))
    assert "caf" in run({}, "--format", form, paths=["d"]).out


@pytest.mark.slow
def test_several_processes_give_the_same_answers_in_the_same_order(run: Run) -> None:
    kinds = [GOOD_FHIR, BAD_HL7V2, CCDA, trace(fhir=BAD_FHIR), "junk", CUT_FHIR]
    files = {f"d/{number:02}": kinds[number % len(kinds)] for number in range(24)}
    alone, together = (run(files, "--format", "json", *more, paths=["d", "absent", "-"], stdin=GOOD_HL7V2.encode()) for more in ([], ["--jobs", "2"]))
    assert together.out == alone.out
    assert (together.code, together.err) == (alone.code, alone.err)


@pytest.mark.slow
def test_a_lost_process_costs_the_file_that_it_was_lost_over(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import touchstone.ops.batch.pool

    monkeypatch.setattr(touchstone.ops.batch.pool, "CHUNK_FILES_MAX", 4)
    monkeypatch.setattr(touchstone.ops.batch.pool, "_score_here", score_or_die)
    files = {f"d/{number:02}": DEADLY if number in {3, 17} else GOOD_HL7V2 for number in range(20)}
    ran = run(files, "--format", "json", "--jobs", "2", paths=["d"])
    entries = json.loads(ran.out)
    assert [entry["file"] for entry in entries] == list(files)
    assert [entry["file"] for entry in entries if entry["label"] != "Pass"] == ["d/03", "d/17"]
    assert "touchstone: d/03: the process that scored it was lost" in ran.err
    assert ran.code == EXIT_ERROR


def test_a_validator_that_fails_costs_one_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone.scorers.clinical.documents import DocumentValidator

    sound = DocumentValidator.validate

    def fail_on_hl7v2(self: DocumentValidator, content: Any, form: Any = None, **more: Any) -> Any:
        if form == "hl7v2":
            raise ValueError(CANARY)
        return sound(self, content, form, **more)

    monkeypatch.setattr(DocumentValidator, "validate", fail_on_hl7v2)
    ran = run({"a.hl7": GOOD_HL7V2, "b.json": GOOD_FHIR}, "--format", "json")
    assert [entry["label"] for entry in json.loads(ran.out)] == ["unscored", "Pass"]
    assert (ran.code, CANARY in ran.out + ran.err) == (3, False)
    assert "a.hl7: the validator failed (ValueError)" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.json", "--formats", "fhir,pdf"], "formats"),
        (["a.json", "--formats", ""], "formats"),
        (["a.json", "--format", "pdf"], "--format"),
        (["a.json", "--config", "absent.json"], "absent.json: cannot be read"),
        (["a.json", "--config", "bad.json"], "bad.json"),
        (["a.json", "--output", "."], "is a directory"),
        (["a.json", "--output", "a.json/x"], "cannot be written"),
        (["a.json", "--jobs", "0"], "--jobs"),
        (["-", "-"], "named twice"),
        (["--verbose"], "FILE|DIR"),
    ],
)
def test_every_mistake_is_told_and_exits_3(run: Run, arguments: list[str], told: str) -> None:
    Path("bad.json").write_text('{"nonsense": true}')
    Path("a.json").write_text(text(GOOD_FHIR))
    ran = run({}, paths=arguments)
    assert (ran.code, ran.out) == (3, "")
    assert told.casefold() in ran.err.casefold()
    assert "Traceback" not in ran.err


def test_many_complaints_are_cut_short_on_standard_error(run: Run) -> None:
    ran = run({}, paths=[f"absent-{number}" for number in range(25)])
    assert "touchstone: and 5 more; the JSON report lists all" in ran.err


def test_a_reader_that_goes_early_makes_it_no_pass(run: Run) -> None:
    Path("bad.json").write_text(text(BAD_FHIR))
    command = [sys.executable, "-m", "touchstone.ops.cli", "eval", "validate", *["bad.json"] * 300]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == 2
    assert "Traceback" not in told


def test_help_has_an_example_and_imports_no_validator() -> None:
    program = (
        "import sys; sys.argv = ['touchstone', 'eval', 'validate', '--help']\nfrom touchstone.ops.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
    )
    heavy = [
        "orjson",
        "touchstone.scorers.clinical",
        "lxml",
        "pint",
        "ucumvert",
        "touchstone.ops.batch.run",
        "touchstone.ops.reports",
        "concurrent.futures.process",
    ]
    program += f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"COLUMNS": "160", "PATH": ""})
    assert "Example: touchstone eval validate" in ran.stdout
    assert ran.stderr.strip() == "[]"


def test_an_empty_path_is_refused_rather_than_taken_for_the_working_directory(run: Run) -> None:
    ran = run({"a.json": GOOD_FHIR}, paths=["a.json", ""])

    assert (ran.code, ran.out) == (EXIT_ERROR, "")
    assert "an empty path is given" in ran.one_line


@pytest.mark.parametrize(("formats", "code"), [("FHIR, hl7v2", 0), ("xml", EXIT_ERROR), ("", EXIT_ERROR), (",", EXIT_ERROR)])
def test_formats_are_names_in_any_case(run: Run, formats: str, code: int) -> None:
    ran = run({"a.json": GOOD_FHIR}, "--formats", formats)

    assert ran.code == code
    assert code == 0 or ran.one_line == "touchstone: --formats: give one or more of fhir, hl7v2, ccda, separated by commas"


@pytest.mark.parametrize(("data", "name"), [(b"PK\x03\x04\x14", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"BZh91AY", "bzip2")])
def test_a_compressed_file_is_told_as_one(run: Run, data: bytes, name: str) -> None:
    (entry,) = run.entries({"p.json": data})

    assert (entry["label"], entry["format"]) == ("unscored", None)
    assert entry["not_checked"] == [{"check": "format", "reason": f"compressed ({name}): unpack it, and validate what it holds"}]


def test_a_closed_standard_input_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ran = run({}, paths=["-"])

    assert ran.code == EXIT_ERROR
    assert "touchstone: -: cannot be read (it is closed); pipe a document into it, or name a file" in ran.err


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_says_so_and_writes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("touchstone.scorers.clinical.scorer.score_trace", lambda *_: signal.raise_signal(number))
    ran = run({"a.json": GOOD_FHIR}, "-o", "report.json")

    assert (ran.code, ran.out, ran.one_line) == (code, "", "touchstone: stopped before the end; no report was written")
    assert not Path("report.json").exists()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("rate", "code", "word"), [("0.5", 0, "PASS"), ("0.6", 1, "FAIL")])
def test_a_pass_rate_can_be_asked_for(run: Run, rate: str, code: int, word: str) -> None:
    ran = run({"a.json": GOOD_FHIR, "b.json": BAD_FHIR}, "--min-pass-rate", rate)

    assert (ran.code, ran.err) == (code, f"Clinical {word}: pass rate 50% of 2 files, at least {rate} asked (exit {code})\n")
