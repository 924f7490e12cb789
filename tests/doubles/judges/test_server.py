import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from tests.doubles.judges import Asked, Fault, JudgeServer, Kind, Limit, Reply, Rule, Script

Client = openai.AsyncOpenAI
Asking = Callable[..., AbstractAsyncContextManager[tuple[JudgeServer, Client]]]


class Verdict(BaseModel):
    support: Literal["supported", "contradicted", "absent"]
    score: int = Field(ge=1, le=5)
    why: str
    sure: bool


SAYS = {"support": "contradicted", "score": 4, "why": "The note says otherwise.", "sure": True}
USER = [{"role": "user", "content": "Is the sky green? Answer in JSON."}]


@asynccontextmanager
async def serving(*args: Any, **kwargs: Any) -> AsyncIterator[tuple[JudgeServer, Any]]:
    bare = openai.DefaultAsyncHttpxClient(verify=False)  # reading the certificates takes longer than a test
    async with JudgeServer(*args, **kwargs) as server, Client(base_url=server.base_url, api_key="key-1", max_retries=0, timeout=20, http_client=bare) as client:
        yield server, client
    assert server.mistakes == []


async def parse(client: Any, **more: Any) -> Any:
    return (await client.chat.completions.parse(model="judge-1", messages=USER, response_format=Verdict, **more)).choices[0]


async def test_a_mapping_is_the_verdict_of_a_request_with_a_schema() -> None:
    async with serving(lambda _: SAYS) as (_, client):
        choice = await parse(client)
    assert choice.message.parsed == Verdict.model_validate(SAYS)
    assert choice.finish_reason == "stop"


async def test_a_mapping_is_the_argument_of_a_function_that_must_be_called() -> None:
    async with serving(lambda _: SAYS) as (_, client):
        tools = [openai.pydantic_function_tool(Verdict)]
        got = await client.chat.completions.parse(model="judge-1", messages=USER, tools=tools, tool_choice="required")
    call = got.choices[0].message.tool_calls[0]
    assert (call.function.name, call.function.parsed_arguments) == ("Verdict", Verdict.model_validate(SAYS))
    assert got.choices[0].finish_reason == "tool_calls"


async def test_without_a_script_the_answer_is_the_simplest_that_fits_the_schema() -> None:
    async with serving() as (_, client):
        assert (await parse(client)).message.parsed == Verdict(support="supported", score=1, why="sample", sure=False)


@pytest.mark.parametrize("tools", [False, True])
async def test_a_stream_brings_the_same_answer_in_pieces_and_its_usage(tools: bool) -> None:
    async with serving(lambda _: SAYS) as (_, client):
        form: dict[str, Any] = {"tools": [openai.pydantic_function_tool(Verdict)]} if tools else {"response_format": Verdict}
        async with client.chat.completions.stream(model="judge-1", messages=USER, stream_options={"include_usage": True}, **form) as stream:
            pieces = [event async for event in stream if event.type == "chunk"]
            whole = await stream.get_final_completion()
    message = whole.choices[0].message
    verdict = message.tool_calls[0].function.parsed_arguments if tools else message.parsed
    assert verdict == Verdict.model_validate(SAYS)
    assert len(pieces) > 5
    assert whole.usage.completion_tokens > 0


async def test_models_are_listed() -> None:
    async with serving(models=["judge-1", "judge-2"]) as (_, client):
        assert [model.id async for model in client.models.list()] == ["judge-1", "judge-2"]


async def test_ids_are_told_apart_and_usage_follows_the_length() -> None:
    async with serving(lambda _: "four" * 10) as (_, client):
        first, second = [await client.chat.completions.create(model="judge-1", messages=USER) for _ in range(2)]
    assert first.id != second.id
    assert first._request_id != second._request_id
    assert first.usage.completion_tokens == 10
    assert first.usage.total_tokens == first.usage.prompt_tokens + 10


async def test_an_answer_is_cut_where_the_request_allows_no_more() -> None:
    async with serving(lambda _: SAYS) as (_, client):
        got = await client.chat.completions.create(model="judge-1", messages=USER, max_completion_tokens=3)
    assert (len(got.choices[0].message.content), got.choices[0].finish_reason, got.usage.completion_tokens) == (12, "length", 3)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages[0].role"),
        ({"model": ""}, "model"),
        ({"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}}, "messages"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a name", "schema": {}}}}, "response_format.name"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "V", "strict": True, "schema": Verdict.model_json_schema()}}}, "response_format"),
        ({"tools": []}, "tools"),
        ({"tools": [openai.pydantic_function_tool(Verdict)], "tool_choice": {"type": "function", "function": {"name": "Other"}}}, "tool_choice"),
    ],
)
async def test_what_the_protocol_forbids_is_a_bad_request_that_names_the_place(more: dict[str, Any], param: str) -> None:
    async with serving() as (server, client):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(**({"model": "judge-1", "messages": USER} | more))
    assert caught.value.param == param
    assert server.seen.kinds == {"rejected": 1}


