import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.ops.clinical_cases import BAD_FHIR, BAD_HL7V2, CCDA, CUT_FHIR, GOOD_FHIR, GOOD_HL7V2, text, trace
from touchstone.ops.batch.reading import DOCUMENT_BYTES_MAX
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.schemas.reports.clinical import JudgedFile
from touchstone.schemas.result import Problem, ScoreResult, SourceRef
from touchstone.scorers.base import Document, Found
from touchstone.scorers.clinical import SUITE, ClinicalSettings, samples
from touchstone.scorers.clinical.batch import ClinicalReport
from touchstone.scorers.clinical.settings import resolve
from touchstone.scorers.clinical.trace_files import UNKNOWN, read, trace_id_of
from touchstone.scorers.identity import event_id
from touchstone.scorers.reporting import RunFacts
from touchstone.scorers.reporting.report import suite_report
from touchstone.scorers.reporting.view import Group


def found(data: Any, *, file: str = "a.json", named: bool = True, is_cut: bool = False, **settings: Any) -> list[Found | Problem]:
    content = data if isinstance(data, bytes) else (data if isinstance(data, str) else text(data)).encode()
    return list(read(Document(file, content, named, is_cut), ClinicalSettings(**settings)))


def run_over(*paths: Path, settings: ClinicalSettings | None = None) -> tuple[ClinicalReport, Run]:
    run = Run(SUITE, settings or ClinicalSettings())
    facts = run.score(find_sources(paths, any_file=True, missing_is_error=False))
    return SUITE.report(run.entries, facts), run


@pytest.mark.parametrize(("data", "form"), [(GOOD_FHIR, "fhir"), (GOOD_HL7V2, "hl7v2"), (CCDA, "ccda")])
def test_a_loose_document_is_a_trace_of_one_named_after_its_file(data: Any, form: str) -> None:
    (one,) = found(data, file="d/a.json")

    assert isinstance(one, Found)
    assert (one.place, one.record["kind"], one.record["traceId"], list(one.record["outputs"])) == ("", "trace", "d/a.json", [form])
    assert isinstance(one.record["outputs"][form]["content"], str)


def test_a_document_that_is_not_utf8_stays_bytes_and_has_an_id() -> None:
    (one,) = found(GOOD_HL7V2.encode() + b"ZXX|\xe9\r")

    assert isinstance(one, Found)
    assert isinstance(one.record["outputs"]["hl7v2"]["content"], bytes)
    assert event_id(SUITE.cases["trace"], one.record)


@pytest.mark.parametrize("file", ["a" * 4_000, "x\n\x1b[31m.json", "\u202egnp.json", "d/" + "é" * 300])
def test_any_file_name_makes_an_id_that_a_case_may_have(file: str) -> None:
    (one,) = found(GOOD_FHIR, file=file)

    assert isinstance(one, Found)
    assert SUITE.cases["trace"].model_validate(dict(one.record)).case_id == trace_id_of(file)


@pytest.mark.parametrize(
    ("data", "named", "told"),
    [
        (b"", False, ("unknown", None, "empty")),
        (b" \n" * 40_000, True, ("unknown", None, "empty")),
        ("words", True, ("unknown", None, "recognised neither as FHIR, nor as HL7 v2, nor as C-CDA, nor as a trace")),
        ("words", False, ("passed_over", None, "recognised neither as FHIR, nor as HL7 v2, nor as C-CDA, nor as a trace")),
        ('{"a": 1,', True, ("unknown", None, f"{UNKNOWN}; as JSON it is cut off or malformed at line 1 column 9")),
        ('{\n"a": 1\n"b": 2}', True, ("unknown", None, f"{UNKNOWN}; as JSON it is cut off or malformed at line 3 column 1")),
        ('{"a": 1}\n{"b": 2}\n', True, ("unknown", None, UNKNOWN)),
        (b"PK\x03\x04", True, ("unknown", None, "compressed (zip): unpack it, and validate what it holds")),
    ],
)
def test_what_is_no_document_is_a_problem(data: Any, named: bool, told: tuple[str, str | None, str]) -> None:
    (problem,) = found(data, named=named)

    assert isinstance(problem, Problem)
    assert (problem.kind, problem.format, problem.what) == told


def test_a_format_that_was_not_asked_for_is_passed_over() -> None:
    (problem,) = found(GOOD_FHIR, formats=("hl7v2",))

    assert isinstance(problem, Problem)
    assert (problem.kind, problem.format) == ("passed_over", "fhir")


