import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.streams.results_topic import BEGAN, SOURCE, TOPIC, Stored, ledger, projection, records, result
from touchstone.schemas.result import Failure, ScoreResult
from touchstone.scorers.reporting import Group
from touchstone.scorers.safe import SUITE
from touchstone.scorers.suite import unknown_suite
from touchstone.streams.account.batch_reports import BatchState, encode_report, is_final, payload, summarise
from touchstone.streams.account.intervals import Interval
from touchstone.streams.account.projection import AccountKey, BatchKey, project, read_result, restore
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE


def test_results_and_ledger_records_become_rows_and_intervals() -> None:
    told = projection(result(event="a", offset=4), result(event="b", offset=5), ledger(("skipped", "other_kind", ((0, 3), (6, 6)))))
    assert [row.event_id for row in told.results] == ["a", "b"]
    assert told.reached == {0: 3}
    assert sorted(told.outcomes[AccountKey("safe_v0", "0.1", SOURCE, "", 0)]) == [
        Interval(0, 3, "skipped", "other_kind"),
        Interval(4, 5, "scored"),
        Interval(6, 6, "skipped", "other_kind"),
    ]


def test_a_row_gives_back_the_event_it_was_made_of() -> None:
    event = result(details={"CR": {"found": ["fieber"], "missing": ["ausschlag ß"]}}, size=3)
    event = event.model_copy(update={"failures": (Failure(component="AC", kind="defect", code="boom"),), "correlation": {"run": "7"}})
    (record,) = records(event)
    assert record.value is not None
    assert restore(read_result(record.value)) == event


def test_a_row_gives_its_moment_in_utc() -> None:
    (record,) = records(result())
    assert record.value is not None
    elsewhere = {**json.loads(record.value), "scored_at": "2026-03-01T12:00:00+05:00"}
    assert restore(read_result(json.dumps(elsewhere).encode())).scored_at.isoformat() == "2026-03-01T07:00:00+00:00"


BAD = {
    "no_type": Stored(0, b"{}", []),
    "unknown_type": Stored(0, b"{}", [("ce_type", b"else.where")]),
    "empty": Stored(0, None, [("ce_type", RESULT_TYPE.encode())]),
    "invalid_result": Stored(0, b'{"result_id": 3}', [("ce_type", RESULT_TYPE.encode())]),
    "invalid_ledger": Stored(0, b"\xff\xfe", [("ce_type", LEDGER_TYPE.encode())]),
}


@pytest.mark.parametrize("code", BAD)
def test_a_record_that_says_nothing_is_counted_and_passed_over(code: str) -> None:
    good = records(result(), first=1)
    told = project(TOPIC, {}, {0: [BAD[code], *good]})
    assert told.rejected == {code: 1}
    assert len(told.results) == 1
    assert told.reached == {0: 2}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"result_id": "x" * 600}, "out_of_bounds"),
        ({"event_id": "a\u0000b"}, "out_of_bounds"),
        ({"source": {"topic": "t", "partition": 0, "offset": 2**63}}, "out_of_bounds"),
        ({"source": {"topic": "t", "partition": 0, "offset": 10**400}}, "out_of_bounds"),
        ({"scored_at": "0001-01-01T00:00:00+14:00"}, "out_of_bounds"),
        ({"scored_at": "9999-12-31T23:59:59-14:00"}, "out_of_bounds"),
        ({"values": {"CR": 1.7e308}}, "out_of_bounds"),
        ({"values": {"CR": float("nan")}}, "invalid_result"),
        ({"duration_ms": {"score": float("inf")}}, "not_finite"),
        ({"source": {"topic": "t", "partition": 2**40, "offset": 1}}, "out_of_bounds"),
    ],
)
def test_what_a_database_would_refuse_is_refused_before(change: dict[str, object], code: str) -> None:
    (record,) = records(result())
    assert record.value is not None
    document = json.loads(record.value) | change
    assert project(TOPIC, {}, {0: [replace(record, value=json.dumps(document).encode())]}).rejected == {code: 1}


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {"concern_id": "x" * 600, "batch_id": "b"}},
        {"attributes": {}, "correlation": {"batch_id": "y" * 600}},
        {"attributes": {}, "correlation": {"batch_id": "a\u0000b"}},
    ],
)
def test_a_batch_that_no_column_holds_costs_the_batch_and_not_the_result(change: dict[str, object]) -> None:
    (record,) = records(result())
    assert record.value is not None
    told = project(TOPIC, {}, {0: [replace(record, value=json.dumps(json.loads(record.value) | change).encode())]})
    assert [row.batch for row in told.results] == [None]
    assert not told.rejected
    assert told.outcomes


