"""The same answer everywhere: worker, files, store and Python say the same of every sample of every installed suite.

Results are compared field by field, but for where and when they were made; reports but for the places that they name.
"""

import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest

from tests.integration import lexical_engines
from tests.ops.commands import Commands
from tests.ops.contracts.fitting import faults, headers_of
from tests.streams.fakes import FakeRecord
from touchstone import ascore
from touchstone.ops.batch.outgoing import Outgoings, Way, event_files
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.contracts import schemas
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.ops.store.reports import StoredEntries, Wanted, choose
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import ScoreResult, Source, SourceRef
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Samples
from touchstone.scorers.registry import known_signatures, load_suite, missing_libraries, suite_entry_points, why_not_here
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.reporting.report import Entry, RunFacts
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.account.batch_reports import encode_report, payload
from touchstone.streams.account.projection import project
from touchstone.streams.intake.scoring import RunningSuite, Scored, SliceScorer
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SETTINGS = Settings()
RESULTS = SETTINGS.topics.results
#: What a result says of where and when it was made.
OF_THE_RUN = {"source", "scored_at", "duration_ms"}
#: Members of a JSON report that name a place or a moment.
PLACES = {"where", "file", "source", "place", "path_of_file", "duration_ms", "duration_s", "scored_at", "latest"}
WAYS = ("worker", "files", "store", "python")


def without_models(suite: Suite) -> Suite:
    """The suite; one that needs a language model, over engines of which each answer is a matter of words."""
    return replace(suite, build=lexical_engines.build) if any("torch" in modules.split("|") for modules in suite.requires) else suite


def runnable() -> Iterator[Any]:
    for name in sorted(suite_entry_points()):
        if (reason := why_not_here(name)) is not None:
            yield pytest.param(None, id=name, marks=pytest.mark.skip(reason=reason))
            continue
        suite = load_suite(name)
        # The model itself is compared live against files in tests/integration/test_summary_suite.py; here it would cost minutes.
        yield pytest.param(without_models(suite), id=name)


@dataclass
class EveryWay:
    """What every way of scoring says of a suite's samples. `by_way`: way → entries, in the order of the files. `sent`: value and headers of each event."""

    suite: Suite
    samples: Samples
    settings: Any
    facts: RunFacts
    by_way: dict[str, list[Entry]]
    store: ResultStore
    sent: list[tuple[bytes, list[tuple[str, bytes]]]]

    def results(self, way: str) -> list[ScoreResult]:
        return [entry for entry in self.by_way[way] if isinstance(entry, ScoreResult)]

    def concerns(self) -> list[str | None]:
        """What reports are of: each concern, for a suite whose reports are of one; else everything."""
        if self.suite.mixes_concerns:
            return [None]
        groups = [self.suite.group_of(result) for result in self.results("files")]
        return sorted({group.concern_id for group in groups if group is not None})

    def report(self, way: str, concern: str | None) -> Any:
        facts = replace(self.facts, generated_at=NOW, duration_s=0.0, asked={"concern_id": concern, "batch_id": "*"})
        return self.suite.report([entry for entry in self.by_way[way] if concern is None or self._is_of(entry, concern)], facts)

    def _is_of(self, entry: Entry, concern: str) -> bool:
        group = self.suite.group_of(entry) if isinstance(entry, ScoreResult) else None
        return group is None or group.concern_id == concern


