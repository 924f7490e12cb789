from datetime import UTC, datetime
from typing import Any

import pytest

from touchstone.schemas.result import FileRef, Finding, ScoreResult, SourceRef
from touchstone.scorers.reporting.equality import differences

CANARY = "zanzibar-canary"


def result(event_id: str = "e1", **changes: Any) -> ScoreResult:
    facts: dict[str, Any] = {
        "result_id": f"r-{event_id}",
        "event_id": event_id,
        "case_id": "c1",
        "kind": "toy",
        "suite": "toy",
        "suite_version": "1.0",
        "config_digest": "0" * 16,
        "label": "Pass",
        "values": {"score": 0.5},
        "details": {"parts": [{"weight": 0.25}]},
        "attributes": {"batch_id": "b1", "batch_size": 3},
        "source": SourceRef(topic="t", partition=0, offset=7),
        "scored_at": datetime(2026, 1, 1, tzinfo=UTC),
        "duration_ms": {"score": 1.0},
    }
    return ScoreResult(**(facts | changes))


def test_where_and_when_a_case_was_scored_is_no_difference() -> None:
    elsewhere = result(source=FileRef(file="a.json"), scored_at=datetime(2027, 1, 1, tzinfo=UTC), duration_ms={}, attributes={"batch_id": "b1"})
    assert differences([result()], [elsewhere]) == []


def test_the_order_of_results_is_no_difference() -> None:
    assert differences([result("a"), result("b")], [result("b"), result("a")]) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label": "Fail"}, "e1: label (Pass live, Fail from files)"),
        ({"values": {"score": 0.75}}, "e1: values.score (0.5 live, 0.75 from files)"),
        ({"values": {}}, "e1: values.score (in one of them only)"),
        ({"findings": (Finding(severity="major", code="x", path="p", message=CANARY),)}, "e1: findings.0 (in one of them only)"),
        ({"details": {"parts": [{"weight": CANARY}]}}, "e1: details.parts.0.weight"),
        ({"config_digest": "1" * 16}, "e1: config_digest"),
        ({"attributes": {"batch_id": CANARY}}, "e1: attributes.batch_id"),
    ],
)
def test_a_difference_is_told_by_its_place_and_quotes_no_text(changes: dict[str, Any], told: str) -> None:
    assert differences([result()], [result(**changes)]) == [told]


def test_numbers_may_differ_by_the_tolerance_and_no_more() -> None:
    near = result(values={"score": 0.5009}, details={"parts": [{"weight": 0.2509}]})
    assert differences([result()], [near], 1e-3) == []
    assert differences([result()], [near], 1e-4) == ["e1: values.score (0.5 live, 0.5009 from files), details.parts.0.weight (0.25 live, 0.2509 from files)"]


def test_an_event_that_one_of_them_lacks_is_a_difference() -> None:
    assert differences([result("a")], [result("b")]) == ["a: only live", "b: only from files"]


def test_an_event_that_was_scored_in_two_ways_is_told() -> None:
    assert differences([result(), result(result_id="other")], [result()]) == ["e1: scored in two ways (live)"]


def test_of_a_case_that_differs_everywhere_the_rest_is_counted() -> None:
    other = result(label="Fail", values={"score": 1.0}, kind="b", case_id="x", details={})
    (line,) = differences([result()], [other])
    assert line.endswith("and 2 more")
