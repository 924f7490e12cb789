import json
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from tests.ops.web.served import ALL, NOW, ONE, TOKENS, TWO, Served, served, toy_suite
from tests.streams.subscription.made import P0, R0, R1, event, publish, read, record, report_bytes
from touchstone.ops.web import response_models
from touchstone.ops.web.openapi import ADDRESSES
from touchstone.ops.web.suite_documents import named_by
from touchstone.schemas.settings.house import HttpSettings, Settings, TopicSettings, WorkerSettings
from touchstone.streams.subscription.events import Event, Outcomes

CANARY = "zanzibar-canary"
FINDING = {"severity": "major", "code": "too_long", "path": "output.summary", "message": CANARY, "suggestion": CANARY}
#: A socket says who it is in its first message: test_web_socket.py.
NEEDING_A_TOKEN = [address for address in ADDRESSES if address.needs_token and address.path != "/v1/ws"]


def filled(web: Served) -> None:
    """Two suites' results, of which one was scored again, with a report and a ledger record."""
    told: list[tuple[Any, int, dict[str, Any]]] = [
        (R0, 0, {"suite": "one", "label": "Pass", "values": {"score": 0.9, "loss": 0.1}}),
        (R0, 1, {"suite": "one", "label": "Fail", "values": {"score": 0.2, "loss": 0.8}, "findings": [FINDING]}),
        (R0, 2, {"suite": "one", "label": "Fail", "values": {"score": 0.4, "loss": 0.7}}),
        (R0, 3, {"suite": "one", "label": "unscored", "values": {}, "failures": [{"component": "score", "kind": "error", "code": "broken"}]}),
        (R1, 0, {"suite": "two", "label": "Review", "values": {"score": 0.5}, "attributes": {"concern_id": "secret", "batch_id": "z"}}),
    ]
    publish(web.hub, *(event(f"{place[0]}{place[1]}.{offset}", place, offset, **fields) for place, offset, fields in told))
    publish(web.hub, event("r0.0", R0, 4, suite="one", label="Review", values={"score": 0.6, "loss": 0.5}))  # r0.0 again
    reports = [read(record(P0, offset, report_bytes("b", final=bool(offset)), "one:v1:result", ce_source="/touchstone/projector/one")) for offset in range(2)]
    publish(web.hub, *(one for one in reports if isinstance(one, Event)))
    web.hub.publish([(R0, 5, Outcomes("one", int(NOW * 1000), {("dead", "not_json"): 3, ("skipped", "other_kind"): 2}))])


async def test_a_summary_counts_each_result_once_as_it_was_scored_last() -> None:
    async with served() as web:
        filled(web)
        answer = (await web.get("/v1/summary?minutes=60")).json()
        response_models.Summary.model_validate(answer)
        one, two = answer["suites"]
        assert (one["suite"], one["total"], one["labels"]) == ("one", 4, {"Pass": 0, "Review": 1, "Fail": 2, "unscored": 1})
        assert (one["pass_rate"], one["dead_letters"], answer["dead_letters"]) == (0.0, 3, 3)
        assert sum(minute["Fail"] for minute in one["minutes"]) == 2
        assert (one["minutes"][0]["at"], one["minutes"][-1]["at"], len(one["minutes"])) == ("2027-01-15T07:00:00.000Z", "2027-01-15T08:00:00.000Z", 61)
        assert one["codes"] == [{"code": "broken", "count": 1}, {"code": "too_long", "count": 1}]
        score, loss = one["values"]
        assert (score["name"], score["better"], loss["better"], score["count"]) == ("score", "higher", "lower", 3)
        assert score["mean"] == pytest.approx(0.4)
        assert score["quantiles"]["p50"] == pytest.approx(0.4)
        assert sum(score["bins"]) == 3
        assert two["labels"]["Review"] == 1
        assert answer["connection"]["state"] == "live"
        assert answer["position"] == web.hub.id