async def test_other_addresses_are_not_found() -> None:
    async with serving() as (_, client):
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="m", input="x")


async def test_an_unknown_key_is_refused() -> None:
    async with serving(keys=["key-2"]) as (_, client):
        with pytest.raises(openai.AuthenticationError) as caught:
            await parse(client)
    assert caught.value.code == "invalid_api_key"


ERRORS: list[tuple[Kind, type[openai.APIStatusError], str | None]] = [
    (Kind.RATE_LIMITED, openai.RateLimitError, "rate_limit_exceeded"),
    (Kind.NO_QUOTA, openai.RateLimitError, "insufficient_quota"),
    (Kind.ERROR_500, openai.InternalServerError, None),
    (Kind.ERROR_502, openai.InternalServerError, None),
    (Kind.ERROR_503, openai.InternalServerError, None),
    (Kind.NO_KEY, openai.AuthenticationError, "invalid_api_key"),
    (Kind.NO_PERMISSION, openai.PermissionDeniedError, None),
    (Kind.NO_MODEL, openai.NotFoundError, "model_not_found"),
    (Kind.TOO_LONG, openai.BadRequestError, "context_length_exceeded"),
    (Kind.FILTERED_PROMPT, openai.BadRequestError, "content_filter"),
    (Kind.NO_RESPONSE_FORMAT, openai.BadRequestError, None),
    (Kind.NO_JSON_SCHEMA, openai.BadRequestError, None),
]


@pytest.mark.parametrize(("kind", "error", "code"), ERRORS, ids=[kind.value for kind, _, _ in ERRORS])
async def test_a_fault_of_the_protocol_is_the_error_that_the_sdk_knows(kind: Kind, error: type[openai.APIStatusError], code: str | None) -> None:
    async with serving(faults=[Fault(kind)]) as (_, client):
        with pytest.raises(error) as caught:
            await parse(client)
    assert caught.value.code == code


async def test_a_server_without_tools_answers_those_who_bring_none() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.NO_TOOLS)]) as (_, client):
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="judge-1", messages=USER, tools=[openai.pydantic_function_tool(Verdict)])
        assert (await parse(client)).message.parsed is not None


async def test_a_server_without_schemas_has_json_mode() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.NO_JSON_SCHEMA)]) as (_, client):
        got = await client.chat.completions.create(model="judge-1", messages=USER, response_format={"type": "json_object"})
    assert Verdict.model_validate_json(got.choices[0].message.content) == Verdict.model_validate(SAYS)


@pytest.mark.parametrize(("how", "header"), [("seconds", "retry-after"), ("date", "retry-after"), ("milliseconds", "retry-after-ms")])
async def test_retry_after_comes_in_each_of_its_forms(how: Literal["seconds", "date", "milliseconds"], header: str) -> None:
    async with serving(faults=[Fault(Kind.RATE_LIMITED, retry_after_s=30, retry_as=how)]) as (_, client):
        with pytest.raises(openai.RateLimitError) as caught:
            await parse(client)
    found = client._parse_retry_after_header(caught.value.response.headers)
    assert header in caught.value.response.headers
    assert found is not None
    assert 25 <= found <= 31


async def test_said_faults_change_what_the_model_says() -> None:
    said = {}
    async with serving(lambda _: SAYS) as (server, client):
        for kind in Kind:
            server.faults = (Fault(kind),)
            if kind in {Kind.BAD_JSON, Kind.WRONG_FORM, Kind.REPEATED, Kind.CHATTY, Kind.REFUSAL, Kind.CONTENT_FILTER, Kind.TRUNCATED, Kind.EMPTY}:
                got = await client.chat.completions.create(model="judge-1", messages=USER, response_format=_schema())
                said[kind] = got.choices[0]
    for kind in (Kind.BAD_JSON, Kind.WRONG_FORM, Kind.TRUNCATED):
        with pytest.raises(ValueError, match="Verdict"):
            Verdict.model_validate_json(said[kind].message.content)
    assert said[Kind.TRUNCATED].finish_reason == "length"
    assert said[Kind.REPEATED].message.content.endswith('"sure":true}')
    assert said[Kind.REPEATED].message.content.startswith('{"support":"supported","score":3,')
    assert said[Kind.CHATTY].message.content.count("```") == 2
    assert (said[Kind.REFUSAL].message.content, bool(said[Kind.REFUSAL].message.refusal)) == (None, True)
    assert said[Kind.CONTENT_FILTER].finish_reason == "content_filter"
    assert said[Kind.EMPTY].message.content == ""


