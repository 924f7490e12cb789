import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.ops.loss_cases import summary
from tests.scorers.safe.cases import samples
from tests.streams.fakes import safe_event
from touchstone.ops.batch.cases import BatchCase, cases_of, completed
from touchstone.ops.batch.outgoing import Outgoings, Way, event_files, twice_readable
from touchstone.schemas.case import SafeCase
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.registry import load_all
from touchstone.scorers.safe import SUITE
from touchstone.scorers.summary import SUITE as SUMMARY
from touchstone.streams.topics.produce import Outgoing

CANARY = "zanzibar-canary"
SETTINGS = Settings()
VALIDATED = {"suite_version": "1.0", "config_digest": "0" * 16, "label": "Pass", "values": {"format": 90.0}}


def bare_case(number: int = 1, **extra: Any) -> dict[str, Any]:
    """A case as a batch file has it: without kind, id, concern and batch."""
    event = safe_event(test_id=f"T-{number}", **extra)
    return {name: value for name, value in event.items() if name not in {"kind", "concern_id", "batch_id"}} | extra


def write(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records))
    return path


def outgoings(*paths: Path, **way: Any) -> Outgoings:
    return Outgoings(SETTINGS, load_all(), event_files(list(paths)), {}, Way(**({"topic": None} | way)))


def sent(*paths: Path, **way: Any) -> list[Outgoing]:
    every = outgoings(*paths, **way)
    every.check()
    return list(every.events())


def documents(*paths: Path, **way: Any) -> list[dict[str, Any]]:
    return [orjson.loads(event.value) for event in sent(*paths, **way)]


def test_a_case_gets_what_its_place_says(tmp_path: Path) -> None:
    write(tmp_path / "data" / "I25" / "b7.jsonl", bare_case(1), bare_case(2))
    first, second = documents(tmp_path / "data")
    assert (first["kind"], first["concern_id"], first["batch_id"], first["batch_size"]) == ("safe", "I25", "b7", 2)
    assert first["id"] != second["id"]


def test_ids_are_those_of_the_batch_command(tmp_path: Path) -> None:
    file = write(tmp_path / "b7.jsonl", bare_case(1, concern_id="I25"), bare_case(2, concern_id="I25"))
    scored = [case.event_id for source in event_files([file]) for case in cases_of(source, SUITE, None) if isinstance(case, BatchCase)]
    assert [document["id"] for document in documents(file)] == scored


