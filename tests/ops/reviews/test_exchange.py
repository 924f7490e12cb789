"""Annotations between files and the store: nothing is lost, nothing is written twice, and no trace is changed."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from touchstone.ops.cli import app
from touchstone.ops.local.data_folder import addresses_in
from touchstone.ops.reviews.exchange import export_array, read_annotations
from touchstone.ops.store.annotation_log import Added, add_records
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.trace_comments import keep_comments
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.settings.house import ArchiveSettings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EXAMPLE = {
    "traceId": "t-1",
    "verdict": "fail",
    "notes": "no HbA1c in labs",
    "failureMode": None,
    "severityTag": "clinician_would_notice",
    "reviewer": "sky-t",
    "timestamp": "2025-02-03T14:30:00Z",
    "reviewPass": 1,
}
OF_THE_VIEWER = {"quality_rating": "good", "common_issues": ["missing_meds"], "notes": "No antihistamines", "annotated_at": "2026-02-04T15:30:00"}
IN_PRODUCTION = [{"reviewerId": "ann", "qualityRating": 2, "commonIssues": ["irrelevant_labs"], "notes": "n", "annotatedAt": "2026-02-05T10:00:00Z"}]


@contextmanager
def opened(folder: Path, traces: tuple[str, ...] = ("t-1", "t-2")) -> Iterator[Archive]:
    """A store and an archive in a folder, as a viewer has them."""
    store, archive = addresses_in(folder)
    results = ResultStore.open(store, create=True)
    try:
        kept = open_archive(ArchiveSettings(url=archive), CaseIndex(results.engine))
        for name in traces:
            kept.put_trace(json.dumps({"traceId": name, "outputs": {}, "precise": 1.10, "annotations": OF_THE_VIEWER if name == "t-2" else []}).encode())
        yield kept
    finally:
        results.close()


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["annotations", *map(str, arguments)])


def written(path: Path, document: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- the zone is given beside it
texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=20)
records = st.builds(
    AnnotationRecord,
    trace_id=st.sampled_from(["t-1", "t-2"]),
    reviewer=st.sampled_from(["ann", "bob"]),
    at=moments.map(datetime.isoformat),
    review_pass=st.integers(1, 2),
    verdict=st.sampled_from(["pass", "fail", None]),
    notes=st.none() | texts,
    failure_mode=st.none() | st.just("missing_labs"),
    quality_rating=st.none() | st.integers(1, 5) | st.just("good"),
    common_issues=st.none() | st.lists(st.sampled_from(["missing_meds", "other"]), max_size=2).map(tuple),
    settled=st.none() | st.just(True),
    withdrawn=st.none() | st.just(True),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(records, max_size=8, unique_by=lambda one: one.model_dump_json()))
def test_what_is_exported_is_what_was_imported(said: list[AnnotationRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as archive:
        assert add_records(archive.index.engine, said, NOW).added == len(said)
        output = Path(folder) / "annotations.json"
        export_array(ResultStore(archive.index.engine), output, history=True)
        assert json.loads(output.read_bytes()) == [one.record() for one in said]
        again = add_records(archive.index.engine, read_annotations(output).records, NOW + timedelta(days=1))
        assert again == Added(0, len(said), 0, ())


def test_both_shapes_are_imported_once(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    traces = tmp_path / "traces"
    written(traces / "one.json", {"traceId": "t-1", "outputs": {}, "annotations": IN_PRODUCTION})
    written(traces / "two.json", {"traceId": "t-2", "outputs": {}, "annotations": OF_THE_VIEWER})
    written(traces / "three.json", {"traceId": "t-3", "outputs": {}})
    array = written(tmp_path / "annotations.json", [EXAMPLE])
    for path, said in ((traces, "2 annotations added, 0 there already."), (array, "1 annotation added, 0 there already.")):
        done = run("import", path, "--data", tmp_path)
        assert (done.exit_code, done.output.strip()) == (0, said)
    done = run("import", traces, "--data", tmp_path)
    assert (done.exit_code, done.output.strip()) == (0, "0 annotations added, 2 there already.")
    out = json.loads(run("export", "--data", tmp_path).stdout)
    assert [(one["traceId"], one["reviewer"], one.get("qualityRating"), one["timestamp"]) for one in out] == [
        ("t-1", "ann", 2, "2026-02-05T10:00:00Z"),
        ("t-2", "viewer", "good", "2026-02-04T15:30:00Z"),
        ("t-1", "sky-t", None, "2025-02-03T14:30:00Z"),
    ]


def test_an_older_record_does_not_take_the_place_of_what_its_reviewer_said_later(tmp_path: Path) -> None:
    with opened(tmp_path) as archive:
        engine = archive.index.engine
        add_records(engine, [AnnotationRecord.model_validate(EXAMPLE | {"timestamp": "2026-01-02T00:00:00Z", "verdict": "pass"})], NOW)
        assert add_records(engine, [AnnotationRecord.model_validate(EXAMPLE)], NOW) == Added(0, 0, 1, ())
        assert add_records(engine, [AnnotationRecord.model_validate(EXAMPLE | {"reviewer": "bob"})], NOW).added == 1


def test_what_cannot_be_imported_is_named_and_costs_nothing_else(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    folder = tmp_path / "traces"
    written(folder / "a.json", "{ cut off")
    written(folder / "b.json", [EXAMPLE, EXAMPLE | {"verdict": "Zyxwv"}, EXAMPLE | {"traceId": "elsewhere"}, 5])
    done = run("import", folder, "--data", tmp_path)
    assert (done.exit_code, done.stdout.strip()) == (3, "1 annotation added, 0 there already.")
    lines = done.stderr.strip().splitlines()
    assert [line.partition(str(folder))[2][:10] for line in lines[:3]] == ["/a.json: i", "/b.json, 1", "/b.json, 3"]
    assert "elsewhere: the store has no such trace" in lines[3]
    assert "Zyxwv" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import", "nowhere.json"], "nowhere.json"),
        (["export", "--data", "nowhere"], "no such folder"),
        (["export"], "touchstone.db"),
        (["export", "-o", "x.json", "--into-traces", "y"], "leave --output"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert (done.exit_code, len(done.stderr.strip().splitlines())) == (3, 1)
    if arguments != ["import", "nowhere.json"]:  # without a store, that is what is missing first
        assert said in done.stderr


def test_a_file_with_what_the_store_lacks_is_not_replaced(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    output = written(tmp_path / "annotations.json", [EXAMPLE])
    run("import", output, "--data", tmp_path)
    assert run("export", "-o", output, "--data", tmp_path).exit_code == 0
    mine = json.loads(output.read_bytes())
    written(output, [*mine, EXAMPLE | {"reviewer": "a colleague"}])
    done = run("export", "-o", output, "--data", tmp_path)
    assert (done.exit_code, "an entry that the store does not have" in done.stderr) == (3, True)
    assert json.loads(output.read_bytes())[1]["reviewer"] == "a colleague"


def test_a_thumb_inside_a_trace_is_taken_over_unless_a_later_one_is_there(tmp_path: Path) -> None:
    def trace(rating: str, day: int) -> dict[str, Any]:
        return {"traceId": "t-1", "outputs": {}, "feedback": {"rating": rating, "timestamp": f"2026-02-0{day}T00:00:00Z"}}

    with opened(tmp_path) as archive:
        for given, rating in ((trace("up", 2), "up"), (trace("down", 1), "up"), ({"traceId": "t-1", "feedback": "down"}, "up"), (trace("down", 3), "down")):
            keep_comments(archive.index, given, NOW)
            assert archive.index.feedback(["t-1"])["t-1"].rating == rating


def test_copies_of_traces_have_the_annotations_inside_and_the_traces_stay(tmp_path: Path) -> None:
    with opened(tmp_path) as archive:
        before = archive.document("t-2")
        keep_comments(archive.index, json.loads(before), NOW)
        add_records(archive.index.engine, [AnnotationRecord.model_validate(EXAMPLE)], NOW)
    out = tmp_path / "out"
    assert run("export", "--into-traces", out, "--data", tmp_path).exit_code == 0
    copies = {path.name: json.loads(path.read_bytes()) for path in sorted(out.iterdir())}
    assert list(copies) == ["trace-t-1.json", "trace-t-2.json"]
    assert [one["reviewerId"] for one in copies["trace-t-2.json"]["annotations"]] == ["viewer"]
    assert b'"precise":1.1' in (out / "trace-t-1.json").read_bytes()
    with opened(tmp_path) as archive:
        assert archive.document("t-2") == before
        assert [one.added for one in (keep_comments(archive.index, copy, NOW)[0] for copy in copies.values())] == [0, 0]
    assert run("export", "--into-traces", out, "--data", tmp_path).exit_code == 0
    written(out / "trace-t-1.json", {"traceId": "t-1", "outputs": {}, "mine": True})
    refused = run("export", "--into-traces", out, "--data", tmp_path)
    assert (refused.exit_code, "traces are never changed" in refused.stderr) == (3, True)
    assert json.loads((out / "trace-t-1.json").read_bytes())["mine"]
