"""Review queues over HTTP: made, listed, worked through by two reviewers who do not see each other's verdicts, and settled."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.ops.store.histories import AT, add, scored
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import Served, served, toy_suite
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.schemas.case import SafeCase
from touchstone.schemas.reading import CaseReading, TextSection
from touchstone.schemas.result import ScoreResult

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
    assert item.keys() & {"arm", "label", "overall", "severity"} == set()
    assert item["state"] == "needs_another"
    shown = await said(web, BOB, event, verdict="pass")
    assert shown["blind"] is False
    assert {one["reviewerId"]: one["verdict"] for one in shown["annotations"]} == {"ann": "fail", "bob": "pass"}
    assert (await sent(web, "GET", "/api/queues/failed", ANN))["counts"]["disagreed"] == 1
    assert (await sent(web, "GET", "/api/queues/failed/disagreements", READER))["items"] == []  # without a verdict
    (differing,) = (await sent(web, "GET", "/api/queues/failed/disagreements", ANN))["items"]
    assert [one["verdict"] for one in differing["annotations"]] == ["fail", "pass"]
    await said(web, BOB, event, verdict="fail", settled=True)
    queue = await sent(web, "GET", "/api/queues/failed", BOB)
    assert (queue["counts"]["settled"], queue["mine"]["done"]) == (1, 1)
    (differing,) = (await sent(web, "GET", "/api/queues/failed/disagreements", BOB))["items"]
    assert (differing["settled_by"], [one["verdict"] for one in differing["annotations"]]) == ("bob", ["fail", "pass", "fail"])
    assert queue["agreement"]["pairs"][0]["same"] == 0


async def test_a_list_previews_score_and_severity_to_whoever_may_know_them(web: Served, tmp_path: Path) -> None:
    await made(web)
    await made(web, name="seen", blind=False)
    store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}")
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE touchstone_results SET overall = 0.25, severity = 'major' WHERE event_id = 'c-3'"))
    store.close()

    async def preview(queue: str) -> set[tuple[str, Any]]:
        items = (await sent(web, "GET", f"/api/queues/{queue}/cases", BOB))["items"]
        item = next(one for one in items if one["event_id"] == "c-3")
        return {(name, item[name]) for name in ("overall", "severity") if name in item}

    assert (await preview("seen"), await preview("failed")) == ({("overall", 0.25), ("severity", "major")}, set())
    await said(web, BOB, "c-3", verdict="fail")
    assert await preview("failed") == {("overall", 0.25), ("severity", "major")}


OPINION = "opinion-of-somebody"


def opinionated(_: Any, result: ScoreResult) -> CaseReading:
    """A reading whose text tells what the result says."""
    return CaseReading(suite="one", name="n", label=result.label, sections=(TextSection(id="a", title="A", text=f"{result.details} {result.findings}"),))


async def test_a_blind_reviewer_finds_no_opinion_in_any_answer_until_the_own_verdict_is_given(web: Served) -> None:
    """The word is in findings, details and values of the result, in the other's notes and in what the trace came with."""
    web.service.suites["one"] = replace(toy_suite("one"), cases={"safe": SafeCase}, reading=opinionated)  # type: ignore[index]
    sources = web.service.open_sources()  # type: ignore[misc]
    with sources.index.engine.begin() as connection:
        document = connection.execute(text("SELECT document FROM touchstone_results WHERE event_id = 'c-0' AND suite = 'one'")).scalar_one()
        told = orjson.loads(document) | {"details": {"a": OPINION}, "values": {OPINION: 0.5}}
        told["findings"] = [one | {"message": OPINION, "code": OPINION} for one in told["findings"]]
        connection.execute(text("UPDATE touchstone_results SET document = :d WHERE event_id = 'c-0' AND suite = 'one'"), {"d": orjson.dumps(told).decode()})
    kept = {"kind": "safe", "id": "c-0", "test_id": "case-0", "concern_id": "I25", "batch_id": "b1", "output": {"summary": "Text."}}
    kept |= {"annotations": [{"notes": OPINION}], "feedback": {"rating": OPINION}, "number": 0.10000000000000000001}
    sources.open_archive().keep("c-0", "safe", "", orjson.dumps(kept), at=AT)
    await made(web)
    await said(web, ANN, "c-0", verdict="fail", notes=OPINION, failureMode=OPINION)
    sources.index.rate("c-0", "down", AT)
    paths = [f"/api/cases/c-0{part}?queue=failed" for part in ("", "/reading", "/document")]
    for path in [*paths, "/api/queues/failed/cases", "/api/queues/failed/disagreements", "/api/queues/failed"]:
        answer = await web.get(path, BOB)
        assert (answer.status_code, OPINION in answer.text) == (200, False), (path, answer.text)
    assert (await sent(web, "GET", paths[0], BOB))["feedback"] is None
    reading = await sent(web, "GET", paths[1], BOB)
    assert (reading["blind"], reading["text"], reading["reading"]["label"]) == (True, "shown", "unscored")
    await said(web, BOB, "c-0", notes="thinking")  # no verdict yet
    assert (await sent(web, "GET", paths[0], BOB))["blind"] is True
    (own,) = (await sent(web, "GET", paths[0], BOB))["annotations"]
    assert (own["notes"], own["arm"]) == ("thinking", None)
    await said(web, BOB, "c-0", verdict="pass")
    assert (await sent(web, "GET", paths[0], BOB))["feedback"]["rating"] == "down"
    for path in [*paths, "/api/queues/failed/disagreements"]:
        assert OPINION in (await web.get(path, BOB)).text, path


