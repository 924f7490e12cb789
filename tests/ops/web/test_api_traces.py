"""Traces, feedback, text search, removal and runs over HTTP, against a real store and an archive in memory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.web.history import CANARY, history
from tests.ops.web.served import served
from touchstone.ops.web.api import models, run_models
from touchstone.ops.web.api.sources import Opened

READER, WRITER, ADMIN, OF_ONE = "reader-0123456789", "writer-0123456789", "admin-0123456789a", "of-one-0123456789"
TOKENS = (f"all:{READER}", f"all/text+annotate:{WRITER}", f"all/text+admin:{ADMIN}", f"one/text+annotate+admin:{OF_ONE}")
TRACE: dict[str, Any] = {
    "traceId": "eval-2026-02-04-abc123",
    "timestamp": "2026-02-04T14:30:00Z",
    "source": "production",
    "prompt": f"A record of {CANARY}",
    "testCaseId": "diabetes-001",
    "persona": {"name": CANARY, "age": 58},
    "outputs": {"fhir": {"content": '{"resourceType": "Bundle"}', "scores": {"format": 100}, "findings": []}, "hl7v2": {"content": "MSH|^~\\&|"}},
    "aggregateScores": {"format": 100, "overall": 82},
    "timing": {"personaGeneration": 6482, "total": 18647},
    "annotations": [],
}
EVAL = {name: value for name, value in TRACE.items() if name not in {"source", "annotations"}} | {"traceId": "eval-2"}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


@pytest.mark.parametrize("trace", [TRACE, EVAL], ids=["production", "eval"])
async def test_a_trace_is_created_once_and_comes_back_as_it_was_sent(opened: Opened, trace: dict[str, Any]) -> None:
    sent = json.dumps(trace, indent=1).encode()
    async with served(sources=opened) as web:
        answers = [await web.client.post("/api/traces", content=sent, headers={"content-type": "application/json"}) for _ in range(2)]
        assert [(answer.status_code, answer.json()["state"]) for answer in answers] == [(201, "created"), (200, "same")]
        assert (await web.client.post("/api/traces", json=trace | {"prompt": "another"})).status_code == 409
        assert (await web.get(f"/api/traces/{trace['traceId']}")).content == sent
        listed = (await web.get("/api/traces?limit=1")).json()
        models.Traces.model_validate(listed)
        assert (listed["traces"][0]["traceId"], listed["traces"][0]["source"]) == (trace["traceId"], trace.get("source"))
        rest = (await web.get(f"/api/traces?cursor={listed['next']}")).json()
        assert ([one["traceId"] for one in rest["traces"]], rest["next"]) == (["trace/0"], None)


async def test_a_trace_that_somebody_rated_is_otherwise_as_it_was_written(opened: Opened) -> None:
    sent = b'{ "traceId": "t" , "outputs":{}, "big": 12345678901234567890123, "fine":[1.10,{"x":0.12345678901234567891}], "u":"\\u00e9\\"}", "feedback" :null}'
    async with served(sources=opened) as web:
        assert (await web.client.post("/api/traces", content=sent, headers={"content-type": "application/json"})).status_code == 201
        await web.client.post("/api/feedback", json={"trace_id": "t", "rating": "up", "timestamp": "2026-01-01T00:00:00Z"})
        assert (await web.get("/api/traces/t")).content == (
            b'{"traceId":"t","outputs":{},"big":12345678901234567890123,"fine":[1.10,{"x":0.12345678901234567891}],"u":"\\u00e9\\"}",'
            b'"feedback":{"rating":"up","timestamp":"2026-01-01T00:00:00.000Z"},"annotations":[]}'
        )


@pytest.mark.parametrize("body", [[], {"traceId": "x"}, TRACE | {"traceId": 5}, TRACE | {"kind": "safe"}, TRACE | {"outputs": CANARY}])
async def test_what_is_no_trace_is_refused_without_quoting_it(opened: Opened, body: Any) -> None:
    async with served(sources=opened) as web:
        answer = await web.client.post("/api/traces", json=body)
        assert (answer.status_code, CANARY in answer.text) == (422, False)


async def test_a_trace_shows_what_people_say_of_it_in_the_production_format(opened: Opened) -> None:
    async with served(sources=opened) as web:
        await web.client.post("/api/traces", json=TRACE)
        path = f"/api/traces/{TRACE['traceId']}"
        said = {"annotations": [{"reviewerId": "bob", "qualityRating": 2, "commonIssues": ["missing_meds"], "notes": "n"}], "feedback": "up"}
        assert (await web.client.patch(path, json=said, headers={"if-match": '"0"'})).status_code == 200
        shown = (await web.get(path)).json()
        (one,) = shown.pop("annotations")
        assert shown.pop("feedback")["rating"] == "up"
        assert (one["reviewerId"], one["qualityRating"], one["commonIssues"], one["notes"]) == ("bob", 2, ["missing_meds"], "n")
        assert shown == {name: value for name, value in TRACE.items() if name != "annotations"}
        assert (await web.client.patch(path, json={"outputs": {}})).status_code == 422
        assert (await web.client.put(path, json=TRACE)).status_code == 405


async def test_feedback_may_come_before_the_case(opened: Opened) -> None:
    async with served(sources=opened) as web:
        for body in ({"trace_id": TRACE["traceId"], "rating": "down"}, {"event_id": "e-1", "rating": "up"}):
            answer = await web.client.post("/api/feedback", json=body)
            assert answer.status_code == 200
            models.Rated.model_validate(answer.json())
        await web.client.post("/api/traces", json=TRACE)
        assert (await web.get(f"/api/cases/{TRACE['traceId']}")).json()["feedback"]["rating"] == "down"
        assert [case["event_id"] for case in (await web.get("/api/cases?feedback=up")).json()["cases"]] == ["e-1"]
        for body in ({"rating": "up"}, {"trace_id": "a", "event_id": "b", "rating": "up"}, {"trace_id": "a", "rating": "sideways"}):
            assert (await web.client.post("/api/feedback", json=body)).status_code == 422


async def test_a_text_search_needs_the_right_and_names_the_cases(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        body = {"text": CANARY.lower(), "filter": {"suite": "one"}}
        assert (await web.client.post("/api/search", json=body, headers=web.bearer(READER))).status_code == 403
        found = (await web.client.post("/api/search", json=body, headers=web.bearer(WRITER))).json()
        models.Found.model_validate(found)
        assert ([case["event_id"] for case in found["cases"]], found["next"]) == (["e-0"], None)
        assert CANARY not in json.dumps(found)
        for wrong in ({"text": " "}, {"text": "ab", "filter": {"none": "x"}}, {"text": "ab", "cursor": "x"}, {"text": 5}):
            assert (await web.client.post("/api/search", json=wrong, headers=web.bearer(WRITER))).status_code in {400, 422}


async def test_a_case_is_removed_only_by_an_admin_of_all_suites_who_says_so(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        for token in (READER, WRITER, OF_ONE):
            assert (await web.client.delete("/api/cases/e-0?dry_run=no", headers=web.bearer(token))).status_code == 403
        rehearsed = (await web.client.delete("/api/cases/e-0", headers=web.bearer(ADMIN))).json()
        models.Forgotten.model_validate(rehearsed)
        assert (rehearsed["dry_run"], {place["is_removed"] for place in rehearsed["places"]}) == (True, {False})
        assert CANARY in (await web.get("/api/cases/e-0/document", ADMIN)).text
        done = (await web.client.delete("/api/cases/e-0?dry_run=no", headers=web.bearer(ADMIN))).json()
        assert "object" in {place["kind"] for place in done["places"] if place["is_removed"]}
        assert (await web.get("/api/cases/e-0/document", ADMIN)).status_code == 404
        assert (await web.get("/api/cases/e-0/reading", ADMIN)).json()["text"] == "gone"


async def test_runs_are_listed_and_compared(opened: Opened) -> None:
    async with served(sources=opened) as web:
        listed = (await web.get("/api/runs")).json()
        run_models.Runs.model_validate(listed)
        names = {run["suite"]: run["run"] for run in listed["runs"]}
        assert names.keys() == {"one", "two"}
        compared = await web.client.get("/api/compare", params={"a": names["one"], "b": names["two"]})
        run_models.Compared.model_validate(compared.json())
        assert (compared.json()["pairs"], compared.json()["flips"]) == (1, [{"from": "Fail", "to": "Pass", "count": 1}])
        assert [case["event_id"] for case in compared.json()["cases"]] == ["e-0"]
        for wrong, status in (
            ({}, 400),
            ({"a": "x", "b": "y"}, 400),
            ({"a": "x:1:2", "b": names["one"]}, 404),
            ({"a": names["one"], "b": names["two"], "to": "Pass"}, 400),
        ):
            assert (await web.client.get("/api/compare", params=wrong)).status_code == status


async def test_what_a_trace_came_with_is_in_the_index_and_is_not_written_again_when_it_is_sent_back(opened: Opened) -> None:
    said = [{"reviewerId": "ann", "qualityRating": 2, "notes": "n", "annotatedAt": "2026-02-05T10:00:00Z"}]
    trace = TRACE | {"annotations": said, "feedback": {"rating": "down", "timestamp": "2026-02-05T11:00:00Z"}}
    path = f"/api/traces/{TRACE['traceId']}"
    async with served(sources=opened) as web:
        for _ in range(2):
            await web.client.post("/api/traces", json=trace)
        assert opened.index.feedback([trace["traceId"]])[trace["traceId"]].rating == "down"
        shown = await web.get(path)
        assert [one["reviewerId"] for one in shown.json()["annotations"]] == ["ann"]
        back = await web.client.patch(path, json={"annotations": shown.json()["annotations"]}, headers={"if-match": shown.headers["etag"]})
        assert back.status_code == 200
        assert len(opened.index.annotations(back.json()["event_id"])) == 1


async def test_nobody_writes_under_the_name_of_another_token_by_posting_a_trace(opened: Opened) -> None:
    unnamed = TRACE | {"annotations": {"quality_rating": "good", "annotated_at": "2026-02-05T10:00:00"}}
    async with served(sources=opened, tokens=(f"ann=all/text+annotate:{WRITER}",)) as web:
        assert (await web.client.post("/api/traces", json=unnamed, headers=web.bearer(WRITER))).status_code == 201
        assert (await web.get(f"/api/traces/{TRACE['traceId']}", WRITER)).json()["annotations"] == unnamed["annotations"]
        assert opened.index.all_annotations(10) == []
