import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from touchstone.ops.batch.packing import is_problem, packed, unpacked
from touchstone.schemas.result import Failure, FileRef, Finding, NotChecked, Problem, ScoreResult, Source, SourceRef

PLACE = FileRef(file="a.jsonl", place="line 1")
FINDING = Finding(severity="minor", code="late", path="a.b", message="naïve 痛\n")


def result(source: Source = PLACE, **details: Any) -> ScoreResult:
    return ScoreResult(
        result_id="r1",
        event_id="e1",
        case_id=None,
        kind="toy",
        suite="toy",
        suite_version="1",
        config_digest="0" * 16,
        label="unscored",
        values={"score": 1 / 3, "whole": 2.0},
        findings=(FINDING, FINDING.model_copy(update={"suggestion": "do it"})),
        failures=(Failure(component="a", kind="input", code="none"),),
        components_missing=("a", "b"),
        not_checked=(NotChecked(check="c", reason="d"),),
        details=details,
        attributes={"batch_size": 3, "archetype": None},
        source=source,
        scored_at=datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
        duration_ms={"score": 0.125},
    )


ENTRIES = [
    result(parts=[1, {"deep": None}]),
    result(SourceRef(topic="t", partition=0, offset=7)),
    result(large=2**80),
    result(text="\ud800"),
    result(keys={1: "one"}),
    Problem(source=PLACE, what="is empty", kind="unknown", format="fhir", findings=(FINDING,)),
    Problem(source=PLACE, what="half of a pair: \ud800"),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_comes_back_as_it_was(entry: ScoreResult | Problem) -> None:
    one = packed(entry)
    event_id, line = one.event_id, one.line
    back = unpacked(line)
    assert back == entry
    assert type(back.source) is type(entry.source)
    assert (event_id, is_problem(line)) == (("e1", False) if isinstance(entry, ScoreResult) else (None, True))
    assert b"\n" not in line


@pytest.mark.parametrize("entry", [ENTRIES[0], ENTRIES[1], ENTRIES[5]])
def test_what_comes_back_is_written_and_sent_as_what_was_packed(entry: ScoreResult | Problem) -> None:
    back = unpacked(packed(entry).line)
    assert back.model_dump_json() == entry.model_dump_json()
    assert pickle.loads(pickle.dumps(back)) == entry
    assert back.model_copy(update={"findings": ()}).findings == ()
    assert hash(back.findings) == hash(entry.findings)
