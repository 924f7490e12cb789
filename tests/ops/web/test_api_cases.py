"""The API over the history, against a real store."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

import tests.ops.web.served
from tests.ops.store.histories import AT, add, scored
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import served, toy_suite
from touchstone.ops.store.archive.archive import open_archive
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api import models
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.case import SafeCase
from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError

READER, REVIEWER, TEXT_READER, OF_ONE = "reader-0123456789", "reviewer-0123456789", "text-0123456789abc", "of-one-0123456789"
TOKENS = (f"all:{READER}", f"all/text+annotate:{REVIEWER}", f"all/text:{TEXT_READER}", f"one/text+annotate:{OF_ONE}")
SAID = {"reviewer": "ann", "verdict": "fail", "notes": f"{CANARY} has no HbA1c", "severityTag": "subtle_issue", "reviewPass": 1}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


async def test_cases_come_in_pages_newest_first(opened: Opened) -> None:
    async with served(sources=opened) as web:
        first = (await web.get("/api/cases?limit=3")).json()
        models.Cases.model_validate(first)
        assert [(case["event_id"], case["suite"]) for case in first["cases"]] == [("t-0", "two"), ("e-0", "two"), ("e-2", "one")]
        assert first["total"] == 5
        rest = (await web.get(f"/api/cases?limit=3&cursor={first['next']}")).json()
        assert [(case["event_id"], case["kept"], case["codes"]) for case in rest["cases"]] == [
            ("e-1", False, []), ("e-0", True, ["missing_signal", "too_long"]),
        ]  # fmt: skip
        assert rest["next"] is None


@pytest.mark.parametrize(
    ("query", "events"),
    [("suite=one&label=Fail", ["e-0"]), ("code=too_long", ["e-2", "e-0"]), ("kept=yes&suite=two", ["t-0", "e-0"]), ("q=TRACE", ["t-0"]), ("source=eval", [])],
)
async def test_a_filter_chooses_cases(opened: Opened, query: str, events: list[str]) -> None:
    async with served(sources=opened) as web:
        assert [case["event_id"] for case in (await web.get(f"/api/cases?{query}")).json()["cases"]] == events


async def test_facets_count_results_by_a_property(opened: Opened) -> None:
    async with served(sources=opened) as web:
        answer = (await web.get("/api/facets?by=code&suite=one")).json()
        models.Facets.model_validate(answer)
        assert answer["values"] == [
            {"value": "too_long", "count": 2, "labels": {"Fail": 1, "Review": 1}}, {"value": "missing_signal", "count": 1, "labels": {"Fail": 1}},
        ]  # fmt: skip


async def test_a_facet_and_its_total_are_counted_without_the_filter_of_the_same_name(opened: Opened) -> None:
    async with served(sources=opened) as web:
        every, one = [(await web.get(f"/api/facets?by=label{query}")).json() for query in ("", "&label=Fail")]
        assert len(every["values"]) > 1
        assert one == every


async def test_a_case_has_all_its_results(opened: Opened) -> None:
    async with served(sources=opened) as web:
        answer = await web.get("/api/cases/e-0")
        case = answer.json()
        models.OneCase.model_validate(case)
        assert [(result["suite"], result["label"]) for result in case["results"]] == [("two", "Pass"), ("one", "Fail")]
        assert (case["kept"]["state"], case["etag"], answer.headers["etag"]) == ("kept", '"0"', '"0"')
        assert (await web.get("/api/cases/none")).status_code == 404


@pytest.mark.parametrize("identifier", ["trace/0", "t-0"])
async def test_a_trace_is_found_by_either_id(opened: Opened, identifier: str) -> None:
    async with served(sources=opened) as web:
        for path in ("", "/reading", "/document"):
            assert (await web.get(f"/api/cases/{quote(identifier, safe='')}{path}")).status_code == 200
        assert (await web.get(f"/api/cases/{quote(identifier, safe='')}")).json()["event_id"] == "t-0"


async def test_a_reading_is_of_the_result_that_was_asked_for(opened: Opened) -> None:
    async with served(sources=opened) as web:
        results = (await web.get("/api/cases/e-0")).json()["results"]
        for result in results:
            answer = (await web.get(f"/api/cases/e-0/reading?result={result['result_id']}")).json()
            assert (answer["result_id"], answer["reading"]["suite"], answer["reading"]["label"]) == (result["result_id"], result["suite"], result["label"])
        assert (await web.get("/api/cases/e-0/reading?result=none")).status_code == 404
        assert (await web.get("/api/cases/e-1/reading")).json()["text"] == "not_kept"


async def test_the_reading_of_a_case_is_of_its_worst_result_not_of_the_last_one(opened: Opened) -> None:
    async with served(sources=opened) as web:
        results = (await web.get("/api/cases/e-0")).json()["results"]
        assert [one["label"] for one in results] == ["Pass", "Fail"]  # the latest first
        answer = (await web.get("/api/cases/e-0/reading")).json()
        assert (answer["reading"]["suite"], answer["reading"]["label"]) == ("one", "Fail")


async def test_a_kept_trace_is_read_beside_the_result_of_a_later_stage(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
    add(store, scored("t-0", 5, suite="two", label="Pass", kind="judge_request", case="trace/0", version="2.0"))
    store.close()
    cases = {"judge_request": JudgeRequest, "trace": ProductionTrace}
    monkeypatch.setattr(tests.ops.web.served, "toy_suite", lambda name: replace(toy_suite(name), cases=cases))
    async with served(sources=opened) as web:
        results = (await web.get("/api/cases/t-0")).json()["results"]
        answers = [(await web.get(f"/api/cases/t-0/reading?result={one['result_id']}")).json() for one in results]
        assert [answer["text"] for answer in answers] == ["shown", "shown"]


async def test_text_needs_its_scope(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        refused = await web.get("/api/cases/e-0/document", READER)
        assert (refused.status_code, refused.json()["error"].partition(" (")[0]) == (403, "this needs a token with the scope text")
        assert CANARY in (await web.get("/api/cases/e-0/document", TEXT_READER)).text
        for path in ("/api/cases", "/api/cases/e-0", "/api/cases/t-0", "/api/cases/e-0/reading", "/api/cases/t-0/reading", "/api/facets?by=code"):
            for token in (READER, TEXT_READER):
                answer = await web.get(path, token)
                assert answer.status_code == 200
                assert CANARY not in answer.text or (token == TEXT_READER and path.endswith("/reading"))


async def test_a_token_of_one_suite_finds_nothing_of_another(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        assert {case["suite"] for case in (await web.get("/api/cases", OF_ONE)).json()["cases"]} == {"one"}
        assert [result["suite"] for result in (await web.get("/api/cases/e-0", OF_ONE)).json()["results"]] == ["one"]
        for path in ("/api/cases/t-0", "/api/cases/t-0/document", "/api/cases/t-0/reading"):
            assert (await web.get(path, OF_ONE)).status_code == 404


async def patch(web: Any, path: str, body: Any, token: str | None = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()} | (web.bearer(token) if token else {})
    return await web.client.patch(path, json=body, headers=named)


async def test_annotations_are_read_in_both_shapes_and_shown_in_one(opened: Opened) -> None:
    in_trace = {"reviewerId": "bob", "qualityRating": 4, "commonIssues": ["missing_meds"], "notes": "n", "annotatedAt": "2026-02-04T15:30:00"}
    async with served(sources=opened) as web:
        answer = await patch(web, "/api/cases/e-0", {"annotations": [SAID, in_trace], "feedback": {"rating": "down"}}, if_match='"0"')
        assert answer.status_code == 200
        models.OneCase.model_validate(answer.json())
        ann, bob = answer.json()["annotations"]
        assert (ann["reviewerId"], ann["verdict"], ann["severityTag"], ann["failureMode"]) == ("ann", "fail", "subtle_issue", None)
        assert (bob["reviewerId"], bob["qualityRating"], bob["commonIssues"], bob["annotatedAt"]) == (
            "bob", 4, ["missing_meds"], "2026-02-04T15:30:00.000Z",
        )  # fmt: skip
        assert (answer.json()["feedback"]["rating"], answer.headers["etag"]) == ("down", '"2"')


async def test_of_two_reviewers_who_saw_the_same_the_second_is_told(opened: Opened) -> None:
    async with served(sources=opened) as web:
        seen = (await web.get("/api/cases/e-0")).headers["etag"]
        answers = await asyncio.gather(*(patch(web, "/api/cases/e-0", {"annotations": [SAID | {"reviewer": who}]}, if_match=seen) for who in ("ann", "bob")))
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        assert (await patch(web, "/api/cases/e-0", {"annotations": [SAID]})).status_code == 428
        assert len((await web.get("/api/cases/e-0")).json()["annotations"]) == 1


async def test_what_is_said_again_is_not_written_again(opened: Opened) -> None:
    async with served(sources=opened) as web:
        first = await patch(web, "/api/cases/e-0", {"annotations": [SAID]}, if_match='"0"')
        again = await patch(web, "/api/cases/e-0", {"annotations": [SAID]}, if_match='"1"')
        assert (again.status_code, again.headers["etag"]) == (200, first.headers["etag"])
        other = await patch(web, "/api/cases/e-0", {"annotations": [SAID | {"verdict": "pass"}]}, if_match='"1"')
        assert [one["verdict"] for one in other.json()["annotations"]] == ["pass"]


@pytest.mark.parametrize(
    "body",
    [{"outputs": {}}, {"annotations": [{"verdict": "fail"}]}, {"annotations": [SAID | {"verdict": "maybe"}]}, {"annotations": [SAID | {"traceId": "x"}]},
     [], "x", {"feedback": "sideways"}, {"annotations": [SAID | {"qualityRating": 6}]}, {"annotations": [SAID | {"zanzibar": 1}]}],
)  # fmt: skip
async def test_anything_but_annotations_and_feedback_is_refused_without_quoting_it(opened: Opened, body: Any) -> None:
    async with served(sources=opened) as web:
        answer = await patch(web, "/api/cases/e-0", body, if_match='"0"')
        assert answer.status_code == 422
        assert not {"maybe", "sideways", "zanzibar", CANARY} & set(answer.json()["error"].replace(";", " ").split())


async def test_annotating_needs_its_scope_and_notes_are_text(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        assert (await patch(web, "/api/cases/e-0", {"annotations": [SAID]}, TEXT_READER, if_match='"0"')).status_code == 403
        assert (await patch(web, "/api/cases/e-0", {"annotations": [SAID]}, REVIEWER, if_match='"0"')).status_code == 200
        assert [(await web.get("/api/cases/e-0", token)).json()["annotations"][0]["notes"] for token in (READER, REVIEWER)] == [None, SAID["notes"]]
        for path in ("/api/cases", "/v1/summary", "/v1/results", "/metrics"):
            assert CANARY not in (await web.get(path, REVIEWER)).text


async def test_a_view_is_saved_and_deleted(opened: Opened) -> None:
    async with served(sources=opened) as web:
        assert (await web.client.put("/api/views/failed%20ones", json={"query": "?label=Fail"})).json() == {"name": "failed ones", "query": "label=Fail"}
        assert (await web.get("/api/views")).json() == {"views": [{"name": "failed ones", "query": "label=Fail"}]}
        assert [(await web.client.delete("/api/views/failed%20ones")).status_code for _ in range(2)] == [200, 404]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [(b"{", "application/json", 422), (b'{"a":1,"a":2}', "application/json", 422), (b"[" * 300 + b"]" * 300, "application/json", 422),
     (b"x" * 300_000, "application/json", 413), (b"{}", "text/plain", 415), (b"\xff", "application/json", 422)],
)  # fmt: skip
async def test_a_body_is_bounded(opened: Opened, content: bytes, kind: str, status: int) -> None:
    async with served(sources=opened) as web:
        answer = await web.client.patch("/api/cases/e-0", content=content, headers={"content-type": kind})
        assert (answer.status_code, bool(answer.json()["error"])) == (status, True)


@pytest.mark.parametrize(
    "path", ["/api/cases?label=x", "/api/cases?cursor=x", "/api/cases?limit=0", "/api/cases?none=1", "/api/facets?by=x", "/api/cases/" + "x" * 600]
)
async def test_a_request_that_cannot_be_read_is_one_line(opened: Opened, path: str) -> None:
    async with served(sources=opened) as web:
        answer = await web.get(path)
        assert (answer.status_code, "\n" in answer.json()["error"]) == (400, False)


async def test_without_a_store_the_api_says_so_and_the_streams_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with served() as web:
        answer = await web.get("/api/cases")
        assert (answer.status_code, str(tmp_path) in answer.text) == (503, False)
        assert (await web.get("/v1/summary")).status_code == 200


async def test_a_suite_that_cannot_read_its_case_shows_the_result_alone(opened: Opened) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError(CANARY)

    async with served(sources=opened) as web:
        web.service.suites["one"] = replace(toy_suite("one"), reading=broken, cases={"safe": SafeCase})  # type: ignore[index]
        result_id = next(one["result_id"] for one in (await web.get("/api/cases/e-0")).json()["results"] if one["suite"] == "one")
        with capture_logs() as logs:
            answer = (await web.get(f"/api/cases/e-0/reading?result={result_id}")).json()
        assert (answer["text"], answer["reading"]["label"]) == ("unreadable", "Fail")
        assert ([(line["event"], line["code"]) for line in logs], CANARY in repr(logs)) == ([("reading_failed", "ValueError")], False)


async def test_a_kept_case_of_a_real_suite_reads_with_its_text_where_there_is_the_right(tmp_path: Path) -> None:
    with history(tmp_path) as opened:
        async with served(sources=opened, tokens=TOKENS) as web:
            web.service.suites["one"] = replace(toy_suite("one"), cases={"safe": SafeCase})  # type: ignore[index]
            seen = {token: (await web.get("/api/cases/e-0/reading", token)).json() for token in (READER, OF_ONE)}
    assert {token: answer["text"] for token, answer in seen.items() if token == OF_ONE} == {OF_ONE: "shown"}
    assert CANARY in str(seen[OF_ONE])
    assert CANARY not in str(seen[READER])


async def test_without_an_archive_lists_and_results_are_shown_all_the_same(opened: Opened) -> None:
    def fails() -> Any:
        raise ConfigError("archive.url: cannot be opened")

    async with served(sources=replace(opened, open_archive=fails)) as web:
        assert len((await web.get("/api/cases")).json()["cases"]) == 5
        assert (await web.get("/api/cases/e-0/reading")).json()["text"] == "away"
        assert (await web.get("/api/cases/e-0/document")).status_code == 503


async def test_without_an_archive_it_is_said_that_texts_are_not_kept_and_nothing_is_made(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "no archive"
    nothing = open_archive(ArchiveSettings(url=f"file://{folder}"), opened.index)
    async with served(sources=replace(opened, open_archive=lambda: nothing)) as web:
        for event_id in ("e-0", "e-1"):  # one that was kept, elsewhere, and one that was not
            answer = (await web.get(f"/api/cases/{event_id}/reading")).json()
            models.Reading.model_validate(answer)
            assert answer["text"] == "no_archive"
            refused = await web.get(f"/api/cases/{event_id}/document")
            assert (refused.status_code, refused.json()["error"].partition(",")[0]) == (404, "there is no archive here")
        refused = await web.client.post("/api/search", json={"text": "fell"})
        assert (refused.status_code, refused.json()["error"].partition(",")[0]) == (503, "there is no archive here")
        assert str(folder) not in refused.text
        assert not folder.exists()


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip, deflate, br", "gzip"), ("br, GZIP;q=0.5", "gzip"), ("gzip;q=1.0", "gzip"), ("gzip;q=0", None), ("gzip; q=0.000", None), ("identity", None),
     ("gzipped", None)],
)  # fmt: skip
async def test_a_large_document_is_compressed_for_who_takes_it_and_comes_back_whole(opened: Opened, accepted: str, encoding: str | None) -> None:
    document = b'{"kind": "safe", "id": "e-9", "output": {"summary": "%s"}}' % (b"word " * 20_000)
    opened.open_archive().keep("e-9", "safe", "case-9", document, at=AT)
    async with served(sources=opened) as web:
        answer = await web.client.get("/api/cases/e-9/document", headers={"Accept-Encoding": accepted})
        assert (answer.headers.get("content-encoding"), answer.headers["vary"], answer.content) == (encoding, "Accept-Encoding", document)
        assert encoding is None or int(answer.headers["content-length"]) < len(document) / 10
