"""What a viewer reads into its folder: the same results as `touchstone score`, once, and a line for whatever it cannot take."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.ops.viewer.started import sample_traces
from touchstone.ops.batch.call import open_suite
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.cli import app
from touchstone.ops.local.data_folder import addresses_in
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.viewer.loading import Loaded, Loader, steps
from touchstone.ops.viewer.places import Bucket, Folder, Service, place_of
from touchstone.ops.viewer.session import scorings
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.base import AsksJudge, ConfigError, Samples
from touchstone.scorers.registry import load_suite
from touchstone.streams.account.projection import restore

SUITE = "failure_modes"
OF_THE_VIEWER = {"quality_rating": "good", "common_issues": ["missing_meds"], "annotated_at": "2026-02-04T15:30:00"}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    store, url = addresses_in(tmp_path / "data")
    (tmp_path / "data").mkdir()
    results = ResultStore.open(store, create=True)
    yield open_archive(ArchiveSettings(url=url), CaseIndex(results.engine))
    results.close()


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    sample_traces(tmp_path / "traces", 3)
    return tmp_path / "traces"


def load(archive: Archive, folder: Path, beside: Path | None = None) -> Loaded:
    async def read() -> Loaded:
        place, scoring = Folder(folder), open_suite(SUITE)
        loader = Loader(place, archive, [scoring])
        for part in steps(place.names()):
            await loader.step(part)
        loader.take_annotations(beside)
        await scoring.close()
        return loader.loaded

    return asyncio.run(read())


def test_the_results_are_those_of_the_command_on_files(archive: Archive, traces: Path) -> None:
    assert load(archive, traces).scored == 3
    scoring, given = open_suite(SUITE), list[ScoreResult]()
    Run(scoring.suite, scoring.settings, on_result=given.append).score(find_sources([traces], any_file=True))
    history = History(archive.index.engine)
    changing = {"scored_at", "duration_ms", "source"}
    for one in given:
        found = history.case(one.event_id)
        assert found is not None
        assert found.kept is not None
        (row,) = found.results
        assert restore(row).model_dump(exclude=changing) == one.model_dump(exclude=changing)
        assert restore(row).source == one.source.model_copy(update={"place": ""})


def test_what_was_read_is_not_scored_again_and_what_was_said_is_taken_over_once(archive: Archive, traces: Path) -> None:
    first = min(traces.iterdir())
    trace = json.loads(first.read_bytes())
    load(archive, traces)
    first.write_text(json.dumps(trace | {"annotations": OF_THE_VIEWER, "feedback": {"rating": "down", "timestamp": "2026-02-04T15:30:00Z"}}))
    again = load(archive, traces)
    assert (again.traces, again.scored, again.annotations, again.problems) == (3, 0, 1, [])
    assert load(archive, traces).annotations == 0
    assert archive.index.feedback([trace["traceId"]])[trace["traceId"]].rating == "down"


@pytest.mark.parametrize("place", ["traces", "."])
def test_an_array_of_annotations_is_taken_over_once_beside_the_traces_or_among_them(place: str, archive: Archive, traces: Path) -> None:
    record = {"traceId": "sample-7-0001", "verdict": "fail", "notes": "n", "reviewer": "ann", "timestamp": "2026-02-04T15:30:00Z"}
    file = traces.parent / place / "annotations.json"
    file.write_text(json.dumps([record, record | {"traceId": "elsewhere"}]))
    beside = file if place == "." else None
    loaded = load(archive, traces, beside)
    assert (loaded.annotations, len(loaded.problems)) == (1, 1)
    assert "1 traces that are not here" in loaded.problems[0]
    assert load(archive, traces, beside).annotations == 0


def test_a_bucket_has_traces_and_other_objects(tmp_path: Path) -> None:
    bucket = Bucket("s3://bucket/prefix", 1_000)
    bucket._objects = Objects.open(f"file://{tmp_path}")
    for path, data in {"traces/trace-a.json": b'{"traceId": "a"}', "results/e/r.json": b"{}", "b.json": b"{ cut", "c.json": b"0" * 2_000, "d.txt": b""}.items():
        bucket._objects.put(path, data)
    assert bucket.names() == ["b.json", "c.json", "traces/trace-a.json"]
    read = [one for name in bucket.names() for one in bucket.read(name)]
    assert [one.fault for one in read] == ["is not JSON (line 1)", "has more than 1,000 bytes", ""]
    assert (read[2].name, read[2].document) == ("s3://bucket/prefix/traces/trace-a.json", {"traceId": "a"})


def test_a_trace_that_changed_is_told_and_the_earlier_one_stays(archive: Archive, traces: Path) -> None:
    first = min(traces.iterdir())
    load(archive, traces)
    trace = json.loads(first.read_bytes())
    first.write_text(json.dumps(trace | {"prompt": "another"}))
    (said,) = load(archive, traces).problems
    assert "has changed since it was first read" in said
    (event_id,) = History(archive.index.engine).events_of([trace["traceId"]])[trace["traceId"]]
    assert json.loads(archive.document(event_id))["prompt"] == trace["prompt"]


def test_what_cannot_be_read_is_named_and_costs_nothing_else(archive: Archive, traces: Path) -> None:
    (traces / "a-cut.json").write_text('{"traceId": "Zyxwv", ')
    (traces / "b-other.json").write_text('{"resourceType": "Patient"}')
    (traces / "c-wrong.json").write_text('{"traceId": 5, "outputs": {"fhir": "Zyxwv"}}')
    loaded = load(archive, traces)
    assert (loaded.traces, [Path(line.partition(": ")[0]).name for line in loaded.problems]) == (3, ["a-cut.json", "b-other.json", "c-wrong.json"])
    assert "Zyxwv" not in "".join(loaded.problems)


def test_an_archive_whose_folder_was_deleted_is_filled_again(archive: Archive, traces: Path) -> None:
    import shutil

    load(archive, traces)
    shutil.rmtree(traces.parent / "data" / "archive")
    assert load(archive, traces).problems == []
    (event_id,) = History(archive.index.engine).events_of(["sample-7-0001"]).values()
    assert archive.document(event_id[0])


@pytest.mark.parametrize(
    ("target", "kind"),
    [("x", Folder), ("file:///x", Folder), ("s3://bucket/traces", Bucket), ("https://host", Service), ("http://localhost/api/traces", Service)],
)
def test_a_target_names_its_place(target: str, kind: type) -> None:
    assert isinstance(place_of(target, bytes_max=1_000), kind)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere", "nowhere: no such file"),
        ("empty", "empty: holds no"),
        ("ftp://x/y", "no place that traces are read from"),
        ("http://127.0.0.1:9/api/traces", "cannot be reached"),
        (None, "name a folder of traces"),
    ],
)
def test_a_place_without_traces_is_one_line(target: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    # Every logger of this process would go on writing to the runner's standard error, which is closed with it.
    monkeypatch.setattr("touchstone.streams.telemetry.logs.configure", lambda _: None)
    monkeypatch.setattr("structlog.configure", lambda **_: None)
    done = CliRunner().invoke(app, ["viewer", *([target] if target else []), "--port", "0"])
    assert (done.exit_code, len(done.stderr.strip().splitlines())) == (3, 1)
    assert said in done.stderr
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / ".touchstone").exists()


def test_a_suite_that_asks_a_judge_scores_only_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = load_suite(SUITE)
    asking = replace(judged, judged=AsksJudge(lambda _: True, {}, {}, Samples, lambda _: {}))  # type: ignore[arg-type]
    monkeypatch.setattr("touchstone.ops.viewer.session.usable_suites", lambda: {SUITE: asking})
    monkeypatch.setattr("touchstone.ops.viewer.session.load_suite", lambda _: asking)
    said: list[str] = []
    with pytest.raises(ConfigError, match="no suite here scores traces"):
        scorings((), said.append)
    assert "asks a judge by its settings" in said[0]
    assert [one.suite.name for one in scorings((SUITE,), said.append)] == [SUITE]


def test_a_token_is_not_sent_in_the_clear() -> None:
    with pytest.raises(ConfigError, match="over https only"):
        place_of("http://host.example/api/traces", bytes_max=1_000, token="t" * 20)
