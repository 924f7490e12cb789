"""Error analysis over HTTP: kinds of failure and coding, for those who may see and do it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.store.histories import AT
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import Served, served
from tests.ops.web.test_api_queues import ADMIN, ANN, BOB, QUEUE, READER, TOKENS, made, said, sent, turn
from touchstone.ops.web.api import errors
from touchstone.ops.web.api.error_models import Errors
from touchstone.schemas.annotation import AnnotationRecord

ONLY_TWO = f"{'two':-<20}"


def failed(mode: str | None = None, verdict: str = "fail", **more: Any) -> dict[str, Any]:
    told = {"traceId": "x", "reviewer": "x", "timestamp": "2026-01-02T03:04:05Z", "verdict": verdict, "failureMode": mode, "notes": f"about {CANARY}"}
    return AnnotationRecord.model_validate({**told, **more}).content()


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Served]:
    """Four annotated events: two of suite one, one of suite two, and a trace of suite two."""
    with history(tmp_path) as sources:
        index = sources.index
        index.annotate("e-0", "ann", failed("missing_labs"), AT, expected=None)
        index.annotate("e-0", "bob", failed("missing_labs"), AT, expected=None)
        index.annotate("e-1", "ann", failed(), AT, expected=None)
        index.annotate("e-2", "ann", failed(None, "pass"), AT, expected=None)
        index.annotate("t-0", "ann", failed("dates"), AT, expected=None, trace_id="trace/0")
        async with served(sources=sources, tokens=(*TOKENS, f"two:{ONLY_TWO}")) as found:
            yield found


def names(document: Any) -> dict[str | None, tuple[int, list[str]]]:
    return {one["name"]: (one["cases"], [example["event_id"] for example in one["examples"]]) for one in document["categories"]}


async def code(web: Served, token: str = ANN, status: int = 200, **body: Any) -> Any:
    return await sent(web, "POST", "/api/errors/coding", token, body, status)


async def test_kinds_of_failure_come_with_their_shares_and_examples(web: Served) -> None:
    document = await sent(web, "GET", "/api/errors", ANN)
    Errors.model_validate(document)
    assert names(document) == {"dates": (1, ["t-0"]), "missing_labs": (1, ["e-0"]), None: (1, ["e-1"])}
    assert (document["reviewed"], document["failed"], document["base"], document["rate"]["share"]) == (4, 3, "all", 0.75)
    assert (document["saturation"]["kinds"], document["review_pass"], document["failures_total"]) == (2, 1, 4)
    assert document["categories"][1]["rate"]["low"] < 0.25 < document["categories"][1]["rate"]["high"]


async def test_more_annotations_than_can_be_read_are_refused_and_never_analysed_in_part(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "ANNOTATIONS_MAX", 5)
    await sent(web, "GET", "/api/errors", ANN)
    monkeypatch.setattr(errors, "ANNOTATIONS_MAX", 4)
    answer = await web.client.get("/api/errors", headers=web.bearer(ANN))
    assert (answer.status_code, "more than 4 annotations" in answer.text) == (503, True)


async def test_notes_and_descriptions_need_the_right_to_text(web: Served) -> None:
    await code(web, action="describe", category="dates", kind="generalization", description=f"as of {CANARY}")
    with_text, without = [await web.client.get("/api/errors", headers=web.bearer(token)) for token in (ANN, READER)]
    assert with_text.text.count(CANARY) == 5
    assert CANARY not in without.text
    assert names(without.json()) == names(with_text.json())
    assert [one["kind"] for one in without.json()["categories"]] == ["generalization", None, None]


async def test_a_category_that_is_no_code_is_shown_only_with_the_right_to_text(web: Served) -> None:
    index = web.service.open_sources().index  # type: ignore[misc]
    index.annotate("e-2", "bob", failed(f"like {CANARY}"), AT, expected=None)
    assert f"like {CANARY}" in names(await sent(web, "GET", "/api/errors", ANN))
    assert "(another name)" in names(await sent(web, "GET", "/api/errors", READER))


async def test_a_token_for_some_suites_sees_and_codes_the_failures_of_their_cases_alone(web: Served) -> None:
    document = await sent(web, "GET", "/api/errors", ONLY_TWO)
    assert {one["event_id"] for one in document["failures"]} == {"e-0", "t-0"}


async def test_coding_raises_the_pass_and_keeps_the_words_of_the_reviewer(web: Served) -> None:
    document = await code(web, action="assign", to="dates", annotations=[{"trace_id": "e-1", "reviewer": "ann"}])
    assert (names(document)["dates"], document["review_pass"]) == ((2, ["e-1", "t-0"]), 2)
    (before, after) = web.service.open_sources().index.annotations("e-1")  # type: ignore[misc]
    assert (before.review_pass, after.review_pass, before.body["failureMode"], after.body["failureMode"]) == (1, 2, None, "dates")
    assert (before.body["notes"], after.reviewer) == (after.body["notes"], "ann")
    again = await code(web, action="assign", to="no_dates", review_pass=2, annotations=[{"trace_id": "e-1", "reviewer": "ann", "category": "dates"}])
    assert (again["review_pass"], names(again)["no_dates"]) == (2, (1, ["e-1"]))


async def test_renaming_to_a_category_that_there_is_merges_both(web: Served) -> None:
    document = await code(web, action="rename", category="dates", to="missing_labs")
    assert names(document) == {"missing_labs": (2, ["e-0", "t-0"]), None: (1, ["e-1"])}


async def test_some_failures_of_a_category_are_split_off_and_taken_out_again(web: Served) -> None:
    member = {"trace_id": "e-0", "reviewer": "bob", "category": "missing_labs"}
    document = await code(web, action="assign", to="no_hba1c", annotations=[member])
    assert names(document)["no_hba1c"] == names(document)["missing_labs"] == (1, ["e-0"])
    document = await code(web, action="assign", to=None, annotations=[member | {"category": "no_hba1c"}])
    assert "no_hba1c" not in names(document)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"action": "assign", "to": "x", "annotations": [{"trace_id": "e-1", "reviewer": "ann", "category": "seen_before"}]}, 409, "meanwhile"),
        ({"action": "assign", "to": "x", "annotations": [{"trace_id": "e-2", "reviewer": "ann"}]}, 409, "no failures"),
        ({"action": "assign", "to": "x", "annotations": [{"trace_id": "e-1", "reviewer": "ann"}], "review_pass": 3}, 409, "from 1 to 2"),
        ({"action": "rename", "category": "none_such", "to": "x"}, 409, "no annotation is in the category"),
        ({"action": "describe", "category": "none_such"}, 409, "no such category"),
        ({"action": "assign", "to": "Not A Name", "annotations": [{"trace_id": "e-1", "reviewer": "ann"}]}, 422, "to"),
        ({"action": "assign", "to": "x"}, 422, "needs annotations"),
        ({"action": "rename", "category": "dates"}, 422, "needs the new name"),
    ],
)
async def test_a_coding_that_cannot_be_meant_changes_nothing(web: Served, body: dict[str, Any], status: int, words: str) -> None:
    before = await sent(web, "GET", "/api/errors", ANN)
    assert words in (await code(web, status=status, **body))["error"]
    assert await sent(web, "GET", "/api/errors", ANN) == before


async def test_a_token_without_the_right_to_annotate_cannot_code(web: Served) -> None:
    await code(web, READER, 403, action="rename", category="dates", to="x")


async def test_a_link_to_a_queue_neither_shows_error_analysis_nor_codes(web: Served) -> None:
    await made(web)
    link = await sent(web, "POST", "/api/queues/failed/links", ADMIN, {"reviewer": "guest"}, 201)
    token = link["address"].partition("#link=")[2]
    assert (await web.client.get("/api/errors", headers=web.bearer(token))).status_code == 403
    await code(web, token, 403, action="rename", category="dates", to="x")


async def test_verdicts_of_a_blind_queue_are_withheld_until_its_case_has_all_of_them(web: Served) -> None:
    await made(web, **(QUEUE | {"suite": "one", "filter": "label=Pass"}))
    event = (await turn(web, ANN))["item"]["event_id"]
    before = await sent(web, "GET", "/api/errors", BOB)
    await said(web, ANN, event, verdict="fail", failureMode="only_in_queue", notes="x", reviewPass=1)
    hidden = await sent(web, "GET", "/api/errors", BOB)
    assert (hidden["withheld"], "only_in_queue" in names(hidden)) == (before["withheld"] + 1, False)
    await said(web, BOB, event, verdict="fail", failureMode="only_in_queue", notes="y", reviewPass=1)
    assert "only_in_queue" in names(await sent(web, "GET", "/api/errors", BOB))
    assert names(await sent(web, "GET", "/api/errors?queue=failed", BOB)) == {"only_in_queue": (1, [event])}
