import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from touchstone.ops.cli import app
from touchstone.ops.reviews.annotations import FileAnnotations, StoreAnnotations
from touchstone.ops.reviews.coding import read_categories
from touchstone.ops.reviews.error_report import error_view
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_coding import Categories, coded, exported, renamed

NOW = datetime(2026, 2, 4, tzinfo=UTC)
#: The example of the specification.
EXAMPLE = {
    "traceId": "eval-2024-01-15-abc123",
    "verdict": "fail",
    "notes": "Diabetes patient has no HbA1c in labs. Metformin start date is 6 months before diabetes onset.",
    "failureMode": None,
    "severityTag": "clinician_would_notice",
    "reviewer": "sky-t",
    "timestamp": "2025-02-03T14:30:00Z",
    "reviewPass": 1,
}
#: The specification's other shape: inside of a trace file, by its viewer.
IN_A_TRACE = {
    "traceId": "eval-2026-02-04-abc123",
    "annotations": {"quality_rating": "good", "common_issues": ["missing_meds"], "notes": "No antihistamines", "annotated_at": "2026-02-04T15:30:00"},
    "persona": {},
}


def said(trace: str, verdict: str = "fail", mode: str | None = None, reviewer: str = "r1", review_pass: int = 1, notes: str = "") -> AnnotationRecord:
    return AnnotationRecord.model_validate(
        EXAMPLE | {"traceId": trace, "verdict": verdict, "failureMode": mode, "reviewer": reviewer, "reviewPass": review_pass, "notes": notes}
    )


def written(folder: Path, records: Any) -> Path:
    path = folder / "annotations.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_the_specifications_record_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    (record,) = FileAnnotations(written(tmp_path, [EXAMPLE])).read()
    assert record.record() == EXAMPLE


@pytest.mark.parametrize("document", [IN_A_TRACE, [IN_A_TRACE]])
def test_an_annotation_inside_of_a_trace_is_read(tmp_path: Path, document: Any) -> None:
    (record,) = FileAnnotations(written(tmp_path, document)).read()
    assert (record.trace_id, record.quality_rating, record.common_issues) == ("eval-2026-02-04-abc123", "good", ("missing_meds",))
    assert (record.at, record.verdict) == (datetime(2026, 2, 4, 15, 30, tzinfo=UTC), None)