@pytest.fixture(scope="module", params=runnable())
def every_way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    suite: Suite = request.param
    samples = suite.samples() if suite.samples is not None else None
    if samples is None:
        pytest.skip(f"{suite.name} brings no samples")
    if (reason := missing_libraries(samples.requires)) is not None:
        pytest.skip(reason)
    settings = suite_settings(suite, env=samples.env, directory=tmp_path_factory.mktemp("nothing"))
    run = Run(suite, settings)
    facts = run.score(find_sources(samples.paths, any_file=suite.read is not None))
    events = events_of(suite, samples)
    live, calls = asyncio.run(scored_elsewhere(suite, settings, facts.config_digest, events))
    store = ResultStore.open(f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.db'}", create=True)
    records = [FakeRecord(offset, value, topic=RESULTS, headers=headers) for offset, (value, headers) in enumerate(live)]
    store.apply(project(RESULTS, {0: None}, {0: records}, {suite.name: suite}), 1.0)
    stored = StoredEntries(store, choose(store, Wanted(suite.name)))
    by_way = {
        "files": list(run.entries),
        "worker": [ScoreResult.model_validate_json(value) for value, _ in live],
        "store": list(stored),
        "python": calls,
    }
    yield EveryWay(suite, samples, settings, facts, by_way, store, live)
    store.close()


def events_of(suite: Suite, samples: Samples) -> list[bytes]:
    outgoings = Outgoings(SETTINGS, [suite], event_files(samples.paths), {}, Way(None, partial=True))
    outgoings.check()
    return [event.value or b"" for event in outgoings.events()]


async def scored_elsewhere(
    suite: Suite, settings: Any, digest: str, events: Sequence[bytes]
) -> tuple[list[tuple[bytes, list[tuple[str, bytes]]]], list[Entry]]:
    """What a worker puts on the results topic for these events, and what the Python call returns for them; by one scorer, as each opens its own otherwise."""
    scoring = Scoring(suite, settings)
    try:
        signatures = known_signatures()
        codec = Codec(suite.cases, signatures, SETTINGS.worker.event_bytes_max, signatures)
        scorer = scoring._scorer
        running = RunningSuite(suite.name, suite.version, digest, scorer, codec, suite.inline, suite.value_max, suite.metrics)
        topic = SETTINGS.topics.inputs(suite.topics)[0]
        records = [FakeRecord(offset, value, topic=topic) for offset, value in enumerate(events)]
        slice_ = Scored()
        await SliceScorer(running, SETTINGS.worker, WorkerMetrics(suite.name, suite.version, "test")).score(records, slice_)
        assert not slice_.rejected
        assert not slice_.spans
        calls: list[Entry] = [await ascore(scoring, orjson.loads(value)) for value in events]
        return [(message.value or b"", list(message.headers)) for message in slice_.messages], calls
    finally:
        await scoring.close()


def plain(result: ScoreResult) -> dict[str, Any]:
    """A result as JSON types, without what says where and when it was made."""
    return result.model_dump(mode="json", exclude=OF_THE_RUN)


def close(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two JSON values are the same, numbers within a tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(part, other[name], tolerance) for name, part in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(close(*pair, tolerance) for pair in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= tolerance
    return bool(one == other)


def without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_places(part) for name, part in value.items() if name not in PLACES}
    return [without_places(part) for part in value] if isinstance(value, list) else value


def test_every_sample_can_be_read_and_is_what_it_was_written_for(every_way: EveryWay) -> None:
    assert len(every_way.results("files")) == len(every_way.by_way["files"]) > 0
    if every_way.suite.build is not lexical_engines.build:  # what only a model can tell apart is asked of a model only
        assert every_way.samples.unexpected(every_way.results("files")) == []


@pytest.mark.parametrize("way", [way for way in WAYS if way != "files"])
def test_every_way_gives_the_same_results(every_way: EveryWay, way: str) -> None:
    files, others = every_way.results("files"), every_way.results(way)
    assert [result.event_id for result in others] == [result.event_id for result in files]
    different = [one.event_id for one, other in zip(files, others, strict=True) if not close(plain(one), plain(other), every_way.samples.tolerance)]
    assert different == []


def test_each_result_says_where_its_case_lies(every_way: EveryWay) -> None:
    sources: dict[str, list[Source]] = {way: [result.source for result in every_way.results(way)] for way in WAYS}
    assert sources["worker"] == sources["store"]
    assert [source.offset for source in sources["worker"] if isinstance(source, SourceRef)] == list(range(len(sources["worker"])))
    assert all(not isinstance(source, SourceRef) for source in sources["files"])


@pytest.mark.parametrize("way", [way for way in WAYS if way != "files"])
def test_every_way_gives_the_same_report(every_way: EveryWay, way: str) -> None:
    for concern in every_way.concerns():
        one, other = (json_of(every_way, every_way.report(each, concern)) for each in ("files", way))
        assert close(without_places(one), without_places(other), every_way.samples.tolerance)


def json_of(every_way: EveryWay, report: Any) -> Any:
    return json.loads("".join(lay_out(every_way.suite, report, "json", LayoutOptions(every_way.suite.verdict(report, None)))))


def test_the_report_of_the_store_by_name_is_that_of_its_entries(every_way: EveryWay) -> None:
    for concern in every_way.concerns():
        chosen = choose(every_way.store, Wanted(every_way.suite.name, concern, one_concern=not every_way.suite.mixes_concerns))
        facts = replace(every_way.facts, generated_at=NOW, duration_s=0.0, asked={"concern_id": concern, "batch_id": "*"})
        by_name = every_way.suite.report(StoredEntries(every_way.store, chosen), facts)
        assert json_of(every_way, by_name) == json_of(every_way, every_way.report("store", concern))


def test_the_event_of_every_batch_counts_what_the_report_of_its_files_counts(every_way: EveryWay) -> None:
    results = every_way.results("files")
    names = [every_way.suite.group_of(result) for result in results]
    due = {(state.key.concern_id, state.key.batch_id): state for state in every_way.store.due(1e12, 10_000)}
    assert due.keys() == {(name.concern_id, name.batch_id) for name in names if name is not None}
    for (concern, batch), state in due.items():
        mine = [result for result, name in zip(results, names, strict=True) if name is not None and (name.concern_id, name.batch_id) == (concern, batch)]
        facts = replace(every_way.facts, generated_at=NOW, asked={"concern_id": concern, "batch_id": batch})
        labels = every_way.suite.view(every_way.suite.report(mine, facts)).labels
        document = payload(state, every_way.store.summary(state.report_id), final=True, suite=every_way.suite)
        counts = document["summary"]
        assert (document["concern_id"], document["batch_id"]) == (concern, batch)
        assert counts["pass"] == labels.get("Pass", 0)
        assert counts["review"] + counts.get("warn", 0) == labels.get("Review", 0) + labels.get("Warn", 0)
        assert counts["fail"] == labels.get("Fail", 0)
        assert counts["total_cases"] == counts["pass"] + counts["review"] + counts.get("warn", 0) + counts["fail"]
        assert counts.get("unscored", 0) == labels.get("unscored", 0)
        means = {name: [result.values[name] for result in mine if name in result.values] for name in {name for result in mine for name in result.values}}
        assert close(document["mean_scores"], {name: math.fsum(values) / len(values) for name, values in means.items()}, 1e-9 + every_way.samples.tolerance)


def test_what_flows_and_what_is_reported_fits_what_programs_are_told(every_way: EveryWay) -> None:
    promised = schemas([every_way.suite])
    for event in events_of(every_way.suite, every_way.samples):
        document = orjson.loads(event)
        kind = document.get("kind") or next(kind for kind, model in every_way.suite.cases.items() if model.signature <= document.keys())
        assert faults(document, promised[f"event.{kind}"], strictly=False) == []
    for value, headers in every_way.sent:
        assert faults(json.loads(value), promised["result"]) == []
        assert faults(headers_of(headers), promised["event-headers"]) == []
    for state in every_way.store.due(1e12, 10_000):
        document = payload(state, every_way.store.summary(state.report_id), final=True, suite=every_way.suite)
        _, value, headers = encode_report(state, document, every_way.suite)
        assert faults(json.loads(value), promised.get(f"report-event.{every_way.suite.name}", promised["report-event"])) == []
        assert faults(headers_of(headers), promised["event-headers"]) == []
    report = promised.get(f"report.{every_way.suite.name}", promised["report"])
    for concern in every_way.concerns():
        assert faults(json_of(every_way, every_way.report("files", concern)), report) == []
        assert faults(json_of(every_way, every_way.report("store", concern)), report) == []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("way", WAYS)
def test_every_format_shows_every_case(every_way: EveryWay, way: str, format: str) -> None:
    for concern in every_way.concerns():
        report = every_way.report(way, concern)
        text = "".join(lay_out(every_way.suite, report, format, LayoutOptions(every_way.suite.verdict(report, None))))
        assert text.endswith("\n")
        if format == "json":
            json.loads(text)
        elif format == "junit":
            root = ET.fromstring(text.encode())
            assert int(root.get("tests", "0")) == len(root.findall(".//testcase")) > 0
        else:
            assert every_way.suite.verdict(report, None).word in text


@pytest.mark.parametrize("name", sorted(suite_entry_points()))
def test_the_command_scores_every_suite_by_its_name_with_the_exit_code_of_its_verdict(
    name: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if (reason := why_not_here(name)) is not None:
        pytest.skip(reason)
    suite = without_models(load_suite(name))
    samples = suite.samples() if suite.samples is not None else None
    if samples is None or missing_libraries(samples.requires) is not None:
        pytest.skip("no samples that can be scored here")
    monkeypatch.setattr(suite_entry_points()[name].value.replace(":", "."), suite)
    monkeypatch.chdir(tmp_path)
    # A suite whose reports are of one concern is given the folder of one.
    folders = [samples.paths[0]] if suite.mixes_concerns else sorted(path for path in samples.paths[0].iterdir() if path.is_dir())[:1]
    paths = samples.paths if suite.mixes_concerns else folders
    ran = Commands(capfdbinary, monkeypatch)("score", name, *paths, "--format", "json", env=dict(samples.env))
    document = json.loads(ran.out)
    assert document
    assert f"{suite.title} " in ran.err
    assert f"(exit {ran.code})" in ran.err
