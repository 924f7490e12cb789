"""Review queues over HTTP: made, listed, worked through by two reviewers who do not see each other's verdicts, and settled."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.store.histories import add, scored
from tests.ops.web.history import history
from tests.ops.web.served import Served, served
from touchstone.ops.store.results import ResultStore

ADMIN, ANN, BOB, READER = (f"{name:-<20}" for name in ("admin", "ann", "bob", "reader"))
TOKENS = (f"boss=all/admin+text+annotate:{ADMIN}", f"ann=all/annotate+text:{ANN}", f"bob=all/annotate+text:{BOB}", f"all:{READER}")
QUEUE = {"name": "failed", "title": "Failures", "filter": "label=Fail", "suite": "one", "random_size": 5, "reviewers": 2}


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Served]:
    """A history of twelve cases of the suite `one`, four of which failed."""
    with history(tmp_path) as sources:
        store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
        add(store, *(scored(f"c-{n}", 10 + n, suite="one", label="Fail" if n % 3 == 0 else "Pass", case=f"case-{n}") for n in range(9)))
        store.close()
        async with served(sources=sources, tokens=TOKENS) as found:
            yield found


async def sent(web: Served, method: str, path: str, token: str, json: Any = None, status: int = 200, **headers: str) -> Any:
    answer = await web.client.request(method, path, json=json, headers=web.bearer(token) | headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def made(web: Served, **changed: Any) -> Any:
    return await sent(web, "POST", "/api/queues", ADMIN, QUEUE | changed, 201)


async def said(web: Served, token: str, event: str, *, queue: str = "failed", status: int = 200, **what: Any) -> Any:
    path = f"/api/cases/{event}"
    etag = (await sent(web, "GET", path, ADMIN))["etag"]
    return await sent(web, "PATCH", path, token, {"annotations": [{"queue": queue, **what}]}, status, **{"If-Match": etag})


async def turn(web: Served, token: str, **body: Any) -> Any:
    return await sent(web, "POST", "/api/queues/failed/next", token, body)


async def test_a_queue_has_what_its_filter_chose_and_a_random_sample_of_the_suite_beside_it(web: Served) -> None:
    queue = await made(web)
    assert queue["total"] == sum(queue["arms"].values()) == sum(queue["counts"].values())
    assert queue["arms"]["random"] == 5
    assert queue["counts"]["open"] == queue["total"]
    items = (await sent(web, "GET", "/api/queues/failed/cases", ADMIN))["items"]
    assert [one["place"] for one in items] == list(range(queue["total"]))
    assert {"e-0", "c-0", "c-3", "c-6"} <= {one["event_id"] for one in items}
    assert [one["name"] for one in (await sent(web, "GET", "/api/queues", READER))["queues"]] == ["failed"]


async def test_two_reviewers_get_their_cases_in_order_and_do_not_see_each_other_s_verdicts(web: Served) -> None:
    await made(web)
    first = await turn(web, ANN)
    event = first["item"]["event_id"]
    assert (first["item"]["place"], first["done"], len(first["ahead"])) == (0, 0, 2)
    await said(web, ANN, event, verdict="fail", notes="it is wrong")
    blind = await sent(web, "GET", f"/api/cases/{event}?queue=failed", BOB)
    assert (blind["blind"], blind["results"], blind["annotations"]) == (True, [], [])
    item = next(one for one in (await sent(web, "GET", "/api/queues/failed/cases", BOB))["items"] if one["event_id"] == event)
    assert item.keys() & {"arm", "label"} == set()
    assert item["state"] == "needs_another"
    shown = await said(web, BOB, event, verdict="pass")
    assert shown["blind"] is False
    assert {one["reviewerId"]: one["verdict"] for one in shown["annotations"]} == {"ann": "fail", "bob": "pass"}
    assert (await sent(web, "GET", "/api/queues/failed", ANN))["counts"]["disagreed"] == 1
    (differing,) = (await sent(web, "GET", "/api/queues/failed/disagreements", ANN))["items"]
    assert [one["verdict"] for one in differing["annotations"]] == ["fail", "pass"]
    await said(web, BOB, event, verdict="fail", settled=True)
    queue = await sent(web, "GET", "/api/queues/failed", BOB)
    assert (queue["counts"]["settled"], queue["mine"]["done"]) == (1, 1)
    (differing,) = (await sent(web, "GET", "/api/queues/failed/disagreements", BOB))["items"]
    assert (differing["settled_by"], [one["verdict"] for one in differing["annotations"]]) == ("bob", ["fail", "pass", "fail"])
    assert queue["agreement"]["pairs"][0]["same"] == 0