@pytest.mark.parametrize("document", [{}, "text", [1], [{"verdict": "fail"}], [EXAMPLE | {"verdict": "maybe"}], [EXAMPLE | {"verdicts": "fail"}]])
def test_a_file_that_is_no_list_of_annotations_is_refused_without_its_text(tmp_path: Path, document: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        FileAnnotations(written(tmp_path, document)).read()
    assert "annotations.json" in str(caught.value)
    assert "maybe" not in str(caught.value)


def test_the_highest_pass_of_a_reviewer_counts_and_the_newest_in_it() -> None:
    records = [
        said("a"),
        said("a", "pass", review_pass=2),
        said("a", review_pass=1, mode="old"),
        said("a", "pass", review_pass=2, mode="new"),
        said("a", reviewer="r2"),
    ]
    assert [(one.reviewer, one.failure_mode) for one in current(records)] == [("r1", "new"), ("r2", None)]


def test_coding_raises_the_pass_and_keeps_what_was_said(tmp_path: Path) -> None:
    annotations = FileAnnotations(written(tmp_path, [said("a").record(), said("b", review_pass=3).record(), said("c", "pass").record()]))
    before = annotations.read()
    coding = Categories.model_validate({"categories": [{"name": "missing_labs", "annotations": [{"traceId": "a", "reviewer": "r1"}]}]})
    annotations.append(coded(before, coding, NOW))
    after = annotations.read()
    assert after[:3] == before
    assert [(one.trace_id, one.failure_mode, one.review_pass, one.verdict) for one in after[3:]] == [("a", "missing_labs", 4, "fail")]
    assert coded(after, coding, NOW) == []


def test_renaming_two_categories_to_one_merges_them() -> None:
    records = [said("a", mode="no_hba1c"), said("b", mode="no_tsh"), said("c", mode="dates")]
    added = renamed(records, {"no_hba1c": "missing_labs", "no_tsh": "missing_labs"}, NOW)
    assert [(one.trace_id, one.failure_mode, one.review_pass) for one in added] == [("a", "missing_labs", 2), ("b", "missing_labs", 2)]
    with pytest.raises(ConfigError, match="no annotation is in the category typo; there are dates, no_hba1c, no_tsh"):
        renamed(records, {"typo": "x"}, NOW)


@pytest.mark.parametrize(("trace", "reason"), [("unknown", "are not here"), ("passed", "are no failures")])
def test_a_coding_of_what_is_not_a_failure_here_is_refused(trace: str, reason: str) -> None:
    coding = Categories.model_validate({"categories": [{"name": "x", "annotations": [{"traceId": trace, "reviewer": "r1"}]}]})
    with pytest.raises(ConfigError, match=reason):
        coded([said("passed", "pass")], coding, NOW)


def test_an_annotation_has_one_category(tmp_path: Path) -> None:
    member = {"traceId": "a", "reviewer": "r1"}
    path = tmp_path / "categories.json"
    path.write_text(json.dumps({"categories": [{"name": "x", "annotations": [member]}, {"name": "y", "annotations": [member]}]}), encoding="utf-8")
    with pytest.raises(ConfigError, match="in two categories"):
        read_categories(path)


def test_what_is_exported_codes_the_same_again() -> None:
    records = [said("a", mode="dates"), said("b"), said("c", "pass")]
    file = exported(records)
    assert ([one.name for one in file.categories], [one.traceId for one in file.uncoded]) == (["dates"], ["b"])
    assert coded(records, file, NOW) == []


def test_the_report_counts_traces_and_quotes_no_note() -> None:
    records = [
        said("a", mode="dates", notes="Zyxwv has"),
        said("a", mode="dates", reviewer="r2"),
        said("b"),
        *(said(f"p{number}", "pass") for number in range(8)),
    ]
    view = error_view(records, Categories(), NOW, "here")
    rows = {row[0]: row[1:] for row in view.tables[0].rows}
    assert rows["dates"][:2] == ("1", "10% (2% to 40%)")
    assert rows["(not coded)"][0] == "1"
    assert "Zyxwv" not in repr(view)
    assert dict(view.labels) == {"Pass": 8, "Fail": 2}


def test_annotations_that_the_page_has_written_are_read(tmp_path: Path) -> None:
    store = ResultStore.open(f"sqlite:///{tmp_path}/results.db", create=True)
    try:
        body = said("t", notes="no labs").content() | {"annotatedAt": "2026-01-02T03:04:05.678Z"}
        CaseIndex(store.engine).annotate("event-1", "r1", body, NOW, expected=0, trace_id="t")
        (record,) = StoreAnnotations(store).read()
        assert (record.trace_id, record.notes, record.at.isoformat()) == ("t", "no labs", "2026-01-02T03:04:05.678000+00:00")
    finally:
        store.close()


def test_annotations_of_the_store_are_coded_there(tmp_path: Path) -> None:
    store = ResultStore.open(f"sqlite:///{tmp_path}/results.db", create=True)
    try:
        index = CaseIndex(store.engine)
        index.annotate("event-1", "r1", said("t", notes="no labs").content(), NOW, expected=0, trace_id="t")
        index.annotate("event-2", "r2", said("u", "pass").content(), NOW, expected=0)
        annotations = StoreAnnotations(store)
        records = annotations.read()
        assert [(one.trace_id, one.verdict, one.notes) for one in records] == [("t", "fail", "no labs"), ("event-2", "pass", "")]
        coding = Categories.model_validate({"categories": [{"name": "missing_labs", "annotations": [{"traceId": "t", "reviewer": "r1"}]}]})
        annotations.append(coded(records, coding, NOW))
        assert [(one.revision, one.review_pass, one.body["failureMode"]) for one in index.annotations("event-1")] == [(1, 1, None), (2, 2, "missing_labs")]
        assert [one.failure_mode for one in current(StoreAnnotations(store).read())] == ["missing_labs", None]
    finally:
        store.close()


def test_the_commands_from_a_file_to_a_report(tmp_path: Path) -> None:
    path = written(tmp_path, [said("a").record(), said("b").record(), said("c", "pass").record()])
    file, report = tmp_path / "categories.json", tmp_path / "ERROR_ANALYSIS.md"
    run = CliRunner().invoke
    assert run(app, ["errors", "export", str(path), "--output", str(file)]).exit_code == 0
    document = json.loads(file.read_text())
    document["categories"] = [{"name": "missing_labs", "kind": "generalization", "annotations": document.pop("uncoded")}]
    file.write_text(json.dumps(document), encoding="utf-8")
    done = run(app, ["errors", "code", str(file), "--annotations", str(path)])
    assert (done.exit_code, done.output) == (0, f"2 annotations coded in {path}, review pass 2.\n")
    assert run(app, ["errors", "report", str(path), "--categories", str(file), "--format", "markdown", "--output", str(report)]).exit_code == 0
    assert "| missing_labs | 2 | 67% (21% to 94%) | generalization | a, b |" in report.read_text()
    for form in ("console", "html", "json"):
        assert "missing_labs" in run(app, ["errors", "report", str(path), "--format", form]).output


@pytest.mark.parametrize("arguments", [["code"], ["code", "x.json", "--rename", "a=b"], ["code", "--rename", "a=B C"], ["report", "nowhere.json"]])
def test_a_mistake_is_one_line(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    extra = ["--annotations", str(written(tmp_path, [EXAMPLE]))] if arguments[0] == "code" else []
    done = CliRunner().invoke(app, ["errors", *arguments, *extra])
    assert done.exit_code == 3
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_report_on_a_queue_without_annotations_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["errors", "report", str(written(tmp_path, [EXAMPLE])), "--queue", "other"])
    assert (done.exit_code, "--queue other: no annotation" in done.stderr) == (3, True)
