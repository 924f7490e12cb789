"""A stream whose filter names what there is not."""

import pytest

from tests.ops.web.served import ALL, ONE, TOKENS, Served, served
from tests.streams.subscription.made import R0, event, publish


async def refusal(web: Served, query: str, token: str | None = None) -> tuple[int, str]:
    answer = await web.get(f"/v1/events?{query}", token)
    return answer.status_code, answer.json()["error"]


async def note(web: Served, query: str, token: str | None = None) -> str:
    """What the first message of a stream says."""
    async with web.stream(f"/v1/events?{query}", token) as stream:
        async for line in stream.answer.aiter_lines():
            if line.startswith(": ") and line != ": touchstone":
                return line
    raise AssertionError("the stream ended")


@pytest.mark.parametrize("typo", ["red_siute", "red_suit", "RED_SUITE", "red-suite", "one,red_suitte"])
async def test_a_misspelt_suite_is_refused_and_told_what_there_is(typo: str) -> None:
    async with served(suites=("one", "red_suite")) as web:
        status, why = await refusal(web, f"suite={typo}")
        assert (status, f"unknown name '{typo.rpartition(',')[2]}'; did you mean red_suite? There are " in why) == (400, True)
        assert "one, red_suite" in why
        assert web.hub.watchers == 0


async def test_a_misspelt_event_type_is_refused() -> None:
    async with served() as web:
        status, why = await refusal(web, "event=touchstone.results")
        assert (status, "did you mean touchstone.result? There are one:v1:result, touchstone.result" in why) == (400, True)


@pytest.mark.parametrize("query", ["suite=elsewhere", "suite=red_v1", "event=other:v1:result"])
async def test_what_may_run_elsewhere_is_waited_for_and_the_first_message_says_so(query: str) -> None:
    async with served(suites=("one", "red_v0")) as web:
        kind, name = query.split("=")
        assert (await note(web, query)).startswith(f": {kind} '{name}' is unknown here and has sent nothing yet (known: ")


async def test_a_suite_that_is_not_installed_here_is_known_once_it_has_sent_an_event() -> None:
    async with served() as web:
        publish(web.hub, event("x", R0, 0, suite="elsewhere"))
        async with web.stream("/v1/events?suite=elsewhere&snapshot=1") as stream:
            assert (await anext(stream)).data["suite"] == "elsewhere"
            assert not any("unknown" in comment for comment in stream.comments)


async def test_a_suite_that_a_token_names_is_known() -> None:
    async with served(suites=("one", "red_suite"), tokens=(f"all:{ALL}", f"red_suites:{ONE}")) as web, web.stream("/v1/events?suite=red_suites", ALL) as stream:
        publish(web.hub, event("x", R0, 0, suite="red_suites"))
        assert (await anext(stream)).data["suite"] == "red_suites"
        assert not any("unknown" in comment for comment in stream.comments)


async def test_a_token_that_sees_none_of_the_suites_is_refused_and_learns_of_no_other() -> None:
    async with served(tokens=TOKENS) as web:
        status, why = await refusal(web, "suite=two,three", ONE)
        assert (status, why) == (403, "suite: this token is for one only; ask for one of these, or send a token for three, two")