async def test_outcomes_say_where_events_ended_without_a_result_to_those_who_may_see_the_suite() -> None:
    lost = {("dead", "not_json"): 3, ("expired", "expired"): 4, ("skipped", "other_kind"): 2}
    places = (("dead", "not_json", 5, 7), ("expired", "expired", 0, 3))
    async with served(tokens=TOKENS) as web:
        web.hub.publish([(R0, 0, Outcomes("one", int(NOW * 1000), lost, "t", 1, places))])
        web.hub.publish([(R0, 1, Outcomes("one", int((NOW - 3600) * 1000), lost, "t", 1, places))])
        answer = (await web.get("/v1/outcomes?minutes=15", ONE)).json()
        assert answer["events"] == 7
        assert [(one["outcome"], one["topic"], one["partition"], one["first"], one["last"]) for one in answer["outcomes"]] == [
            ("expired", "t", 1, 0, 3),
            ("dead", "t", 1, 5, 7),
        ]
        assert (await web.get("/v1/outcomes?minutes=120&outcome=dead&limit=1", ONE)).json()["events"] == 6
        assert (await web.get("/v1/outcomes", TWO)).json() == {"events": 0, "outcomes": []}
        for refused in ("outcome=lost", "label=Fail"):
            assert (await web.get(f"/v1/outcomes?{refused}", ONE)).status_code == 400


async def test_the_bins_of_a_value_are_counted_between_the_edges_that_are_told() -> None:
    async with served() as web:
        told = [0.0, 0.049, 0.05, 0.15, 0.7, 0.95, 1.0]
        publish(web.hub, *(event(str(number), R0, number, values={"score": value}) for number, value in enumerate(told)))
        answer = (await web.get("/v1/summary?minutes=60")).json()
        (score,) = next(suite for suite in answer["suites"] if suite["suite"] == "one")["values"]
        edges = score["edges"]
        between = [sum(low <= value < high for value in told) for low, high in pairwise(edges)]
        between[-1] += told.count(edges[-1])
        assert score["bins"] == between
        assert (edges[0], edges[1], edges[3], edges[14], edges[-1]) == (0.0, 0.05, 0.15, 0.7, 1.0)


async def test_the_minutes_of_a_summary_add_up_to_its_labels() -> None:
    async with served() as web:
        now_ms = int(NOW * 1000)
        publish(web.hub, *(replace(event(str(number), R0, number), at_ms=now_ms - number * 10_000) for number in range(20)))
        (one,) = [suite for suite in (await web.get("/v1/summary?minutes=2")).json()["suites"] if suite["suite"] == "one"]
        assert one["labels"]["Pass"] == 13  # the last two minutes, to the second
        assert [minute["Pass"] for minute in one["minutes"]] == [3, 6, 4]


async def test_a_summary_names_where_another_version_or_configuration_began() -> None:
    async with served() as web:
        now_ms = int(NOW * 1000)
        scored_with = [("1", "aa"), ("1", "aa"), ("1", "bb"), ("1", "bb"), ("1", "aa"), ("2", "aa")]
        events = [
            replace(event(str(number), R0, number, suite_version=version, config_digest=digest), at_ms=now_ms - (10 - number) * 60_000)
            for number, (version, digest) in enumerate(scored_with)
        ]
        publish(web.hub, *events, event("other", R1, 0, suite="two"))
        one, two = (await web.get("/v1/summary")).json()["suites"]
        changes = [(change["at"], change["suite_version"], change["config_digest"]) for change in one["changes"]]
        assert changes == [("2027-01-15T07:52:30.000Z", "1", "bb"), ("2027-01-15T07:54:30.000Z", "1", "aa"), ("2027-01-15T07:55:30.000Z", "2", "aa")]
        assert two["changes"] == []


async def test_two_configurations_at_once_are_one_change_while_both_go_on() -> None:
    async with served() as web:
        began_ms = int(NOW * 1000) - 600_000
        for number in range(40):
            both = event(str(number), R0, number, config_digest="aabb"[number % 4] * 2)
            publish(web.hub, replace(both, at_ms=began_ms + number * 10_000))
        one, _ = (await web.get("/v1/summary")).json()["suites"]
        assert [change["config_digest"] for change in one["changes"]] == ["bb"]


async def test_the_position_of_a_summary_is_where_a_stream_goes_on() -> None:
    async with served() as web:
        filled(web)
        position = (await web.get("/v1/summary")).json()["position"]
        publish(web.hub, event("next", R0, 6))
        async with web.stream(f"/v1/events?since={position}") as stream:
            assert (await anext(stream)).data["event_id"] == "next"


