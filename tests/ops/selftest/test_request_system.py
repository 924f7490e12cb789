import functools
from typing import Any

import pytest
from pydantic import ValidationError

from tests.ops.selftest.systems import Handler, HttpServer
from touchstone.ops.selftest import request_system
from touchstone.ops.selftest.request_system import HttpRequest
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest import turns
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task
from touchstone.scorers.selftest.system_settings import RequestSystem

TASK = Task("selftest-20260206-1234-a001", "selftest-20260206-1234-a", "Tell what é & {{answer}} is.")
CHAT = {"answer": "choices[0].message.content", "body": {"model": "m", "messages": "{{messages}}"}}


def chat(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}}]}


def system(url: str, **fields: Any) -> HttpRequest:
    return HttpRequest(RequestSystem.model_validate({"adapter": "request", "url": url, **fields}))


async def asked(handler: Handler, timeout_s: float = 20, **fields: Any) -> Outcome:
    async with HttpServer(handler) as server:
        tested = system(f"{server.url}/chat", **fields)
        try:
            return await tested.ask(TASK, timeout_s)
        finally:
            await tested.close()


async def test_a_conversation_is_carried_by_the_template() -> None:
    answers = [{**chat("Which one?"), "id": "c-7"}, {**chat("The second."), "id": "c-8"}]
    async with HttpServer(lambda *_: (200, answers.pop(0))) as server:
        body = {"messages": "{{messages}}", "thread": "{{thread}}", "said": "before: {{answer}}", "turn": "{{turn}}", "session": "{{session_id}}"}
        tested = system(f"{server.url}/chat", answer=CHAT["answer"], body=body, carry={"thread": "id"}, question_awaits=True)
        before = await tested.ask(TASK, 20)
        after = await tested.reply(TASK, before, "The second one.", 20)
        await tested.close()
    assert (before.status, after.status, after.output) == ("AWAITING_RESPONSE", "COMPLETE", "The second.")
    user = {"role": "user", "content": TASK.prompt}
    assert [document for _, _, document, _ in server.seen] == [
        {"messages": [user], "thread": None, "said": "before: ", "turn": 1, "session": TASK.session_id},
        {
            "messages": [user, {"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "The second one."}],
            "thread": "c-7", "said": "before: Which one?", "turn": 2, "session": TASK.session_id,
        },
    ]  # fmt: skip


async def test_a_place_in_the_url_is_encoded_and_a_text_is_an_answer_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEM_KEY", "hunter2")
    async with HttpServer(lambda *_: (200, b" Plain words.\n")) as server:
        tested = system(f"{server.url}/ask?q={{{{prompt}}}}&n=1", method="GET", headers={"Authorization": "Bearer ${SYSTEM_KEY}", "X-Version": "2"})
        outcome = await tested.ask(TASK, 20)
        await tested.close()
    assert (outcome.status, outcome.output) == ("COMPLETE", "Plain words.")
    ((method, path, _, headers),) = server.seen
    assert (method, path) == ("GET", "/ask?q=Tell%20what%20%C3%A9%20%26%20%7B%7Banswer%7D%7D%20is.&n=1")
    assert (headers["authorization"], headers["x-version"]) == ("Bearer hunter2", "2")
    assert tested.name == f"GET {server.url}/ask"


async def test_a_status_of_the_system_s_own_words_is_translated() -> None:
    fields = {"answer": "text", "status": "state", "statuses": {"needs input": "AWAITING_RESPONSE"}}
    assert (await asked(lambda *_: (200, {"text": "x", "state": "needs input"}), **fields)).status == "AWAITING_RESPONSE"
    assert (await asked(lambda *_: (200, {"text": "x", "state": "complete"}), **fields)).status == "COMPLETE"


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ((500, {"error": "a secret"}), "refused"),
        ((302, {}), "refused"),
        ((200, b"<html>a secret"), "unreadable"),
        ((200, b"\xff\xfe"), "unreadable"),
        ((200, b"[" * 100_000), "unreadable"),
        ((200, {"choices": []}), "unreadable"),
        ((200, chat(["a secret"])), "unreadable"),
        ((200, chat("x" * 1_000_001)), "too_large"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "broken"),
        (b"", "broken"),
    ],
)
async def test_a_fault_of_the_server_is_named_and_not_quoted(told: Any, code: str) -> None:
    with pytest.raises(SystemFault) as raised:
        await asked(lambda *_: told, **CHAT)
    assert raised.value.code == code
    assert "secret" not in str(raised.value)


