import json
from typing import Any

import pytest

from tests.ops.selftest.systems import Handler, HttpServer, TaskService
from touchstone.ops.selftest import http_system
from touchstone.ops.selftest.http_system import HttpEndpoint
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task
from touchstone.scorers.selftest.system_settings import HttpSystem

TASK = Task("selftest-20260206-1234-a001", "selftest-20260206-1234-a", "Please organise it.")
DONE = {"status": "COMPLETE", "output": "x", "task_id": "t1"}


def endpoint(url: str, **fields: Any) -> HttpEndpoint:
    return HttpEndpoint(HttpSystem.model_validate({"adapter": "http", "url": url, "poll_interval_seconds": 0.01, **fields}))


async def asked(handler: Handler, timeout_s: float = 20, **fields: Any) -> Outcome:
    async with HttpServer(handler) as server:
        system = endpoint(server.url, **fields)
        try:
            return await system.ask(TASK, timeout_s)
        finally:
            await system.close()


async def fault(handler: Handler, timeout_s: float = 20) -> SystemFault:
    with pytest.raises(SystemFault) as raised:
        await asked(handler, timeout_s)
    return raised.value


async def test_a_task_is_submitted_polled_replied_to_and_polled_again() -> None:
    async with HttpServer(TaskService()) as server:
        system = endpoint(server.url)
        before = await system.ask(TASK, 20)
        assert (before.status, before.task_id) == ("AWAITING_RESPONSE", "t1")
        after = await system.reply(TASK, before, "Flat.", 20)
        await system.close()
    assert (after.status, after.output) == ("COMPLETE", "All guides in docs/, one level deep.")
    posted = [(path, document) for method, path, document, _ in server.seen if method == "POST"]
    assert [path for path, _ in posted] == ["/tasks", "/tasks/t1/reply"]
    assert all(document["task_type"] == "READ_INFO" and document["session_id"] == TASK.session_id for _, document in posted)


async def test_the_answer_to_a_follow_up_is_not_the_one_before_it() -> None:
    async with HttpServer(TaskService()) as server:
        system = endpoint(server.url)
        before = await system.ask(Task(TASK.session_id, TASK.task_group_id, "Summarise it."), 20)
        after = await system.reply(TASK, before, "And the guides?", 20)
        await system.close()
    assert (before.status, after.status, after.output) == ("COMPLETE", "COMPLETE", "All guides in docs/, one level deep.")


async def test_a_server_that_answers_at_once_is_not_polled() -> None:
    async with HttpServer(lambda *_: (200, DONE)) as server:
        system = endpoint(server.url)
        assert await system.ask(TASK, 20) == Outcome("t1", "COMPLETE", "x")
        await system.close()
    assert len(server.seen) == 1


async def test_paths_and_token_are_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEM_TOKEN", "abc")
    async with HttpServer(lambda method, *_: (200, DONE if method == "GET" else {"taskId": "a:1"})) as server:
        system = endpoint(server.url + "/api/", submit_path="/v1/ask", status_path="/v1/state/{task_id}", token_variable="SYSTEM_TOKEN")
        await system.ask(TASK, 20)
        await system.close()
    assert [path for _, path, _, _ in server.seen] == ["/api/v1/ask", "/api/v1/state/a%3A1"]
    assert all(headers["authorization"] == "Bearer abc" for *_, headers in server.seen)


async def test_the_same_question_again_after_a_reply_is_an_answer_where_nothing_else_comes() -> None:
    question = {"status": "AWAITING_RESPONSE", "output": "Flat or nested?", "task_id": "t1"}
    async with HttpServer(lambda *_: (200, question)) as server:
        system = endpoint(server.url)
        before = await system.ask(TASK, 20)
        assert await system.reply(TASK, before, "Flat.", 2) == before
        await system.close()


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ((500, {"error": "a secret"}), "refused"),
        ((401, {}), "refused"),
        ((302, {}), "refused"),
        ((200, b"<html>"), "unreadable"),
        ((200, b"[" * 100_000), "unreadable"),
        ((200, []), "unreadable"),
        ((200, {}), "unreadable"),
        ((200, {"status": "COMPLETE", "output": 3}), "unreadable"),
        ((200, {"status": 3}), "unreadable"),
        ((200, {"task_id": "../../admin"}), "unreadable"),
        ((200, {"status": "COMPLETE", "output": "x" * 1_000_001}), "too_large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "broken"),
        (b"nonsense\r\n\r\n", "broken"),
        (b"", "broken"),
    ],
)
async def test_a_fault_of_the_server_is_named_and_not_quoted(told: Any, code: str) -> None:
    error = await fault(lambda *_: told)
    assert error.code == code
    assert "secret" not in str(error)


async def test_a_task_is_not_carried_to_where_nobody_has_sent_it() -> None:
    moved = b"HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    assert (await fault(lambda _, path, __: (200, DONE) if path == "/elsewhere" else moved)).code == "refused"


async def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_system, "BODY_BYTES_MAX", 1000)
    assert (await fault(lambda *_: (200, {"x": "y" * 2000}))).code == "too_large"


async def test_a_server_that_hangs_times_out() -> None:
    assert (await fault(lambda *_: None, 0.2)).code == "timeout"


async def test_a_task_that_never_ends_times_out() -> None:
    assert (await fault(lambda *_: (200, {"status": "RUNNING", "task_id": "t1"}), 0.3)).code == "timeout"


async def test_nobody_at_the_address_is_unreachable() -> None:
    async with HttpServer(lambda *_: None) as server:
        url = server.url
    with pytest.raises(SystemFault) as raised:
        await endpoint(url).ask(TASK, 20)
    assert raised.value.code == "unreachable"


async def test_an_error_while_it_works_does_not_end_a_task() -> None:
    states: list[Any] = [(503, {}), (502, {}), (200, DONE)]
    assert (await asked(lambda method, *_: (200, {"task_id": "t1"}) if method == "POST" else states.pop(0))).status == "COMPLETE"


async def test_a_task_that_the_server_does_not_know_any_more_is_a_fault_at_once() -> None:
    assert (await fault(lambda method, *_: (200, {"task_id": "t1"}) if method == "POST" else (404, {}))).code == "refused"


def test_credentials_in_a_url_are_refused_without_quoting_them() -> None:
    with pytest.raises(ConfigError) as raised:
        endpoint("http://user:hunter2@127.0.0.1:1")
    assert "hunter2" not in str(raised.value)


def test_a_token_that_is_not_set_is_told() -> None:
    with pytest.raises(ConfigError, match="NO_SUCH_TOKEN is not set"):
        endpoint("http://127.0.0.1:1", token_variable="NO_SUCH_TOKEN")


def test_the_task_is_json_as_it_is() -> None:
    assert json.loads(json.dumps(TASK.document()))["prompt"] == "Please organise it."