async def test_a_summary_tells_when_events_do_not_come() -> None:
    async with served() as web:
        web.hub.offline("the broker does not answer (KafkaConnectionError)")
        connection = (await web.get("/v1/summary")).json()["connection"]
        assert (connection["state"], connection["reason"]) == ("away", "the broker does not answer (KafkaConnectionError)")
        ready = await web.get("/readyz")
        assert (ready.status_code, "does not answer" in ready.text) == (503, True)
        assert (await web.get("/healthz")).status_code == 200
        web.hub.online()
        assert (await web.get("/readyz")).status_code == 200


async def test_results_are_the_worst_first() -> None:
    async with served() as web:
        filled(web)
        answer = (await web.get("/v1/results?suite=one")).json()
        response_models.Results.model_validate(answer)
        assert [(result["label"], result["event_id"]) for result in answer["results"]] == [
            ("Fail", "r0.1"), ("Fail", "r0.2"), ("unscored", "r0.3"), ("Review", "r0.0"),
        ]  # fmt: skip
        assert answer["results"][0]["findings"] == [{"severity": "major", "code": "too_long", "path": "output.summary"}]
        assert len((await web.get("/v1/results?limit=1&label=Fail")).json()["results"]) == 1


async def test_a_result_tells_where_its_event_lies_and_how_to_score_it_again() -> None:
    async with served() as web:
        filled(web)
        answer = (await web.get("/v1/results/r-r0.1")).json()
        response_models.OneResult.model_validate(answer)
        assert answer["position"] == {"topic": "touchstone.results", "partition": 0, "offset": 1}
        assert answer["source"] == {"topic": "touchstone.generations", "partition": 0, "offset": 1}
        assert answer["replay"] == "touchstone score one --from-topic 'touchstone.generations[0]@1' --verbose"
        assert answer["event"]["label"] == "Fail"


async def test_the_command_names_the_topics_id_where_it_is_known() -> None:
    """Another event is at the same place of a topic that was deleted and made anew."""
    async with served() as web:
        known = {"topic": "t", "partition": 0, "offset": 1, "topic_id": "R0DVeBuFQpSzz5Uvv745aA"}
        publish(web.hub, event("a", R0, 0, source=known))
        publish(web.hub, event("b", R0, 1, source=known | {"topic_id": "x'; rm"}))
        assert (await web.get("/v1/results/r-a")).json()["replay"] == "touchstone score one --from-topic 't[0]@1#R0DVeBuFQpSzz5Uvv745aA' --verbose"
        assert (await web.get("/v1/results/r-b")).json()["replay"] == "touchstone score one --from-topic 't[0]@1' --verbose"


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("a b/c.json", "touchstone score one 'a b/c.json' --verbose"),
        ("-x.json", None),
        ("https://host/api/traces/a", None),
        ("a\nb", None),
    ],
)
async def test_a_result_of_a_file_tells_how_to_score_the_file_again(file: str, command: str | None) -> None:
    async with served() as web:
        publish(web.hub, event("a", R0, 0, source={"file": file, "place": ""}))
        assert (await web.get("/v1/results/r-a")).json()["replay"] == command


async def test_a_place_that_a_shell_would_misread_gives_no_command() -> None:
    async with served() as web:
        publish(web.hub, event("a", R0, 0, source={"topic": "x; rm -rf /", "partition": 0, "offset": 1}))
        assert (await web.get("/v1/results/r-a")).json()["replay"] is None


async def test_a_batch_has_its_latest_reports() -> None:
    async with served() as web:
        filled(web)
        listed = (await web.get("/v1/batches")).json()
        response_models.Batches.model_validate(listed)
        assert [batch["batch_id"] for batch in listed["batches"]] == ["b"]
        one = (await web.get("/v1/batches/p-b")).json()
        response_models.OneBatch.model_validate(one)
        assert [report["report"]["final"] for report in one["reports"]] == [True, False]
        assert (await web.get("/v1/batches?suite=two")).json() == {"batches": []}