@pytest.mark.parametrize(
    "group", [lambda _: Group("toys", None), lambda _: Group("toys", "top", "5"), lambda _: ("toys", "top"), lambda one: one.attributes["absent"]]
)
def test_a_suite_that_groups_wrongly_holds_up_nobody(group: Callable[[ScoreResult], Any]) -> None:
    (record,) = records(result())
    suite = replace(unknown_suite("safe_v0", "0.1"), group=group)
    told = project(TOPIC, {}, {0: [record]}, {"safe_v0": suite})
    assert len(told.results) == 1
    assert told.results[0].batch_size is None


def test_a_ledger_range_that_runs_backwards_is_refused() -> None:
    record = records(ledger(("dead", "x", ((5, 4),))))
    assert project(TOPIC, {}, {0: record}).rejected == {"invalid_ledger": 1}


def test_fields_of_a_newer_version_are_passed_over() -> None:
    (record,) = records(result())
    assert record.value is not None
    newer = replace(record, value=json.dumps(json.loads(record.value) | {"mood": "good"}).encode())
    assert len(project(TOPIC, {}, {0: [newer]}).results) == 1


def test_a_replay_has_the_same_content_and_another_score_has_not() -> None:
    first, replay, other = (projection(event).results[0] for event in (result(), result(seconds=9, offset=7), result(score=0.5)))
    assert first.content == replay.content
    assert first.content != other.content


KEY = BatchKey("safe_v0", "0.1", "d1", "I25", "b1")
STATE = BatchState(KEY.report_id, KEY, revision=3, emitted_revision=2, emitted_final=False, changed_at=100.0, interval_s=1.0)
CASES = [("Pass", '{"CR":1.0}', BEGAN, None), ("Fail", '{"CR":0.1}', BEGAN, 3), ("Review", '{"CR":0.7}', BEGAN, 3)]


def test_the_payload_is_the_specifications_and_ours() -> None:
    document = payload(STATE, summarise(CASES), final=True, suite=SUITE)
    assert document == {
        "concern_id": "I25",
        "batch_id": "b1",
        "summary": {"total_cases": 3, "pass": 1, "review": 1, "fail": 1, "overall_pass_rate": 1 / 3},
        "timestamp": "2026-01-02T03:04:05Z",
        "report_id": KEY.report_id,
        "final": True,
        "mean_scores": {"CR": 0.6},
    }


def test_the_event_bears_the_specifications_name_and_an_id_of_its_content() -> None:
    document = payload(STATE, summarise(CASES), final=True, suite=SUITE)
    key, value, headers = encode_report(STATE, document, SUITE)
    named = dict(headers)
    assert key == KEY.report_id.encode()
    assert json.loads(value) == document
    assert named["ce_type"] == b"safe:v0:result"
    reordered = payload(STATE, summarise(CASES[::-1]), final=True, suite=SUITE)
    assert named["ce_id"] == dict(encode_report(STATE, reordered, SUITE)[2])["ce_id"]
    assert named["ce_id"] != dict(encode_report(STATE, document | {"final": False}, SUITE)[2])["ce_id"]


def test_a_case_that_could_not_be_scored_is_no_zero_but_fills_the_batch() -> None:
    summary = summarise([("Pass", '{"CR":1.0}', BEGAN, 2), ("unscored", "{}", BEGAN, 2)])
    told = payload(STATE, summary, final=True, suite=SUITE)["summary"]
    assert told == {"total_cases": 1, "pass": 1, "review": 0, "fail": 0, "overall_pass_rate": 1.0}
    assert is_final(STATE, summary, now=100.0, quiet_s=60)


def test_a_batch_is_final_at_its_declared_size_or_when_it_has_been_quiet() -> None:
    assert is_final(STATE, summarise(CASES), now=100.0, quiet_s=60)
    assert not is_final(STATE, summarise(CASES[:2]), now=159.0, quiet_s=60)
    assert is_final(STATE, summarise(CASES[:2]), now=160.0, quiet_s=60)


def test_more_cases_than_declared_leave_quiet_to_tell() -> None:
    assert not is_final(STATE, summarise([*CASES, CASES[0]]), now=100.0, quiet_s=60)