async def test_a_reviewer_cannot_look_as_another_one(web: Served) -> None:
    await made(web)
    await said(web, ANN, "e-0", verdict="fail")
    for path in ("/api/cases/e-0?queue=failed&reviewer=ann", "/api/queues/failed?reviewer=ann", "/api/queues/failed/cases?reviewer=ann"):
        await sent(web, "GET", path, BOB, status=403)
    for path, status in (("queue=none", 404), ("reviewer=bob", 400), ("queue=failed&reviewer=a%00b", 400)):
        await sent(web, "GET", f"/api/cases/e-0?{path}", BOB, status=status)
    await sent(web, "GET", "/api/cases/t-0?queue=failed", BOB, status=404)


async def test_what_is_written_in_a_queue_has_what_the_queue_says_and_not_what_the_client_says(web: Served) -> None:
    await sent(web, "PUT", "/api/guidelines/labs", ADMIN, {"text": "Each condition has its lab."})
    await made(web, guideline="labs", review_pass=3)
    forged = {"arm": "random", "suite": "two", "guideline": "labs@9", "reviewPass": 1}
    (written,) = (await said(web, ANN, "c-0", verdict="fail", **forged))["annotations"]
    arm = next(one["arm"] for one in (await sent(web, "GET", "/api/queues/failed/cases", ANN))["items"] if one["event_id"] == "c-0")
    assert [written[name] for name in ("queue", "suite", "guideline", "reviewPass", "arm")] == ["failed", "one", "labs@1", 3, arm]
    await sent(web, "PUT", "/api/guidelines/labs", ADMIN, {"text": "Each condition has its key lab."})
    assert (await said(web, ANN, "c-0", verdict="pass"))["annotations"][0]["guideline"] == "labs@2"
    queue = await sent(web, "GET", "/api/queues/failed", ANN)
    assert (queue["guideline"], queue["guideline_text"]) == ("labs@2", "Each condition has its key lab.")
    (outside,) = (await said(web, ANN, "e-1", queue="", verdict="fail", arm="random", status=422)).values()  # an empty name is none
    assert "queue" in outside
    await said(web, ANN, "t-0", verdict="fail", status=404)


async def test_an_annotation_outside_of_a_queue_has_no_arm_and_settles_nothing(web: Served) -> None:
    for token, said_, status in ((ANN, {"verdict": "fail", "arm": "random"}, 200), (ANN, {"verdict": "fail", "settled": True}, 403),
                                 (ADMIN, {"settled": True}, 422), (ADMIN, {"verdict": "fail", "settled": True}, 200)):  # fmt: skip
        etag = (await sent(web, "GET", "/api/cases/e-1", ADMIN))["etag"]
        answer = await sent(web, "PATCH", "/api/cases/e-1", token, {"annotations": [said_]}, status, **{"If-Match": etag})
        assert status != 200 or {one["arm"] for one in answer["annotations"]} == {None}
    trace = {
        "traceId": "t-7",
        "prompt": "p",
        "persona": {},
        "outputs": {},
        "annotations": [{"reviewerId": "ann", "annotatedAt": "2026-01-01", "verdict": "fail", "settled": True, "queue": "failed"}],
    }
    await sent(web, "POST", "/api/traces", ANN, trace, 201)
    rows = web.service.open_sources().index.annotations((await sent(web, "GET", "/api/cases/t-7", ADMIN))["event_id"])  # type: ignore[misc]
    assert [(one.settled, one.queue) for one in rows] == [(False, "")]


async def test_only_disagreement_is_settled_and_by_one_who_has_a_verdict(web: Served) -> None:
    await made(web)
    settle = {"verdict": "pass", "settled": True}
    await said(web, ANN, "c-0", verdict="fail")
    await said(web, ANN, "c-0", status=403, **settle)  # the other verdict is missing
    await said(web, BOB, "c-0", status=403, **settle)
    await said(web, BOB, "c-0", verdict="pass")
    await said(web, BOB, "c-0", **settle)
    await said(web, BOB, "c-0", notes="as we agreed", **settle)  # its author may say more
    await said(web, ANN, "c-0", status=403, **settle)
    await said(web, ADMIN, "c-0", **settle | {"verdict": "fail"})
    assert (await sent(web, "GET", "/api/queues/failed/disagreements", ADMIN))["items"][0]["settled_by"] == "boss"


