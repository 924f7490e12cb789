"""A link admits one reviewer to one queue: over every address of the OpenAPI document, every other thing refuses it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.ops.store.histories import add, scored
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import NOW, WAIT_S, Served, served
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.links import Linked, Signer
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.schemas.settings.house import ServeSettings, TokenGrant

ADMIN = "token-of-an-admin----"
TOKENS = (f"boss=all/admin+text+annotate:{ADMIN}",)
#: What a link opens: (method, path) → body. Its queue has the case e-0.
OPEN: dict[tuple[str, str], Any] = {
    ("get", "/api/queues/{id}"): None, ("get", "/api/queues/{id}/cases"): None, ("post", "/api/queues/{id}/next"): {},
    ("post", "/api/queues/{id}/cases/{event}"): {"action": "reserve"}, ("get", "/api/queues/{id}/disagreements"): None,
    ("get", "/api/queues/{id}/agreement"): None, ("get", "/api/settings/review"): None, ("get", "/api/cases/{id}"): None,
    ("patch", "/api/cases/{id}"): {"annotations": [{"verdict": "pass"}]}, ("get", "/api/cases/{id}/reading"): None,
    ("get", "/api/cases/{id}/document"): None,
}  # fmt: skip


@pytest.fixture(params=[TOKENS, ()], ids=["with tokens", "without tokens"])
async def web(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    """Three queues: `mine` with the failed cases of the suite `one` alone, `like` with all of that suite, `other` with all of the suite `two`."""
    with history(tmp_path) as sources:
        store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
        add(store, scored("e-9", 9, suite="one", label="Fail"))
        store.close()
        async with served(sources=sources, tokens=request.param) as found:
            for name, rest in (("mine", {"filter": "label=Fail", "suite": "one", "random_size": 0}), ("other", {"suite": "two"}), ("like", {"suite": "one"})):
                answer = await found.client.post("/api/queues", json={"name": name, **rest}, headers=found.bearer(ADMIN))
                assert answer.status_code == 201, answer.text
            yield found


async def link_of(web: Served, queue: str = "mine", reviewer: str = "ann", **body: Any) -> str:
    answer = await web.client.post(f"/api/queues/{queue}/links", json={"reviewer": reviewer, **body}, headers=web.bearer(ADMIN))
    assert answer.status_code == 201, answer.text
    place, _, token = answer.json()["address"].partition("#link=")
    assert place == f"/review/{queue}"
    return str(token)


async def asked(web: Served, token: str, method: str, path: str, json: Any = None, **headers: str) -> Any:
    return await web.client.request(method, path, json=json, headers=web.bearer(token) | headers)


def filled(path: str, queue: str = "mine", case: str = "e-0") -> str:
    return path.replace("{id}", queue if path.startswith("/api/queues") else case).replace("{event}", case)


async def test_a_link_opens_what_its_queue_needs_and_every_other_address_refuses_it(web: Served) -> None:
    token = await link_of(web)
    behind = {(one.method, one.path) for one in ADDRESSES if one.needs_token}
    assert behind > OPEN.keys()
    for method, path in sorted(behind):
        if path == "/v1/ws":
            continue
        body = OPEN.get((method, path), {}) if method in {"post", "put", "patch"} else None
        async with web.client.stream(method.upper(), filled(path), json=body, headers=web.bearer(token) | {"If-Match": '"0"'}) as answer:
            assert answer.status_code in ({200} if (method, path) in OPEN else {401, 403}), (method, path, await answer.aread())


async def test_no_stream_takes_a_link(web: Served) -> None:
    token = await link_of(web)
    address = web.address.replace("http", "ws", 1) + "/v1/ws"
    with pytest.raises(InvalidStatus) as refused:
        async with connect(address, additional_headers=web.bearer(token), proxy=None):
            pass
    assert refused.value.response.status_code == 403
    assert (await asked(web, token, "POST", "/v1/ticket")).status_code == 401
    if web.service.settings.serve.tokens:  # without tokens, a socket without a header is open to everybody
        async with connect(address, proxy=None) as socket:
            await socket.send(token)
            await socket.wait_closed()
            assert socket.close_code == 4401
        assert (await web.client.get(f"/v1/events?ticket={token}", timeout=WAIT_S)).status_code == 401


async def test_a_link_opens_no_other_queue_and_no_other_case(web: Served) -> None:
    token = await link_of(web)
    for (method, path), body in OPEN.items():
        of_queue, of_case = path.startswith("/api/queues"), path.startswith("/api/cases") or "{event}" in path
        for queue, case in [("other", "e-0"), ("like", "e-0")] * of_queue + [("mine", "t-0"), ("mine", "e-1")] * of_case:
            answer = await asked(web, token, method.upper(), filled(path, queue, case), body, **{"If-Match": '"0"'})
            assert answer.status_code == 404, (method, path, queue, case, answer.text)
    for query in ("queue=other", "queue=like", "queue=mine&reviewer=bob"):
        for path in ("/api/cases/e-0", "/api/cases/e-0/reading", "/api/cases/e-0/document"):
            assert (await asked(web, token, "GET", f"{path}?{query}")).status_code in {403, 404}


async def test_a_link_writes_as_its_reviewer_in_its_queue_and_nothing_else(web: Served) -> None:
    token = await link_of(web)
    for body in (
        {"annotations": [{"verdict": "pass", "reviewer": "bob"}]},
        {"annotations": [{"verdict": "pass", "queue": "other"}]},
        {"feedback": "up"},
    ):
        assert (await asked(web, token, "PATCH", "/api/cases/e-0", body, **{"If-Match": '"0"'})).status_code == 403
    assert (await asked(web, token, "POST", "/api/queues/mine/next", {"reviewer": "bob"})).status_code == 403
    answer = await asked(web, token, "PATCH", "/api/cases/e-0", {"annotations": [{"verdict": "pass", "arm": "random"}]}, **{"If-Match": '"0"'})
    (written,) = answer.json()["annotations"]
    assert (written["reviewerId"], written["queue"], written["suite"], written["arm"]) == ("ann", "mine", "one", "chosen")
    assert [one["suite"] for one in answer.json()["results"]] == ["one"]  # of the other suite of the event, nothing


async def test_a_link_shows_the_text_of_its_cases(web: Served) -> None:
    token = await link_of(web)
    assert CANARY in (await asked(web, token, "GET", "/api/cases/e-0/document")).text
    queue = (await asked(web, token, "GET", "/api/queues/mine")).json()
    assert (queue["reviewer"], queue["filter"], queue["mine"]["left"]) == ("ann", "", 2)


async def test_a_link_that_was_revoked_has_ended_or_was_changed_opens_nothing(web: Served) -> None:
    token = await link_of(web)
    tokens = web.service.settings.serve.grants()
    row = web.service.open_sources().queues.get("mine")  # type: ignore[misc]
    ended = Signer(tokens).signed(Linked("mine", "ann", int(NOW)), row.link_key)
    of_others = Signer((TokenGrant("x" * 20, None, frozenset()),)).signed(Linked("mine", "ann", int(NOW) + 60), row.link_key)
    of_another_queue = Signer(tokens).signed(Linked("mine", "ann", int(NOW) + 60), "another key")
    for bad in (ended, of_others, of_another_queue, token[:-1], f"{token}0", "link.", "link.e30.x", "link.W10.", "link.é"[:5]):
        assert (await asked(web, bad, "GET", "/api/queues/mine")).status_code == 401, bad
    assert (await asked(web, token, "GET", "/api/queues/mine")).status_code == 200
    assert (await asked(web, ADMIN, "DELETE", "/api/queues/mine/links")).json() == {"revoked": True}
    assert (await asked(web, token, "GET", "/api/queues/mine")).status_code == 401
    assert (await asked(web, await link_of(web), "GET", "/api/queues/mine")).status_code == 200


async def test_a_link_says_whether_anything_else_is_closed(web: Served) -> None:
    answer = await asked(web, ADMIN, "POST", "/api/queues/mine/links", {"reviewer": "ann", "expires_in_s": 3600})
    assert answer.json()["is_enforced"] is bool(web.service.settings.serve.tokens)
    assert answer.json()["expires_at"] == "2027-01-15T09:00:30.000Z"
    for body in ({}, {"reviewer": "ann", "expires_in_s": 10**9}, {"reviewer": "a\nb"}):
        assert (await asked(web, ADMIN, "POST", "/api/queues/mine/links", body)).status_code == 422


def test_a_token_that_looks_like_a_link_is_a_token() -> None:
    """It is in the settings, so it is looked for there first."""
    from touchstone.ops.web.access import Access

    token = "link.of-an-operator--"
    grant = Access(ServeSettings(tokens=(f"all:{token}",)).grants(), 30).by_header(f"Bearer {token}")
    assert grant is not None
    assert grant.link == ""