async def test_suites_say_what_they_are() -> None:
    async with served() as web:
        filled(web)
        publish(web.hub, event("x", R0, 6, suite="not_installed"))
        answer = (await web.get("/v1/suites")).json()
        response_models.Suites.model_validate(answer)
        assert [(suite["name"], suite["installed"], suite["concerns"]) for suite in answer["suites"]] == [
            ("not_installed", False, ["c"]), ("one", True, ["c"]), ("two", True, ["secret"]),
        ]  # fmt: skip
        one = answer["suites"][1]
        assert (one["title"], one["named_by"]) == ("Suite one", "case_id")
        assert [(part["name"], part["better"], part["places"]) for part in one["components"]] == [
            ("score", "higher", 2),
            ("loss", "lower", 3),
            ("third", "higher", 2),
        ]


@pytest.mark.parametrize(
    ("call", "said"),
    [(lambda event_id, _: event_id, "event_id"), (lambda event_id, case_id: f"{event_id}/{case_id}", None), (lambda *_: 1 / 0, None)],
)
def test_a_suite_says_by_which_id_its_cases_are_called(call: Any, said: str | None) -> None:
    assert named_by(replace(toy_suite("one"), call=call)) == said


async def test_without_a_token_there_is_nothing() -> None:
    async with served(tokens=TOKENS) as web:
        filled(web)
        asked = [
            (address.method, address.path.replace("{id}", "r-r0.1"), headers)
            for address in NEEDING_A_TOKEN
            for headers in ({}, {"Authorization": "Bearer wrong-wrong-wrong"}, {"Authorization": f"Basic {ALL}"})
        ]
        for method, path, headers in asked:
            answer = await web.client.request(method, path, headers=headers)
            said = (answer.status_code, answer.json(), answer.headers["www-authenticate"])
            # Whoever sent one is told that it is wrong, and not that one is needed.
            why = "the Authorization header has no token of this service; send Bearer and one of serve.tokens" if headers else "a bearer token is required"
            assert said == (401, {"error": why}, "Bearer"), (method, path, headers)


async def test_a_token_for_one_suite_finds_no_trace_of_another() -> None:
    async with served(tokens=TOKENS) as web:
        filled(web)
        of_one = {path: await web.get(path, ONE) for path in ("/v1/summary", "/v1/results", "/v1/suites", "/v1/batches", "/v1/results?suite=two")}
        for answer in of_one.values():
            assert answer.status_code == 200
            assert not {"two", "secret", "Suite two"} & set(json.dumps(answer.json()).replace('"', " ").split())
        assert of_one["/v1/results?suite=two"].json() == {"results": []}
        assert len(of_one["/v1/results"].json()["results"]) == 4
        for path in ("/v1/results/r-r0.1", "/v1/batches/p-b"):
            assert (await web.get(path, ONE)).status_code == 200
            assert (await web.get(path, TWO)).status_code == 404
        two = (await web.get("/v1/summary", TWO)).json()
        assert ([suite["suite"] for suite in two["suites"]], two["dead_letters"]) == (["two"], 0)


@pytest.mark.parametrize("odd", ["a/b", "/", "//x/", "?minutes=0", "a#b", "50%", "%2F", "a b\n", "..%2f..", "ä\u202e", "{id}", "é" * 500])
async def test_a_result_and_a_batch_are_found_whatever_their_ids_hold(odd: str) -> None:
    async with served() as web:
        (report,) = [read(record(P0, 0, report_bytes("b", report_id=odd), "one:v1:result"))]
        assert isinstance(report, Event)
        publish(web.hub, event("x", result_id=odd), report)
        assert (await web.get(f"/v1/results/{quote(odd, safe='')}")).json()["result_id"] == odd
        assert (await web.get(f"/v1/batches/{quote(odd, safe='')}")).json()["report_id"] == odd


async def test_what_a_finding_says_is_only_in_the_event_itself() -> None:
    async with served() as web:
        filled(web)
        for path in ("/v1/summary", "/v1/results", "/v1/batches", "/v1/suites", "/metrics", "/openapi.json", "/"):
            assert CANARY not in (await web.get(path)).text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/summary?minutes=0", 400), ("/v1/summary?minutes=9999", 400), ("/v1/results?limit=501", 400), ("/v1/results/" + "x" * 513, 400),
     ("/v1/results/none", 404), ("/v1/batches/none", 404), ("/v1/nothing", 404), ("/v1/results?suite=" + "x" * 9000, 414), ("/asyncapi.yaml", 404)],
)  # fmt: skip
async def test_a_request_out_of_bounds_is_one_line(path: str, status: int) -> None:
    async with served() as web:
        answer = await web.get(path)
        assert answer.status_code == status
        assert answer.json()["error"]
        assert (await web.client.post("/v1/summary")).status_code == 405


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1:1", 200), ("localhost", 200), ("[::1]:8321", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403)]
)
async def test_on_loopback_only_its_own_names_are_answered(host: str, status: int) -> None:
    async with served() as web:
        assert (await web.get("/v1/summary", Host=host)).status_code == status


