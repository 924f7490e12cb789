"""The steps of a generation, as producers write them."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.store.histories import AT, add, scored
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import served
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api import models
from touchstone.ops.web.api.spans import SPANS_MAX, spans_of

FULL, READER = "full-0123456789abcd", "reader-0123456789"
OTLP = {
    "name": "chat gpt-4o", "startTimeUnixNano": "1770215400000000000", "endTimeUnixNano": "1770215406482000000", "status": {"code": "STATUS_CODE_ERROR"},
    "attributes": [
        {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}}, {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "812"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 64}}, {"key": "gen_ai.input.messages", "value": {"stringValue": CANARY}},
    ],
}  # fmt: skip
FLAT = {
    "name": "plan", "start_time": "2026-02-04T14:30:00Z", "end_time": "2026-02-04T14:30:01.5+00:00", "status": "OK",
    "attributes": {"llm.token_count.prompt": 5},
}  # fmt: skip


def test_spans_of_opentelemetry_and_of_exporters_are_read() -> None:
    (otlp, flat, step), total = spans_of({"spans": [OTLP, FLAT], "timing": {"total": 18647}}, has_text=True)
    assert otlp == {
        "name": "chat gpt-4o", "started_at": "2026-02-04T14:30:00.000Z", "duration_ms": 6482.0, "status": "error", "model": "gpt-4o",
        "input_tokens": 812, "output_tokens": 64,
    }  # fmt: skip
    assert (flat["started_at"], flat["duration_ms"], flat["status"], flat["input_tokens"]) == ("2026-02-04T14:30:00.000Z", 1500.0, "ok", 5)
    assert (step["name"], step["duration_ms"], step["started_at"], total) == ("total", 18647.0, None, 3)


def test_without_the_right_to_text_only_names_of_the_specification_are_shown() -> None:
    shown, _ = spans_of({"spans": [OTLP], "timing": {"personaGeneration": 6482, CANARY: 1}}, has_text=False)
    assert [(one["name"], one["model"]) for one in shown] == [(None, None), ("personaGeneration", None), (None, None)]
    assert shown[0]["duration_ms"] == 6482.0


@pytest.mark.parametrize(
    "span",
    [{"duration_ms": -1}, {"duration_ms": "5"}, {"duration_ms": True}, {"duration_ms": 1e300}, {"start_time": "yesterday", "end_time": "today"},
     {"startTimeUnixNano": 5, "endTimeUnixNano": 3}, {"startTimeUnixNano": "9" * 40}, {"start_time": {}, "status": []}, {"startTimeUnixNano": -1}],
)  # fmt: skip
def test_what_cannot_be_read_is_null_and_never_a_number(span: dict[str, Any]) -> None:
    ((shown,), total) = spans_of({"spans": [span]}, has_text=True)
    assert (shown["duration_ms"], shown["status"], total) == (None, None, 1)


KEYS = ["spans", "timing", "name", "status", "code", "attributes", "key", "value", "start_time", "endTimeUnixNano", "duration_ms"]
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(max_size=5)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), max_leaves=12)


@given(JSON, st.booleans())
def test_whatever_a_producer_writes_has_the_shape_of_the_document(document: Any, has_text: bool) -> None:
    shown, total = spans_of({"spans": [document, document], "timing": document} if not isinstance(document, dict) else document, has_text=has_text)
    assert len([models.Span.model_validate(orjson.loads(orjson.dumps(one))) for one in shown]) == total


def test_many_spans_are_counted_and_the_first_are_shown() -> None:
    shown, total = spans_of({"spans": [FLAT] * 1_000, "timing": {"total": 1}}, has_text=True)
    assert (len(shown), total) == (SPANS_MAX, 1_001)


async def test_a_case_tells_its_steps_and_one_that_is_not_kept_does_not_say_that_it_had_none(tmp_path: Path) -> None:
    with history(tmp_path) as opened:
        store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
        add(store, scored("t-1", 6, suite="two", kind="trace", case="trace-1"))
        store.close()
        document = {"kind": "trace", "id": "t-1", "traceId": "trace-1", "outputs": {}, "spans": [OTLP | {"name": CANARY}], "timing": {"total": 7}}
        opened.open_archive().keep("t-1", "trace", "trace-1", orjson.dumps(document), at=AT)
        async with served(sources=opened, tokens=(f"all/text:{FULL}", f"all:{READER}")) as web:
            seen = {token: (await web.get("/api/cases/t-1", token)).json() for token in (FULL, READER)}
            none, unknown = [(await web.get(f"/api/cases/{event_id}", FULL)).json() for event_id in ("e-0", "e-1")]
    assert [[span["name"] for span in case["spans"]] for case in seen.values()] == [[CANARY, "total"], [None, "total"]]
    assert [span["duration_ms"] for span in seen[READER]["spans"]] == [6482.0, 7.0]
    assert (none["spans"], none["spans_total"], unknown["spans"], unknown["spans_total"]) == ([], 0, None, None)
    assert CANARY not in str(seen[READER])
    assert "gen_ai.input.messages" not in str(seen[FULL])
