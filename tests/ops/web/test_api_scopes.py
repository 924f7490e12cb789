"""Every address with every scope, and in whose name a token writes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.ops.web.history import history
from tests.ops.web.served import WAIT_S, Served, served
from touchstone.ops.web.api import models
from touchstone.ops.web.api.sources import Opened
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.schemas.settings.house import ServeSettings

SCOPES = ("results", "text", "annotate", "feedback", "admin")
TOKEN = {scope: f"token-for-{scope:-<12}" for scope in SCOPES}
TOKENS = (f"all:{TOKEN['results']}", *(f"all/{scope}:{TOKEN[scope]}" for scope in SCOPES[1:]))
#: Address → the scope that it needs. An address that is not here fails the test.
NEEDS = {
    ("get", "/v1/events"): "results", ("get", "/v1/ws"): "results", ("post", "/v1/ticket"): "", ("get", "/v1/summary"): "results",
    ("get", "/v1/results"): "results", ("get", "/v1/results/{id}"): "results", ("get", "/v1/batches"): "results", ("get", "/v1/batches/{id}"): "results",
    ("get", "/v1/suites"): "results", ("get", "/metrics"): "results", ("get", "/openapi.json"): "", ("get", "/asyncapi.json"): "results",
    ("get", "/v1/outcomes"): "results",
    ("get", "/api/cases"): "results", ("get", "/api/facets"): "results", ("get", "/api/cases/{id}"): "results", ("patch", "/api/cases/{id}"): "annotate",
    ("delete", "/api/cases/{id}"): "admin", ("get", "/api/cases/{id}/reading"): "results", ("get", "/api/cases/{id}/document"): "text",
    ("get", "/api/views"): "results", ("put", "/api/views/{id}"): "annotate", ("delete", "/api/views/{id}"): "annotate",
    ("get", "/api/traces"): "results", ("post", "/api/traces"): "feedback", ("get", "/api/traces/{id}"): "text", ("patch", "/api/traces/{id}"): "annotate",
    ("post", "/api/feedback"): "feedback", ("post", "/api/search"): "text", ("get", "/api/runs"): "results", ("get", "/api/compare"): "results",
    ("get", "/api/errors"): "results", ("post", "/api/errors/coding"): "annotate",
    ("get", "/api/queues"): "results", ("post", "/api/queues"): "admin", ("get", "/api/queues/{id}"): "results", ("get", "/api/queues/{id}/cases"): "results",
    ("post", "/api/queues/{id}/next"): "annotate", ("post", "/api/queues/{id}/cases/{event}"): "annotate",
    ("get", "/api/queues/{id}/disagreements"): "results", ("get", "/api/queues/{id}/agreement"): "results", ("post", "/api/queues/{id}/links"): "admin",
    ("delete", "/api/queues/{id}/links"): "admin", ("get", "/api/guidelines"): "results", ("get", "/api/guidelines/{id}"): "results",
    ("put", "/api/guidelines/{id}"): "admin", ("get", "/api/settings/review"): "results", ("get", "/api/judges"): "results",
}  # fmt: skip
#: What a token for one scope may do besides.
ALSO = {"results": set(), "text": {"results"}, "annotate": {"results", "feedback"}, "feedback": set(), "admin": {"results"}}
ANN, BOB, SHARED, IMPORTER, APP = (f"{name:-<20}" for name in ("ann", "bob", "shared", "importer", "app"))
NAMED = (f"ann=all/annotate:{ANN}", f"bob=all/annotate:{BOB}", f"all/annotate:{SHARED}", f"imports=all/annotate+admin:{IMPORTER}", f"shop=all/feedback:{APP}")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with history(tmp_path) as found:
        yield found


async def status_of(web: Served, method: str, path: str, token: str | None) -> int:
    headers = web.bearer(token) if token else {}
    if path == "/v1/ws":
        try:
            async with connect(web.address.replace("http", "ws", 1) + path, additional_headers=headers, proxy=None):
                return 200
        except InvalidStatus as error:
            return error.response.status_code
    json = {} if method in {"post", "put", "patch"} else None
    async with web.client.stream(method.upper(), path.replace("{id}", "e-0"), headers=headers, json=json) as answer:
        return answer.status_code


async def test_each_address_takes_the_tokens_with_its_scope_and_no_others(opened: Opened) -> None:
    behind = {(address.method, address.path) for address in ADDRESSES if address.needs_token}
    assert behind == NEEDS.keys()
    async with served(sources=opened, tokens=TOKENS) as web:
        for (method, path), scope in NEEDS.items():
            for token in SCOPES:
                is_refused = await status_of(web, method, path, TOKEN[token]) == 403
                assert is_refused == (bool(scope) and scope not in {token} | ALSO[token]), (method, path, token)
            assert await status_of(web, method, path, None) in ({401} if path != "/v1/ws" else {200}), (method, path)  # a socket may send its token


async def test_a_socket_whose_first_message_is_a_token_for_feedback_alone_is_closed(opened: Opened) -> None:
    async with served(sources=opened, tokens=TOKENS) as web, connect(web.address.replace("http", "ws", 1) + "/v1/ws", proxy=None) as socket:
        await socket.send(TOKEN["feedback"])
        await asyncio.wait_for(socket.wait_closed(), WAIT_S)
        assert socket.close_code == 4401


async def annotate(web: Served, token: str, **said: Any) -> Any:
    etag = (await web.get("/api/cases/e-0", token)).headers["etag"]
    body = {"annotations": [{"verdict": "fail"} | said]}
    return await web.client.patch("/api/cases/e-0", json=body, headers=web.bearer(token) | {"If-Match": etag})


async def test_a_reviewer_s_token_writes_in_the_reviewer_s_own_name_only(opened: Opened) -> None:
    async with served(sources=opened, tokens=NAMED) as web:
        for said in ({}, {"reviewer": "ann", "reviewPass": 2}):
            assert (await annotate(web, ANN, **said)).status_code == 200
        for reviewer in ("bob", "Ann", "ann ", "carol"):
            answer = await annotate(web, ANN, reviewer=reviewer)
            assert (answer.status_code, "this token writes as ann" in answer.json()["error"]) == (403, True), reviewer
        case = models.OneCase.model_validate((await web.get("/api/cases/e-0", ANN)).json())
        assert ([one.reviewer_id for one in case.annotations], case.can.reviewer) == (["ann", "ann"], "ann")


async def test_a_shared_token_writes_in_no_name_that_a_token_has_and_must_give_one(opened: Opened) -> None:
    async with served(sources=opened, tokens=NAMED) as web:
        for reviewer in ("ann", "ANN", " ann", "a\u200bnn", "\uff41nn", "imports"):
            answer = await annotate(web, SHARED, reviewer=reviewer)
            assert (answer.status_code, "another token has this reviewer's name" in answer.json()["error"]) == (403, True), reviewer
        assert (await annotate(web, SHARED)).status_code == 422
        assert (await annotate(web, SHARED, reviewer="carol")).status_code == 200
        assert (await annotate(web, IMPORTER, reviewer="ann")).status_code == 200
        assert (await annotate(web, IMPORTER)).json()["annotations"][-1]["reviewerId"] == "imports"


async def test_a_client_may_send_the_whole_array_back_with_what_others_wrote(opened: Opened) -> None:
    async with served(sources=opened, tokens=NAMED) as web:
        await annotate(web, BOB, verdict="pass")
        body = {"annotations": [{"reviewer": "bob", "verdict": "pass"}, {"reviewer": "ann", "verdict": "fail"}]}
        answer = await web.client.patch("/api/cases/e-0", json=body, headers=web.bearer(ANN) | {"If-Match": '"1"'})
        assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
        body["annotations"][0]["verdict"] = "fail"
        assert (await web.client.patch("/api/cases/e-0", json=body, headers=web.bearer(ANN) | {"If-Match": '"2"'})).status_code == 403


async def test_an_application_sends_traces_and_thumbs_and_no_verdict(opened: Opened) -> None:
    trace = {"traceId": "t-9", "outputs": {}}
    async with served(sources=opened, tokens=NAMED) as web:

        async def post(path: str, body: Any, token: str) -> int:
            return (await web.client.post(path, json=body, headers=web.bearer(token))).status_code

        assert await post("/api/traces", trace | {"annotations": [{"reviewerId": "ann", "verdict": "pass"}]}, APP) == 403
        assert await post("/api/traces", trace | {"annotations": {"quality_rating": "good"}}, APP) == 403
        assert await post("/api/traces", trace | {"annotations": [{"reviewerId": "bob"}]}, ANN) == 403
        assert await post("/api/traces", trace | {"annotations": []}, APP) == 201
        assert await post("/api/traces", {"traceId": "t-10", "outputs": {}, "annotations": [{"reviewerId": "bob"}]}, IMPORTER) == 201
        assert await post("/api/feedback", {"trace_id": "t-9", "rating": "up"}, APP) == 200


@pytest.mark.parametrize("name", ["a b", "a:b", "a=b", "a/b", "", "x" * 65, "\u00e9va"])
def test_a_name_that_would_make_another_entry_is_refused(name: str) -> None:
    table = {"token": "0123456789abcdef", "suites": "all", "scopes": ["annotate"], "name": name}
    if name == "":
        assert ServeSettings.model_validate({"tokens": [table]}).grants()[0].name == ""
        return
    with capture_logs(), pytest.raises(ValidationError, match="token 1"):
        ServeSettings.model_validate({"tokens": [table]})


def test_a_name_comes_from_a_table_or_from_one_line() -> None:
    table = {"token": "0123456789abcdef", "suites": ["one"], "scopes": "annotate", "name": "ann@example.org"}
    line = SecretStr("ann@example.org=one/annotate:0123456789abcdef")
    assert ServeSettings.model_validate({"tokens": [table]}).grants() == ServeSettings(tokens=(line,)).grants()