def test_the_same_file_twice_is_the_same_events(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"))
    assert sent(file) == sent(file)


def test_an_event_of_another_kind_is_sent_as_it_is(tmp_path: Path) -> None:
    event = {"kind": "selftest", "case": "c1"}
    (record,) = sent(write(tmp_path / "x.jsonl", event))
    assert orjson.loads(record.value) == event


def test_a_trace_gets_its_kind_and_an_id_that_its_outputs_decide(tmp_path: Path) -> None:
    trace = {"traceId": "t1", "outputs": {"hl7v2": {"content": "MSH|"}}}
    annotated = trace | {"annotations": [{"reviewerId": "a"}], "kind": "trace"}
    changed = trace | {"outputs": {"hl7v2": {"content": "MSH|^"}}}
    first, same, other = (orjson.loads(record.value) for record in sent(write(tmp_path / "x.jsonl", trace, annotated, changed)))
    assert first["kind"] == "trace"
    assert first["id"] == same["id"] != other["id"]
    assert all(record.topic == SETTINGS.topics.traces for record in sent(tmp_path / "x.jsonl"))


def test_an_id_of_ones_own_is_kept(tmp_path: Path) -> None:
    (document,) = documents(write(tmp_path / "b.jsonl", bare_case(1, concern_id="c", id="mine")))
    assert document["id"] == "mine"


def test_a_declared_size_is_not_touched(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c", batch_size=9), bare_case(2, concern_id="c"))
    assert [document.get("batch_size") for document in documents(file)] == [9, None]


def test_a_partial_batch_declares_no_size(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"))
    assert "batch_size" not in documents(file, partial=True)[0]


def test_a_repeated_case_counts_once_in_the_size(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"), bare_case(1, concern_id="c"), bare_case(2, concern_id="c"))
    assert {document["batch_size"] for document in documents(file)} == {2}


def test_a_batch_over_several_files_has_the_size_of_all(tmp_path: Path) -> None:
    files = [write(tmp_path / f"part{n}.jsonl", bare_case(n, concern_id="c", batch_id="b")) for n in (1, 2)]
    assert {document["batch_size"] for document in documents(*files)} == {2}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (bare_case(2), "name another concern than its folder, and others name none; add concern_id"),
        (bare_case(2, concern_id="c", output={"summary": 5, "signals": [CANARY]}), "output.summary is not a string"),
        ({"kind": CANARY}, "kind_unknown at kind"),
        (
            {"resourceType": "Patient", "gender": CANARY},
            'a FHIR resource is not an event; put it into a trace: {"traceId": "…", "outputs": {"fhir": {"content": …}}}',
        ),
        ("{broken", "is not valid JSON"),
        ("[]", "is not a case object"),
    ],
)
def test_one_bad_line_stops_all_and_is_named_without_its_text(tmp_path: Path, bad: Any, why: str) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"), bad)
    with pytest.raises(ConfigError, match=r"^nothing was sent: ") as caught:
        outgoings(file).check()
    assert f"{file}, line 2" in str(caught.value)
    assert why in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_file_that_changes_between_the_passes_is_noticed(tmp_path: Path) -> None:
    file = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"))
    every = outgoings(file)
    every.check()
    write(file, "{broken")
    with pytest.raises(ConfigError, match="has changed"):
        list(every.events())


def test_a_pipe_is_copied_so_that_it_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    text = json.dumps(bare_case(1, concern_id="c", batch_id="b")) + "\n" + json.dumps(bare_case(2))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    with twice_readable([Path("-")]) as (paths, names):
        assert paths[0].stat().st_mode & 0o077 == 0, "events may be clinical text"
        every = Outgoings(SETTINGS, load_all(), event_files(paths, names), names, Way(None))
        with pytest.raises(ConfigError, match="standard input, line 2"):
            every.check()
    assert not paths[0].exists()


def test_every_sample_can_be_sent() -> None:
    every = outgoings(samples())
    checked = every.check()
    assert checked.events == sum(checked.cases.values()) >= 40
    assert checked.topics == {SETTINGS.topics.generations}
    assert len(list(every.events())) == checked.events


def test_completing_twice_changes_nothing(tmp_path: Path) -> None:
    (file,) = event_files([write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"))])
    once = completed(bare_case(1, concern_id="c"), SafeCase, file, SUITE)
    assert completed(once, SafeCase, file, SUITE) == once


def test_a_trace_without_outputs_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="outputs is missing; add it"):
        sent(write(tmp_path / "x.jsonl", {"traceId": "t1"}))


def test_summaries_are_sent_under_the_ids_of_the_batch_command_and_with_their_kind(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", summary(), summary("mine"), summary(kind="summary", generated="Other."))
    found = documents(path)
    cases = [case for source in event_files([path]) for case in cases_of(source, SUMMARY, None)]
    assert [document["id"] for document in found] == [case.event_id for case in cases if isinstance(case, BatchCase)]
    assert {document["kind"] for document in found} == {"summary"}


def test_a_batch_that_a_file_gives_to_a_kind_without_batches_travels_in_its_correlation(tmp_path: Path) -> None:
    (document,) = documents(write(tmp_path / "a.json", {"batch_id": "B", "cases": [summary("a")]}))
    assert document["correlation"] == {"batch_id": "B"}


def test_packed_files_and_standard_input_can_be_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip
    import io
    import sys

    packed = gzip.compress(json.dumps(bare_case(1, concern_id="c", batch_id="mine")).encode(), mtime=0)
    file = tmp_path / "b.jsonl.gz"
    file.write_bytes(packed)
    (of_file,) = documents(file, partial=True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    with twice_readable([Path("-")]) as (paths, names):
        every = Outgoings(SETTINGS, load_all(), event_files(paths, names), names, Way(None, partial=True))
        every.check()
        (sent_event,) = every.events()
    assert orjson.loads(sent_event.value) == of_file


def test_standard_input_has_no_name_that_could_be_a_batchs(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(bare_case(1, concern_id="c")).encode())))
    with twice_readable([Path("-")]) as (paths, names), pytest.raises(ConfigError, match="batch_id is missing; add it"):
        Outgoings(SETTINGS, load_all(), event_files(paths, names), names, Way(None)).check()


def test_a_file_that_is_cut_off_stops_all(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress("".join(json.dumps(bare_case(number, concern_id="c")) + "\n" for number in range(50)).encode(), mtime=0)
    (tmp_path / "b.jsonl.gz").write_bytes(packed[:-20])
    with pytest.raises(ConfigError, match=r"^nothing was sent: .*b\.jsonl\.gz is compressed and cannot be decompressed \(cut off\)"):
        outgoings(tmp_path / "b.jsonl.gz").check()


@pytest.mark.parametrize("envelope", ["none", "binary", "structured"])
def test_a_case_that_is_nested_too_deeply_to_be_written_is_named(tmp_path: Path, envelope: str) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    path = write(tmp_path / "b.jsonl", bare_case(1, concern_id="c"), bare_case(2, concern_id="c") | {"deep": deep})
    with pytest.raises(ConfigError, match=r"b\.jsonl, line 2:? nested deeper than JSON can be written"):
        outgoings(path, envelope=envelope).check()


def test_a_kind_that_two_suites_score_goes_where_the_one_reads_that_names_it_first(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"traceId": "t1", "outputs": {}}, {"kind": "judge_request", "trace_id": "t1", "asked": {}, "validated": VALIDATED})
    assert [event.topic for event in sent(path)] == [SETTINGS.topics.traces, SETTINGS.topics.judge]