async def test_other_names_can_be_allowed() -> None:
    async with served(allowed_hosts=("watch.example.org",)) as web:
        assert (await web.get("/healthz", Host="watch.example.org")).status_code == 200
        assert (await web.get("/healthz", Host="other.example.org")).status_code == 403
        assert (await web.get("/healthz", Host="10.1.2.3:8750")).status_code == 200, "a probe uses the pod's address, and no name was resolved for it"


async def test_every_answer_has_the_headers_that_keep_a_browser_safe() -> None:
    async with served(tokens=TOKENS) as web:
        for path in ("/", "/v1/summary", "/v1/nothing", "/healthz"):
            headers = (await web.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe-inline" not in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store"
            assert "server" not in headers


async def test_pages_of_other_origins_read_only_where_they_are_allowed() -> None:
    async with served(cors_origins=("https://watch.example.org",)) as web:
        allowed = await web.get("/v1/summary", Origin="https://watch.example.org")
        assert allowed.headers["access-control-allow-origin"] == "https://watch.example.org"
        assert "access-control-allow-origin" not in (await web.get("/v1/summary", Origin="https://evil.example")).headers
    async with served() as web:
        assert "access-control-allow-origin" not in (await web.get("/v1/summary", Origin="https://watch.example.org")).headers


async def test_a_defect_is_one_line_in_log_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from structlog.testing import capture_logs

    async with served() as web:
        monkeypatch.setattr("touchstone.ops.web.documents.suite_document", lambda *_, **__: {}["x"])
        with capture_logs() as logs:
            answer = await web.get("/v1/suites")
        assert answer.status_code == 500
        assert [(line["event"], line["code"]) for line in logs] == [("request_failed", "KeyError")]


async def test_the_documents_name_the_topics_as_they_are_configured() -> None:
    own = Settings(topics=TopicSettings(results="my.results", generations="my.generations", dead="my.dead"), worker=WorkerSettings(group_prefix="mine"))
    async with served(house=own) as web:
        about = (await web.get("/openapi.json")).json()["info"]["description"]
        assert about == "Results and reports, as on the topics my.results and touchstone.reports."
        text = (await web.get("/asyncapi.json")).text
    topics = {channel["address"] for channel in json.loads(text)["channels"].values()}
    assert topics == {"my.results", "touchstone.reports", "my.dead"}  # these suites read none
    assert not [name for name in ('"touchstone.results"', '"touchstone.generations"', '"touchstone.dead"') if name in text]
    assert '"my.generations"' in text


@pytest.mark.parametrize("path", ["/metrics", "/v1/summary"])
async def test_the_token_of_every_process_s_metrics_is_good_for_metrics_alone(path: str) -> None:
    async with served(tokens=TOKENS, house=Settings(http=HttpSettings(token=SecretStr("scraper")))) as web:
        assert (await web.get(path, "scraper")).status_code == (200 if path == "/metrics" else 401)
        assert (await web.get(path, "another")).status_code == 401


async def test_the_contract_of_the_topics_names_the_suites_that_a_token_sees() -> None:
    async with served(tokens=TOKENS) as web:
        messages = (await web.get("/asyncapi.json", ONE)).json()["components"]["messages"]
        assert "report-event.one" in messages
        assert "report-event.two" not in messages
        assert "report-event.two" in (await web.get("/asyncapi.json", ALL)).json()["components"]["messages"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
     ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Origin": "https://watch.example.org"}, 200)],
)  # fmt: skip
async def test_a_page_of_another_origin_cannot_send_a_form(headers: dict[str, str], status: int) -> None:
    async with served(cors_origins=("https://watch.example.org",)) as web:
        assert (await web.client.post("/v1/ticket", headers=headers)).status_code == status
        own = {"Origin": web.address}
        assert (await web.client.post("/v1/ticket", headers=own)).status_code == 200