@pytest.mark.parametrize(
    ("content", "places"),
    [
        (text(trace("a", fhir=GOOD_FHIR)), ["trace"]),
        (text([trace("a", fhir=GOOD_FHIR), trace("b", fhir=GOOD_FHIR)]), ["trace[0]", "trace[1]"]),
        (f"{text(trace('a', fhir=GOOD_FHIR))}\n\n{text(trace('b', fhir=GOOD_FHIR))}\n", ["trace[0]", "trace[1]"]),
        (text({"batch_id": "b1", "cases": [trace("a", fhir=GOOD_FHIR)]}), ["trace[0]"]),
    ],
)
def test_every_trace_of_a_file_is_a_case_with_its_place(content: str, places: list[str]) -> None:
    assert [one.place for one in found(content) if isinstance(one, Found)] == places


def test_a_broken_line_among_traces_is_a_problem_in_its_place() -> None:
    good, bad = found(f"{text(trace('a', fhir=GOOD_FHIR))}\n{{broken\n")

    assert isinstance(good, Found)
    assert isinstance(bad, Problem)
    assert (bad.kind, bad.where, [finding.code for finding in bad.findings]) == ("invalid", "a.json, trace[1]", ["trace.json"])


@pytest.mark.parametrize("many", [False, True])
def test_a_trace_with_a_key_twice_is_a_problem_in_its_place_as_it_is_a_dead_letter_in_a_stream(many: bool) -> None:
    good = text(trace("a", fhir=GOOD_FHIR))
    twice = good.replace('"outputs"', '"outputs": {"fhir": {"content": "garbage"}}, "outputs"')
    *before, bad = found(f"{twice}\n{good}\n{twice}\n" if many else twice)
    assert isinstance(bad, Problem)
    assert (bad.kind, bad.what) == ("invalid", "trace: an object has a key twice; keep one")
    assert [type(one) for one in before] == ([Problem, Found] if many else [])


@pytest.mark.parametrize(("head", "form"), [(b"MSH|^~\\&|", "hl7v2"), (b'{"resourceType":"Patient",', "fhir"), (b"\0", None)])
def test_the_beginning_of_a_file_that_is_too_large_tells_its_format(head: bytes, form: str | None) -> None:
    (problem,) = found(head + b" " * 100, is_cut=True)

    assert isinstance(problem, Problem)
    assert (problem.format, problem.kind) == (form, "unknown")


def test_a_file_beyond_the_bound_is_read_no_further_than_its_beginning(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as stream:
        stream.write(b"MSH|")
        stream.truncate(DOCUMENT_BYTES_MAX + 1)
    (judged,) = run_over(tmp_path / "large")[0].files

    assert (judged.entry.format, judged.outcome, judged.entry.not_checked[0].reason) == ("hl7v2", "unvalidated", "larger than 100 MiB: not read")


@pytest.mark.parametrize("head", [b'{"traceId":"a","outputs":{"fhir":{"content":"', b'[\n{"sessionId":"'])
def test_traces_beyond_the_bound_in_a_folder_count(tmp_path: Path, head: bytes) -> None:
    with (tmp_path / "t.jsonl").open("wb") as stream:
        stream.write(head)
        stream.truncate(DOCUMENT_BYTES_MAX + 1)
    report = run_over(tmp_path)[0]
    (judged,) = report.files

    assert (judged.outcome, judged.entry.not_checked[0].reason) == ("unvalidated", "larger than 100 MiB: not read")
    assert SUITE.verdict(report, None).exit_code != 0


def test_a_file_that_is_met_twice_is_told_twice(tmp_path: Path) -> None:
    for name, content in {"a.json": GOOD_FHIR, "t.json": trace(fhir=GOOD_FHIR), "u.json": trace(fhir=GOOD_FHIR)}.items():
        (tmp_path / name).write_text(text(content))
    (tmp_path / "v.json").write_text(text([trace(fhir=GOOD_FHIR)] * 3))
    report, run = run_over(*[tmp_path / name for name in ("a.json", "a.json", "t.json", "t.json", "u.json", "v.json", "v.json")])

    assert [Path(judged.entry.file).name for judged in report.files] == ["a.json", "a.json", "t.json", "t.json", "u.json", "v.json", "v.json"]
    assert (report.summary.total, len(run.repeated)) == (7, 0)


def test_a_trace_that_bears_its_file_s_name_is_a_trace_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text(trace(str(path), fhir=GOOD_FHIR, hl7v2=GOOD_HL7V2)))
    (judged,) = run_over(path)[0].files

    assert judged.entry.format == "trace"


def from_topic(run: Run) -> list[ScoreResult]:
    results = [entry for entry in run.entries if isinstance(entry, ScoreResult)]
    return [result.model_copy(update={"source": SourceRef(topic="traces", partition=0, offset=number)}) for number, result in enumerate(results)]