def _schema() -> Any:
    return {"type": "json_schema", "json_schema": {"name": "Verdict", "schema": Verdict.model_json_schema()}}


async def test_a_repeated_verdict_comes_as_two_calls_of_a_function() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.REPEATED)]) as (_, client):
        tools = [openai.pydantic_function_tool(Verdict)]
        got = await client.chat.completions.parse(model="judge-1", messages=USER, tools=tools, tool_choice="required")
    first, last = (call.function.parsed_arguments for call in got.choices[0].message.tool_calls)
    assert last == Verdict.model_validate(SAYS)
    assert first != last


async def test_usage_and_choices_may_be_missing() -> None:
    async with serving(faults=[Fault(Kind.NO_USAGE, attempts=1), Fault(Kind.NO_CHOICES)]) as (_, client):
        first, second = [await client.chat.completions.create(model="judge-1", messages=USER) for _ in range(2)]
    assert (first.usage, second.choices) == (None, [])


@pytest.mark.parametrize("kind", [Kind.HANG, Kind.STALLED])
async def test_a_server_that_never_answers_sees_its_client_go(kind: Kind) -> None:
    async with serving(faults=[Fault(kind)]) as (server, client):
        with pytest.raises(openai.APITimeoutError):
            await client.with_options(timeout=openai.Timeout(20, read=0.1)).chat.completions.create(model="judge-1", messages=USER)
        await until(lambda: server.seen.abandoned == 1)
    assert (server.seen.at_once, server.seen.answered) == (0, 0)


@pytest.mark.parametrize("kind", [Kind.HALF_CLOSED, Kind.RESET])
async def test_a_broken_connection_is_a_connection_error(kind: Kind) -> None:
    async with serving(faults=[Fault(kind)]) as (_, client):
        with pytest.raises(openai.APIConnectionError):
            await parse(client)


async def test_a_half_closed_stream_ends_before_its_end() -> None:
    async with serving(lambda _: "word " * 100, faults=[Fault(Kind.HALF_CLOSED)]) as (_, client):
        stream = await client.chat.completions.create(model="judge-1", messages=USER, stream=True)
        pieces: list[Any] = []

        async def read() -> None:
            async for piece in stream:
                pieces.append(piece)  # noqa: PERF401

        with pytest.raises(openai.APIConnectionError):
            await read()
    assert 1 < len(pieces) < 23


async def test_a_connection_that_hangs_up_after_its_answer_costs_nothing() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.HANG_UP)]) as (server, client):
        for _ in range(3):
            assert (await parse(client)).message.parsed is not None
    assert server.seen.connections == 3


async def test_a_drip_arrives_whole_in_the_end() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.DRIP, pace_s=0)]) as (_, client):
        assert (await parse(client)).message.parsed == Verdict.model_validate(SAYS)


async def test_an_enormous_answer_is_a_valid_one_of_that_size() -> None:
    async with serving(lambda _: SAYS, faults=[Fault(Kind.ENORMOUS, size_bytes=3_000_000)]) as (_, client):
        got = await client.chat.completions.with_raw_response.create(model="judge-1", messages=USER)
    assert len(got.http_response.content) > 3_000_000
    assert got.http_response.json()["object"] == "chat.completion"


async def test_a_gzip_bomb_is_small_on_the_wire() -> None:
    async with (
        serving(faults=[Fault(Kind.GZIP_BOMB, size_bytes=5_000_000)]) as (_, client),
        client.chat.completions.with_streaming_response.create(model="judge-1", messages=USER) as got,
    ):
        pieces = [len(piece) async for piece in got.http_response.aiter_bytes()]
    assert int(got.headers["content-length"]) < 50_000
    assert sum(pieces) == 5_000_000


@pytest.mark.parametrize(("kind", "error"), [(Kind.BAD_BODY, ValueError), (Kind.BAD_TEXT, UnicodeDecodeError), (Kind.HTML, AttributeError)])
async def test_a_body_that_is_no_document_of_the_protocol_cannot_be_read(kind: Kind, error: type[Exception]) -> None:
    async with serving(faults=[Fault(kind)]) as (_, client):
        with pytest.raises(error):  # whatever the SDK makes of it: it has no error of its own for these
            (await client.chat.completions.create(model="judge-1", messages=USER)).choices  # noqa: B018


async def test_a_fault_strikes_the_first_tries_of_each_prompt() -> None:
    async with serving(faults=[Fault(Kind.ERROR_503, attempts=2)]) as (server, client):
        for prompt in ("one", "two"):
            outcomes = [await outcome(client, prompt) for _ in range(3)]
            assert outcomes == [503, 503, 200]
    assert server.seen.kinds == {"error_503": 4, "answered": 2}