async def test_an_undone_verdict_is_none_and_a_case_waits_again(web: Served) -> None:
    await made(web, reviewers=1)
    await said(web, ANN, "c-0", verdict="fail")
    assert (await said(web, ANN, "c-0", withdrawn=True))["annotations"] == []
    counts = (await sent(web, "GET", "/api/queues/failed", ANN))["counts"]
    assert counts["open"] == sum(counts.values())
    await said(web, ANN, "c-0", verdict="pass", notes="again")
    assert (await sent(web, "GET", "/api/queues/failed", ANN))["mine"]["done"] == 1


async def test_somebody_who_has_not_seen_the_newest_state_of_a_case_writes_nothing(web: Served) -> None:
    await made(web)
    for status in (200, 412):
        body = {"annotations": [{"queue": "failed", "verdict": "fail", "notes": str(status)}]}
        await sent(web, "PATCH", "/api/cases/c-0", ANN, body, status, **{"If-Match": '"0"'})
    assert (await sent(web, "GET", "/api/queues/failed", ANN))["mine"]["done"] == 1


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"name": "Bad Name"}, 422), ({"filter": "colour=red"}, 422), ({"guideline": "none"}, 422), ({"size": 0}, 422), ({"share": 2}, 422), ({"seed": -1}, 422),
     ({"colour": 1}, 422), ({"reviewers": 21}, 422), ({"random_share": 1}, 422), ({"title": "a\nb"}, 422)],
)  # fmt: skip
async def test_a_queue_that_cannot_be_made_is_refused_in_one_line(web: Served, changed: dict[str, Any], status: int) -> None:
    answer = await sent(web, "POST", "/api/queues", ADMIN, QUEUE | changed, status)
    assert "\n" not in answer["error"]


async def test_a_reader_of_one_suite_sees_its_queues_alone(tmp_path: Path) -> None:
    with history(tmp_path) as sources:
        async with served(sources=sources, tokens=(f"all/admin:{ADMIN}", f"two/annotate:{ANN}")) as web:
            for name, suite in (("one", "one"), ("two", "two"), ("both", None)):
                await sent(web, "POST", "/api/queues", ADMIN, {"name": name, "suite": suite}, 201)
            assert [one["name"] for one in (await sent(web, "GET", "/api/queues", ANN))["queues"]] == ["two"]
            for name, status in (("one", 404), ("two", 200), ("both", 404)):
                await sent(web, "GET", f"/api/queues/{name}", ANN, status=status)
                await sent(web, "POST", f"/api/queues/{name}/next", ANN, {"reviewer": "x"}, status=status)
            await sent(web, "POST", "/api/queues/two/next", ANN, {}, status=422)


@pytest.mark.parametrize("token", [READER, ANN])
async def test_the_canary_s_name_is_in_no_answer_log_or_metric_about_queues_without_the_right_to_text(tmp_path: Path, token: str) -> None:
    with history(tmp_path) as sources:
        async with served(sources=sources, tokens=(f"boss=all/admin+annotate:{ADMIN}", f"ann=all/annotate:{ANN}", f"all:{READER}")) as web:
            with capture_logs() as logs:
                await sent(web, "POST", "/api/queues", ADMIN, {"name": "q", "suite": "one", "reviewers": 2, "guideline": None}, 201)
                about = {"notes": CANARY, "commonIssues": [CANARY], "failureMode": f"of {CANARY}", "severityTag": CANARY}
                mark = {"field": CANARY, "start": 0, "end": 3, "digest": "0" * 16}
                await said(web, ADMIN, "e-0", queue="q", verdict="fail", marks=[mark], **about)
                await said(web, ANN, "e-0", queue="q", verdict="pass", **about)
                seen = []
                for one in ADDRESSES:
                    if "queues" in one.path or one.path in {"/api/cases/{id}", "/api/cases/{id}/reading", "/metrics", "/api/guidelines"}:
                        path = one.path.replace("{id}", "q" if "queues" in one.path else "e-0").replace("{event}", "e-0")
                        asked = {"queue": "q", "reviewer": "ann"} if "/cases/{id}" in one.path and token == ANN else None
                        body = {"reviewer": "ann", "action": "reserve"} if "{event}" in path else {}
                        json_ = body if one.method != "get" else None
                        answer = await web.client.request(one.method, path, params=asked, json=json_, headers=web.bearer(token))
                        seen.append(answer.status_code)
                        assert CANARY not in answer.text + str(answer.headers), one
                assert seen.count(200) > 8
            assert CANARY not in str(logs)
