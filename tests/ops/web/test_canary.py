"""A patient's name in kept cases, results that quote and notes of reviewers: over every address and with every scope it is only where it may be."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import connect

from tests.ops.store.histories import AT, add, scored
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import Served, served, toy_suite, until
from tests.ops.web.test_api_scopes import SCOPES, TOKEN, TOKENS
from tests.ops.web.test_web_socket import told
from tests.streams.subscription.made import R0, event, publish
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.schemas.case import SafeCase
from touchstone.schemas.trace import ProductionTrace

#: Where the name is shown to who has the scope `text`: a case's own views, and the notes of reviewers on failures.
OWN_VIEWS = {"/api/errors", "/api/cases/{id}", "/api/cases/{id}/reading", "/api/cases/{id}/document", "/api/traces/{id}"}
#: They are answered, and not refused, whatever is sent.
NOTES = {"/api/errors"}
#: Sent to a service that asks for no token.
NOBODY = "nobody"
STREAMS = {"/v1/events", "/v1/ws"}
SAID = {"reviewer": "ann", "verdict": "fail", "notes": CANARY, "commonIssues": [CANARY], "failureMode": f"about {CANARY}", "qualityRating": CANARY}
BODIES: dict[str, Any] = {
    "/api/cases/{id}": {"feedback": "up"}, "/api/traces/{id}": {"feedback": "up"}, "/api/views/{id}": {"query": "label=Fail"},
    "/api/traces": {"traceId": "t-2", "prompt": CANARY, "persona": {"name": CANARY}, "outputs": {}},
    "/api/feedback": {"trace_id": "t-1", "rating": "up"}, "/api/search": {"text": CANARY},
}  # fmt: skip


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """The usual history, and a trace `t-1` whose result quotes, with spans and an annotation: the name is wherever text can be."""
    with history(tmp_path) as found:
        store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
        result = scored("t-1", 6, suite="two", kind="trace", case="trace-1", label="Fail", codes=("too_long",))
        findings = tuple(one.model_copy(update={"message": CANARY, "suggestion": CANARY}) for one in result.findings)
        add(store, result.model_copy(update={"findings": findings, "details": {"quoted": CANARY}}))
        store.close()
        document = BODIES["/api/traces"] | {"kind": "trace", "id": "t-1", "traceId": "trace-1", "timing": {CANARY: 5, "total": 7}}
        document["spans"] = [{"name": CANARY, "duration_ms": 4, "attributes": {"gen_ai.request.model": CANARY, "gen_ai.input.messages": CANARY}}]
        found.open_archive().keep("t-1", "trace", "trace-1", orjson.dumps(document), at=AT)
        found.index.annotate("t-1", "ann", {name: value for name, value in SAID.items() if name != "reviewer"}, AT, expected=None, trace_id="trace-1")
        yield found


async def answers_of(web: Served, identifier: str, token: str, bodies: dict[str, Any]) -> list[tuple[str, Any]]:
    """(path of the document, response) of every address but streams."""
    found = []
    for one in ADDRESSES:
        if one.path not in STREAMS:
            json_ = bodies.get(one.path) if one.method in {"post", "put", "patch"} else None
            path = one.path.replace("{id}", quote(identifier, safe=""))
            found.append((one.path, await web.client.request(one.method, path, headers=web.bearer(token), json=json_)))
    return found


def shown(answer: Any) -> str:
    """Everything that a client gets, escapes resolved."""
    text = answer.text
    if "json" in answer.headers.get("content-type", ""):
        text += json.dumps(answer.json(), ensure_ascii=False)
    return f"{answer.headers} {text}"


@pytest.mark.parametrize("scope", SCOPES)
async def test_the_name_is_shown_in_a_case_s_own_view_and_only_with_the_right_to_text(opened: Opened, scope: str) -> None:
    async with served(sources=opened, tokens=TOKENS) as web:
        web.service.suites["one"] = replace(toy_suite("one"), cases={"safe": SafeCase})  # type: ignore[index]
        web.service.suites["two"] = replace(toy_suite("two"), cases={"trace": ProductionTrace})  # type: ignore[index]
        publish(web.hub, event("t-1", R0, 0, suite="two"))
        found = await answers_of(web, "trace-1", TOKEN[scope], BODIES)
        assert {path for path, answer in found if answer.status_code < 300 and path.startswith("/api/")}  # something was answered
        leaked = {path for path, answer in found if CANARY in shown(answer)}
        assert leaked == (OWN_VIEWS if scope == "text" else set())


@pytest.mark.parametrize("scope", SCOPES)
async def test_no_refusal_quotes_what_was_asked_or_sent(opened: Opened, scope: str) -> None:
    """In ids, in every parameter, in If-Match, and as a value and a name of every field of a body."""
    bodies = {path: dict.fromkeys(body, CANARY) | {CANARY: [CANARY]} for path, body in BODIES.items()}
    bodies["/api/cases/{id}"] = {"annotations": [SAID | {"verdict": CANARY, CANARY: CANARY, "traceId": CANARY}], "feedback": CANARY}
    async with served(sources=opened, tokens=TOKENS) as web:
        refused = [answer for _, answer in await answers_of(web, CANARY, TOKEN[scope], bodies)]
        for one in ADDRESSES:
            if one.path in STREAMS - {"/v1/events"} or one.answer == "text/html":
                continue
            for parameter in one.parameters:
                path = one.path.replace("{id}", "e-0")
                async with web.client.stream(one.method.upper(), path, params={parameter.name: CANARY}, headers=web.bearer(TOKEN[scope])) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        refused.append(answer)
        headers = web.bearer(TOKEN[scope]) | {"If-Match": CANARY}
        refused.append(await web.client.patch("/api/cases/e-0", json={"feedback": "up"}, headers=headers))
        assert {answer.status_code for answer in refused} >= ({403, 422} if scope == "feedback" else {400, 403, 404})
        assert [
            (answer.request.method, answer.request.url.path, answer.status_code)
            for answer in refused
            if CANARY in shown(answer) and answer.request.url.path not in NOTES
        ] == []


async def test_no_stream_has_the_name(opened: Opened) -> None:
    async with served(sources=opened) as web:
        address = web.address.replace("http", "ws", 1) + "/v1/ws"
        async with web.stream("/v1/events") as stream, connect(address, proxy=None) as socket:
            await until(lambda: web.hub.watchers == 2)
            await answers_of(web, "trace-1", NOBODY, BODIES)
            await web.client.patch("/api/cases/e-0", json={"annotations": [SAID]}, headers={"If-Match": '"0"'})
            publish(web.hub, event("t-1", R0, 0, suite="two"))
            message = await anext(stream)
            sent = await told(socket)
            assert (message.data["event_id"], sent["data"]["event_id"]) == ("t-1", "t-1")
            assert CANARY not in f"{message.raw} {message.id} {stream.comments} {sent}"


async def test_no_log_and_no_metric_has_the_name_whatever_is_asked(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with served(sources=opened) as web:
        with capture_logs() as logs:
            for identifier in ("trace-1", CANARY):
                await answers_of(web, identifier, NOBODY, BODIES)
            for path in ("/api/cases?q=", "/cases?q=", "/api/cases?cursor=", "/v1/events?since=", "/v1/summary?label=", "/nowhere/"):
                await web.get(path + quote(CANARY))
            await web.client.put(f"/api/views/{quote(CANARY)}", json={"query": f"q={CANARY}"})
            await web.client.patch("/api/cases/e-0", json={"annotations": [SAID]}, headers={"If-Match": '"0"'})
        metrics = (await web.get("/metrics")).text
    # The test's own client logs the addresses that it asks for.
    lines = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "websockets", "asyncio"))]
    for name in (CANARY, quote(CANARY), CANARY.replace(" ", "+")):
        assert name not in f"{logs!r} {lines} {metrics}"


@pytest.mark.parametrize("scope", ["results", "text"])
@pytest.mark.parametrize("writes_directly", [True, False])
async def test_a_result_that_quotes_is_streamed_and_answered_with_its_quotes_only_with_the_right_to_text(scope: str, writes_directly: bool) -> None:
    finding = {"severity": "major", "code": "too_long", "path": "output", "message": CANARY, "suggestion": CANARY}
    quoting = event("e-9", R0, 0, suite="two", findings=[finding], details={"quoted": CANARY})
    async with served(tokens=TOKENS, writes_directly=writes_directly) as web:
        headers = web.bearer(TOKEN[scope])
        address = web.address.replace("http", "ws", 1) + "/v1/ws"
        async with web.stream("/v1/events", TOKEN[scope]) as live, connect(address, proxy=None, additional_headers=headers) as socket:
            await until(lambda: web.hub.watchers == 2)
            publish(web.hub, quoting)
            sent = {"live": (await anext(live)).data, "socket": (await told(socket))["data"]}
        async with web.stream("/v1/events?snapshot=5", TOKEN[scope]) as earlier:
            sent["snapshot"] = (await anext(earlier)).data
        sent["one"] = (await web.client.get(f"/v1/results/{quoting.key}", headers=headers)).json()["event"]
        listed = {path: (await web.client.get(path, headers=headers)).text for path in ("/v1/results", "/v1/summary", "/v1/batches", "/v1/outcomes")}
    assert {one["findings"][0]["code"] for one in sent.values()} == {"too_long"}
    assert {name for name, one in sent.items() if CANARY in json.dumps(one)} == (set(sent) if scope == "text" else set())
    assert [path for path, text in listed.items() if CANARY in text] == []
