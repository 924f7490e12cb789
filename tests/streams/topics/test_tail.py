import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from tests.streams.fakes import FakeRecord, safe_event
from tests.streams.topics.test_dlq import CANARY, letter_record, resolution_record
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.schemas.settings.house import TopicSettings
from touchstone.scorers.safe import SUITE
from touchstone.scorers.summary import SUITE as SUMMARY
from touchstone.streams.topics.tail import Describer
from touchstone.streams.wire.codec import RESULT_TYPE

TOPICS = TopicSettings(generations="generations", results="results", reports="reports", dead="dead")


def _ungrouped(result: ScoreResult) -> None:
    raise LookupError(result.details)


BROKEN = replace(SUITE, name="broken", cases={}, columns=(), group=_ungrouped, report_type="broken:v1:result")


@pytest.fixture
def describer() -> Describer:
    return Describer(TOPICS, {suite.name: suite for suite in (SUITE, SUMMARY, BROKEN)}, 1_048_576)


def result_record(**changes: Any) -> FakeRecord:
    facts: dict[str, Any] = {
        "result_id": "r1",
        "event_id": "e1",
        "case_id": "T-1",
        "kind": "safe",
        "suite": "safe_v0",
        "suite_version": "1",
        "config_digest": "d",
        "label": "Review",
        "values": {"CR": 0.5, "AH": 1.0},
        "details": {"CR": {"missing": [CANARY]}},
        "attributes": {"concern_id": "I25", "batch_id": "b1"},
        "source": SourceRef(topic="generations", partition=2, offset=7),
        "scored_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    result = ScoreResult(**(facts | changes))
    value = result.model_dump_json().encode()
    return FakeRecord(0, value, topic="results", key=b"r1", headers=[("ce_type", RESULT_TYPE.encode())], timestamp=1_767_268_800_000)


def test_a_result_shows_suite_label_case_values_and_batch(describer: Describer) -> None:
    seen = describer.describe(result_record())
    assert (seen.what, seen.suite, seen.label) == ("result", "safe_v0", "Review")
    assert "T-1  CR 0.50 AH 1.00  I25/b1" in seen.text
    assert seen.at == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_summary_is_called_by_its_event_not_by_its_gold(describer: Describer) -> None:
    changes = {"suite": "summary_loss", "case_id": "gold-1", "values": {"loss": 0.25, "recall": 0.5, "facts_loss": 0.125}, "attributes": {"model": "m"}}
    by_name = describer.describe(result_record(**changes, event_id="e-7", correlation={"batch_id": "b9"})).text
    assert "  e-7  Loss 0.25 Facts 0.12  m/b9" in by_name
    by_machine = describer.describe(result_record(**changes, event_id="7c95680d-4c49-5b57-a4da-4ece13fbb018")).text
    assert by_machine.endswith("  gold-1 7c95680d  Loss 0.25 Facts 0.12")


@pytest.mark.parametrize("suite", ["broken", "theirs"])
def test_a_suite_that_names_no_columns_or_cannot_group_or_is_not_installed_is_shown_by_its_first_values(describer: Describer, suite: str) -> None:
    seen = describer.describe(result_record(suite=suite))
    assert (seen.what, seen.suite) == ("result", suite)
    assert "T-1  CR 0.50 AH 1.00" in seen.text


def test_no_details_reach_the_watcher(describer: Describer) -> None:
    seen = describer.describe(result_record())
    assert CANARY not in seen.text + json.dumps(seen.as_json())


def test_an_input_event_shows_kind_and_ids_only(describer: Describer) -> None:
    event = safe_event("e9", output={"summary": CANARY})
    seen = describer.describe(FakeRecord(0, orjson.dumps(event)))
    assert (seen.what, seen.facts["kind"], seen.facts["event_id"], seen.facts["case_id"]) == ("event", "safe", "e9", "T-1")
    assert CANARY not in seen.text + json.dumps(seen.as_json())


def test_an_unreadable_input_event_shows_its_code(describer: Describer) -> None:
    seen = describer.describe(FakeRecord(0, CANARY.encode()))
    assert seen.text == f"not_json ({len(CANARY)} bytes)"


def test_dead_letters_and_resolutions_are_told_apart(describer: Describer) -> None:
    dead, done = describer.describe(letter_record(0)), describer.describe(resolution_record(1, "0:0"))
    assert (dead.what, dead.facts["code"]) == ("dead", "not_json")
    assert CANARY not in dead.text
    assert (done.what, done.text) == ("resolution", "redriven 0:0")


def test_a_report_shows_its_counts(describer: Describer) -> None:
    document = {"concern_id": "I25", "batch_id": "b", "summary": {"total_cases": 3, "pass": 1, "review": 1, "fail": 1}, "final": True}
    seen = describer.describe(FakeRecord(0, orjson.dumps(document), topic="reports", headers=[("ce_type", b"safe:v0:result")]))
    assert seen.text == "safe:v0:result  I25/b  3 cases: 1 pass, 1 review, 1 fail (final)"
    assert seen.suite == "safe_v0"


def test_a_report_of_any_suite_shows_what_its_counts_have(describer: Describer) -> None:
    summary = {"total_cases": 4, "pass": 1, "review": 0, "fail": 1, "warn": 2, "unscored": 3}
    document = {"concern_id": "C", "batch_id": "b", "summary": summary, "final": False}
    for kind, suite in ((b"summary_loss:v3:result", "summary_loss"), (b"theirs:v2:result", "theirs")):
        seen = describer.describe(FakeRecord(0, orjson.dumps(document), topic="reports", headers=[("ce_type", kind)]))
        assert seen.text == f"{kind.decode()}  C/b  7 cases: 1 pass, 0 review, 1 fail, 2 warn, 3 not scored (so far)"
        assert seen.suite == suite


def test_ledger_records_tell_counts(describer: Describer) -> None:
    document = {"suite": "safe_v0", "topic": "g", "partition": 1, "entries": [{"outcome": "dead", "reason": "empty", "ranges": [[1, 3], [5, 5]]}]}
    seen = describer.describe(FakeRecord(0, orjson.dumps(document), topic="results", headers=[("ce_type", b"touchstone.ledger")]))
    assert seen.text.endswith("g[1]: 4 dead empty")


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b"null", b"\xff", b'{"values": 3, "suite": 1}', b'{"values": {"CR": "x"}}'])
@pytest.mark.parametrize("kind", [b"touchstone.result", b"touchstone.ledger", b"safe:v0:result", b"other"])
def test_somebody_elses_record_breaks_nothing(describer: Describer, value: bytes, kind: bytes) -> None:
    seen = describer.describe(FakeRecord(0, value, topic="results", headers=[("ce_type", kind)]))
    assert seen.what == "record"