async def test_a_fault_strikes_requests_by_their_number() -> None:
    async with serving(faults=[Fault(Kind.ERROR_500, requests=frozenset({2, 3}))]) as (_, client):
        assert [await outcome(client, str(number)) for number in range(4)] == [200, 500, 500, 200]


async def test_a_share_strikes_the_same_prompts_in_any_order() -> None:
    prompts = [str(number) for number in range(60)]
    struck = []
    for order in (prompts, prompts[::-1]):
        async with serving(faults=[Fault(Kind.ERROR_500, share=0.3)], seed=7) as (_, client):
            outcomes = await asyncio.gather(*(outcome(client, prompt) for prompt in order))
            struck.append({prompt for prompt, status in zip(order, outcomes, strict=True) if status == 500})
    assert struck[0] == struck[1]
    assert 8 <= len(struck[0]) <= 28


async def test_a_storm_is_over_after_its_time() -> None:
    async with serving(faults=[Fault(Kind.RATE_LIMITED, seconds=0.2)]) as (_, client):
        assert await outcome(client, "one") == 429
        while await outcome(client, "one") == 429:
            pass


async def test_a_limit_lets_so_many_through_and_says_when_the_next_may_come() -> None:
    async with serving(limit=Limit(per_s=0.1, burst=2)) as (server, client):
        statuses = await asyncio.gather(*(outcome(client, str(number)) for number in range(5)))
    assert sorted(statuses) == [200, 200, 429, 429, 429]
    assert server.seen.kinds["limited"] == 3


async def test_latency_is_waited_by_all_at_once_and_counted_as_such() -> None:
    async with serving(latency_s=0.3) as (server, client):
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(outcome(client, str(number)) for number in range(20)))
        took_s = asyncio.get_running_loop().time() - began
    assert server.seen.at_once_max == 20
    assert took_s >= 0.3


async def test_what_was_asked_is_noted_without_its_text() -> None:
    async with serving() as (server, client):
        await outcome(client, "a secret")
        await outcome(client, "a secret")
    first, second = server.seen.arrivals
    assert (first.model, first.form, first.key, first.kind, first.finished) == ("judge-1", "text", "key-1", "answered", True)
    assert (first.digest, first.attempt, second.attempt) == (second.digest, 1, 2)
    assert first.tokens_in == server.seen.tokens_in / 2
    assert "secret" not in repr(server.seen)
    assert "key-1" not in str(server.seen.summary())


async def test_bodies_are_kept_when_that_is_asked_for() -> None:
    async with serving(keep_bodies=True) as (server, client):
        await outcome(client, "a text")
    body = server.seen.arrivals[0].body
    assert body is not None
    assert body["messages"][0]["content"] == "a text"


async def test_rules_choose_by_model_text_and_turn() -> None:
    script = Script(
        Rule(model="big-*", answers=("of the big one",)),
        Rule(contains="sky", turn=2, answers=("the second turn",)),
        Rule(contains="sky", answers=("first", "then")),
    )
    async with serving(script) as (_, client):

        async def ask(model: str, *said: str) -> str:
            roles = ("user", "assistant") * 3
            messages: Any = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
            return str((await client.chat.completions.create(model=model, messages=messages)).choices[0].message.content)

        assert await ask("big-1", "the sky") == "of the big one"
        assert [await ask("m", "the sky") for _ in range(3)] == ["first", "then", "then"]
        assert await ask("m", "the sky", "green", "sure?") == "the second turn"
        assert await ask("m", "else") == "sample"


async def test_a_reply_brings_its_own_fault_and_tokens() -> None:
    def answer(asked: Asked) -> Reply | Fault:
        return Fault(Kind.REFUSAL) if asked.last == "no" else Reply("yes", tokens=(1000, 7))

    async with serving(answer) as (_, client):
        refused = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "no"}])
        answered = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "do"}])
    assert refused.choices[0].message.refusal
    assert (answered.usage.prompt_tokens, answered.usage.completion_tokens) == (1000, 7)


async def test_a_script_that_fails_is_an_error_500_and_a_mistake_on_record() -> None:
    async with JudgeServer(lambda _: {}["nothing"]) as server, Client(base_url=server.base_url, api_key="k", max_retries=0) as client:
        assert await outcome(client, "x") == 500
    assert [type(mistake) for mistake in server.mistakes] == [KeyError]


async def outcome(client: Client, text: str) -> int:
    try:
        await client.chat.completions.create(model="judge-1", messages=[{"role": "user", "content": text}])
    except openai.APIStatusError as error:
        return error.status_code
    return 200


async def until(condition: Callable[[], bool], within_s: float = 120) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