async def test_a_server_that_hangs_times_out() -> None:
    with pytest.raises(SystemFault, match="timeout"):
        await asked(lambda *_: None, 0.2, **CHAT)


async def test_nobody_at_the_address_is_unreachable() -> None:
    async with HttpServer(lambda *_: None) as server:
        url = server.url
    with pytest.raises(SystemFault, match="unreachable"):
        await system(url, **CHAT).ask(TASK, 20)


async def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_system, "BODY_BYTES_MAX", 1000)
    with pytest.raises(SystemFault, match="too_large"):
        await asked(lambda *_: (200, chat("y" * 2000)), **CHAT)


@pytest.mark.parametrize(("value", "told"), [(None, "SYSTEM_KEY is not set"), ("a\nb", "cannot be sent"), ("é", "cannot be sent")])
def test_a_header_that_cannot_be_made_is_told_without_its_value(monkeypatch: pytest.MonkeyPatch, value: str | None, told: str) -> None:
    monkeypatch.delenv("SYSTEM_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SYSTEM_KEY", value)
    with pytest.raises(ConfigError, match=told) as raised:
        system("http://127.0.0.1:1", headers={"X-Api-Key": "${SYSTEM_KEY}"})
    assert value is None or value not in str(raised.value)


async def test_what_a_system_says_is_sent_back_to_it_even_where_it_is_no_text_that_can_be() -> None:
    async with HttpServer(lambda *_: (200, b'{"text": "\\ud800", "id": "a\\udfff"}')) as server:
        tested = system(f"{server.url}/chat?said={{{{answer}}}}&id={{{{thread}}}}&ask={{{{conversation}}}}", answer="text", carry={"thread": "id"})
        await tested.reply(TASK, await tested.ask(TASK, 20), "And then?", 20)
        await tested.close()
    assert server.seen[1][1].startswith("/chat?said=%3F&id=a%3F&ask=user")


async def test_a_value_too_deep_to_be_sent_back_is_the_system_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.json, "loads", lambda _: {"text": "x", "id": functools.reduce(lambda inner, _: [inner], range(5_000), [])})
    async with HttpServer(lambda *_: (200, b"{}")) as server:
        tested = system(f"{server.url}/chat", answer="text", carry={"thread": "id"}, body={"ask": "{{prompt}}", "thread": "{{thread}}"})
        with pytest.raises(SystemFault, match="too deep"):
            await tested.reply(TASK, await tested.ask(TASK, 20), "And then?", 20)
        await tested.close()


async def test_a_header_of_the_file_replaces_the_one_that_is_sent_without_it() -> None:
    own = {"content-type": "application/x-own", "host": "own.example", "user-agent": "own"}
    sent: list[bytes] = []
    async with HttpServer(lambda *_: (200, b"ok")) as server:
        tested = system(f"{server.url}/chat", headers=own)
        exchange = tested._client.exchange
        tested._client.exchange = lambda request, *rest: sent.append(request) or exchange(request, *rest)  # type: ignore[method-assign, func-returns-value]
        await tested.ask(TASK, 20)
        await tested.close()
    lines = sent[0].decode().lower().split("\r\n")
    assert [line for line in lines if line.partition(":")[0] in own] == ["host: own.example", "user-agent: own", "content-type: application/x-own"]


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_a_header_that_would_cut_the_request_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="leave it out"):
        system("http://127.0.0.1:1", headers={name: "3"})


@pytest.mark.parametrize("query", ["key=hunter2", "a=1&api-key=hunter2", "access_token=hunter2", "sig=hunter2"])
def test_a_credential_in_the_query_is_refused_because_reports_repeat_the_settings(query: str) -> None:
    with pytest.raises(ValidationError, match="credential") as raised:
        system(f"http://127.0.0.1:1/?{query}")
    assert "hunter2" not in str(raised.value)


async def test_a_credential_in_the_query_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEM_KEY", "a&{{prompt}}")
    async with HttpServer(lambda *_: (200, b"ok")) as server:
        tested = system(f"{server.url}/chat?key=${{SYSTEM_KEY}}&max_tokens=5&keyword=x")
        await tested.ask(TASK, 20)
        await tested.close()
    assert server.seen[0][1] == "/chat?key=a%26%7B%7Bprompt%7D%7D&max_tokens=5&keyword=x"
    assert "?" not in tested.name
    monkeypatch.delenv("SYSTEM_KEY")
    with pytest.raises(ConfigError, match="SYSTEM_KEY is not set"):
        system("http://127.0.0.1:1/?key=${SYSTEM_KEY}")