def told(judged: JudgedFile) -> dict[str, Any]:
    document = judged.entry.model_dump(exclude={"file"})
    return document | {"findings": sorted(map(str, document["findings"]))}


def test_the_same_results_come_to_the_same_from_files_and_from_a_topic(tmp_path: Path) -> None:
    for number, content in enumerate(
        [trace("a", fhir=GOOD_FHIR), trace("b", fhir=BAD_FHIR, hl7v2=BAD_HL7V2), trace("c", fhir=CUT_FHIR), trace("d", ccda=CCDA)]
    ):
        (tmp_path / f"{number}.json").write_text(text(content))
    files, run = run_over(tmp_path)
    topic: ClinicalReport = SUITE.report(from_topic(run), files.facts)

    assert (files.noun, topic.noun) == ("file", "trace")
    assert SUITE.event(files) == SUITE.event(topic) == SUITE.event(suite_report(list(run.entries), files.facts))
    assert SUITE.event(files)["summary"] == {
        "total_cases": 3, "pass": 1, "warn": 1, "review": 0, "fail": 1, "unscored": 1, "overall_pass_rate": pytest.approx(1 / 3),
    }  # fmt: skip
    # A file tells the gravest findings first, whatever the document; an event keeps its result's order.
    assert [told(judged) for judged in files.files] == [told(judged) for judged in topic.files]


def test_a_report_holds_nothing_of_its_entries() -> None:
    class Counted:
        def __init__(self) -> None:
            self.readings = 0

        def __iter__(self) -> Any:
            self.readings += 1
            return iter(())

    entries: Any = Counted()
    report: ClinicalReport = SUITE.report(entries, RunFacts(SUITE, ClinicalSettings(), "d1", datetime.now(UTC)))
    assert entries.readings == 1
    assert list(report.files) == list(SUITE.view(report).cases) == []
    assert entries.readings == 3


def result_of(settings: Iterable[tuple[str, Any]] = (), **fields: Any) -> ScoreResult:
    given = {"result_id": "r", "event_id": "e", "case_id": "t", "kind": "trace", "suite": "clinical", "suite_version": "1.0", "config_digest": "d"}
    source = SourceRef(topic="traces", partition=0, offset=0)
    return ScoreResult(**(given | {"label": "Pass", "values": {}, "source": source, "scored_at": datetime.now(UTC)} | fields | dict(settings)))


@pytest.mark.parametrize(
    ("attributes", "correlation", "group"),
    [
        ({"source": "writer", "day": "2026-01-02"}, {}, Group("writer", "2026-01-02")),
        ({"source": None, "day": "2026-01-02"}, {}, Group("traces", "2026-01-02")),
        ({"source": "writer", "day": None}, {}, None),
        ({"source": "writer", "day": "2026-01-02"}, {"batch_id": "b1", "concern_id": "c1", "batch_size": "12"}, Group("c1", "b1", 12)),
        ({"source": "writer"}, {"batch_id": "b1", "batch_size": "many"}, Group("writer", "b1")),
    ],
)
def test_traces_are_reported_by_their_batch_else_by_source_and_day(attributes: Any, correlation: Any, group: Group | None) -> None:
    assert SUITE.group(result_of(attributes=attributes, correlation=correlation)) == group


def test_the_day_of_a_trace_is_that_of_its_time_in_utc(tmp_path: Path) -> None:
    for number, moment in enumerate(["2026-01-02T23:30:00-01:00", "2026-01-02T03:04:05", None, "0001-01-01T00:00:00+14:00"]):
        (tmp_path / f"{number}.json").write_text(text(trace(fhir=GOOD_FHIR) | {"timestamp": moment}))
    _, run = run_over(tmp_path)

    assert [entry.attributes["day"] for entry in run.entries if isinstance(entry, ScoreResult)] == ["2026-01-03", "2026-01-02", None, None]


def test_the_samples_are_what_they_were_written_for() -> None:
    _, run = run_over(*SUITE.samples().paths if SUITE.samples else ())
    results = [entry for entry in run.entries if isinstance(entry, ScoreResult)]

    assert samples.unexpected(results) == []
    assert samples.unexpected(results[1:]) == [f"{results[0].case_id}: no result"]
    assert samples.unexpected([results[0].model_copy(update={"label": "Fail"}), *results[1:]]) != []


def test_formats_of_a_trace_that_nobody_asked_for_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([trace(fhir=GOOD_FHIR), trace(fhir=BAD_FHIR)]))
    (judged,) = run_over(path, settings=resolve({}, None, {"formats": ["hl7v2"]}))[0].files

    assert (judged.outcome, judged.entry.format) == ("passed_over", "trace")
