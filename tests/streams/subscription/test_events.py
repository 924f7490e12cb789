import json

import pytest

from tests.streams.subscription.made import P0, R0, event, read, record, report_bytes, result_bytes
from touchstone.schemas.prevalence import PREVALENCE_TYPE
from touchstone.scorers.reporting.view import Group
from touchstone.scorers.suite import unknown_suite
from touchstone.streams.subscription.events import PLACES_MAX, Event, Filter, Outcomes
from touchstone.streams.subscription.window import Seen, Window


def test_a_result_is_passed_on_as_the_same_bytes() -> None:
    value = result_bytes("a", label="Fail", findings=[{"severity": "major", "code": "x", "path": "p", "message": "m", "suggestion": None}])
    found = read(record(R0, 7, value))
    assert isinstance(found, Event)
    assert (found.value, found.type, found.suite, found.label, found.concern, found.batch) == (value, "touchstone.result", "one", "Fail", "c", "b")
    assert (found.key, found.codes, found.fails) == ("r-a", ("x",), 1)


def test_a_report_has_its_own_type_and_the_suite_that_the_projector_names() -> None:
    found = read(record(P0, 0, report_bytes("b1"), "two:v1:result", ce_source="/touchstone/projector/two"))
    assert isinstance(found, Event)
    assert (found.type, found.suite, found.label, found.batch, found.key) == ("two:v1:result", "two", None, "b1", "p-b1")


def test_a_prevalence_is_an_event_of_its_suite_and_no_batch() -> None:
    found = read(record(P0, 0, json.dumps({"subject": "two/missing", "seen": {"count": 1, "total": 2}}).encode(), PREVALENCE_TYPE))
    assert isinstance(found, Event)
    assert (found.type, found.suite, found.key, found.is_result, found.is_report) == (PREVALENCE_TYPE, "two", "two/missing", False, False)
    window = Window({P0: 0}, 10, 1_000_000)
    window.add(Seen("p0:1", found))
    assert (len(window), len(window.batches)) == (1, 0)


def test_a_ledger_record_is_counted_and_not_sent() -> None:
    entries = [{"outcome": "dead", "reason": "not_json", "ranges": [[1, 3], [7, 7]]}]
    value = json.dumps({"suite": "one", "suite_version": "1", "config_digest": "d", "topic": "t", "partition": 0, "entries": entries}).encode()
    found = read(record(R0, 0, value, "touchstone.ledger"))
    assert isinstance(found, Outcomes)
    assert dict(found.counts) == {("dead", "not_json"): 4}
    assert (found.topic, found.partition, found.places) == ("t", 0, (("dead", "not_json", 1, 3), ("dead", "not_json", 7, 7)))


def test_of_a_long_ledger_record_the_latest_places_are_kept_and_every_event_is_counted() -> None:
    ranges = [[number * 2, number * 2] for number in range(PLACES_MAX + 5)]
    entries = [{"outcome": "skipped", "reason": "other_kind", "ranges": [[900, 999]]}, {"outcome": "dead", "reason": "not_json", "ranges": ranges}]
    value = json.dumps({"suite": "one", "suite_version": "1", "config_digest": "d", "topic": "t", "partition": 0, "entries": entries}).encode()
    found = read(record(R0, 0, value, "touchstone.ledger"))
    assert isinstance(found, Outcomes)
    assert found.counts["dead", "not_json"] == len(ranges)
    assert [first for _, _, first, _ in found.places] == [first for first, _ in ranges[-PLACES_MAX:]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"1",
        b'{"suite": 1}',
        result_bytes("a", suite=7),
        result_bytes("a", suite="x" * 600),
        result_bytes("a", values={"v": "1"}),
        result_bytes("a", findings=3),
        result_bytes("a", findings={}),
        result_bytes("a", failures={}),
        result_bytes("a", failures=0),
        result_bytes("a", label="constructor"),
        result_bytes("a", label=["Pass"]),
    ],
)
def test_a_record_that_is_no_event_is_nothing(value: bytes | None) -> None:
    assert read(record(R0, 0, value)) is None


@pytest.mark.parametrize("kind", ["", "other.event", "touchstone.result\nid: r0.9"])
def test_a_record_of_another_type_on_the_results_topic_is_nothing(kind: str) -> None:
    assert read(record(R0, 0, result_bytes("a"), kind)) is None


def test_a_type_that_would_break_the_stream_is_nothing() -> None:
    assert read(record(P0, 0, report_bytes("b"), "a:v1:result\n\ndata: x")) is None


def test_the_batch_of_a_result_is_what_its_suite_says() -> None:
    from dataclasses import replace

    suite = replace(unknown_suite("one", "1"), group=lambda result: Group("mine", f"{result.event_id}!"))
    found = read(record(R0, 0, result_bytes("a")), {"one": suite})
    assert isinstance(found, Event)
    assert (found.concern, found.batch) == ("mine", "a!")


def test_a_suite_that_cannot_group_a_result_keeps_nobody_from_seeing_it() -> None:
    from dataclasses import replace

    found = read(record(R0, 0, result_bytes("a")), {"one": replace(unknown_suite("one", "1"), group=lambda _: 1 / 0)})
    assert isinstance(found, Event)
    assert found.batch is None


@pytest.mark.parametrize(
    ("chosen", "admitted"),
    [
        (Filter(), True),
        (Filter(types=frozenset({"touchstone.result", "x"})), True),
        (Filter(types=frozenset({"x"})), False),
        (Filter(suites=frozenset({"one"}), labels=frozenset({"Pass"}), concerns=frozenset({"c"}), batches=frozenset({"b"})), True),
        (Filter(suites=frozenset({"one"}), labels=frozenset({"Fail"})), False),
        (Filter(suites=frozenset({"two"})), False),
        (Filter(concerns=frozenset({"other"})), False),
        (Filter(batches=frozenset({"other"})), False),
        (Filter(scope=frozenset({"one"})), True),
        (Filter(scope=frozenset({"two"})), False),
        (Filter(suites=frozenset({"one"}), scope=frozenset({"two"})), False),
        (Filter(scope=frozenset()), False),
    ],
)
def test_a_filter_admits_what_all_of_its_parts_admit(chosen: Filter, admitted: bool) -> None:
    assert chosen.admits(event("a")) is admitted


def test_an_event_of_no_known_suite_is_for_those_who_may_see_all() -> None:
    found = read(record(P0, 0, report_bytes("b"), "strange"))
    assert isinstance(found, Event)
    assert found.suite is None
    assert Filter().admits(found)
    assert not Filter(scope=frozenset({"one"})).admits(found)
