import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.replies import Reply
from tests.scorers.judges.helpers import CANARY, PROMPT, Verdict, counted, judged, score_of, scripted
from touchstone.scorers.base import Lost, Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, NoAnswer, Unanswered

CASES = 12
#: What passes: the first request of each case fails, and the case is judged all the same.
PASSING = [
    Kind.ERROR_500, Kind.ERROR_502, Kind.ERROR_503, Kind.RATE_LIMITED, Kind.HALF_CLOSED, Kind.RESET, Kind.HANG_UP, Kind.BAD_BODY, Kind.BAD_TEXT, Kind.HTML,
    Kind.ENORMOUS, Kind.GZIP_BOMB, Kind.HANG, Kind.STALLED, Kind.DRIP,
]  # fmt: skip
#: Answers that a second request mends.
MENDED = [Kind.BAD_JSON, Kind.WRONG_FORM, Kind.EMPTY, Kind.NO_CHOICES, Kind.NESTED, Kind.LONE_SURROGATE, Kind.REPEATED, Kind.CHATTY]
SLOW = {Kind.HANG, Kind.STALLED, Kind.DRIP}
#: What stays: the code that each case then has.
STAYING = {
    Kind.REFUSAL: "refused", Kind.CONTENT_FILTER: "refused", Kind.FILTERED_PROMPT: "refused", Kind.TRUNCATED: "truncated", Kind.TOO_LONG: "too_long",
    Kind.EMPTY: "empty", Kind.NO_CHOICES: "empty", Kind.BAD_JSON: "wrong_form", Kind.WRONG_FORM: "wrong_form", Kind.NESTED: "wrong_form",
    Kind.LONE_SURROGATE: "wrong_form",
}  # fmt: skip
#: What the settings are to blame for.
FOR_GOOD = {Kind.NO_KEY: "judge_key", Kind.NO_PERMISSION: "judge_forbidden", Kind.NO_MODEL: "judge_not_found"}
#: What may pass, but does not.
DOWN = {
    Kind.ERROR_500: "judge_5xx", Kind.RATE_LIMITED: "judge_429", Kind.NO_QUOTA: "judge_quota", Kind.HANG: "judge_timeout", Kind.RESET: "judge_connection",
    Kind.HALF_CLOSED: "judge_connection", Kind.HTML: "judge_connection",
}  # fmt: skip


async def ask(judge: Judge, number: int) -> Answer[Verdict]:
    return await judge.ask(PROMPT, {"note": f"case {number} of many"}, Verdict)


async def ask_all(judge: Judge, cases: int = CASES) -> Sequence[Any]:
    return await asyncio.gather(*(ask(judge, number) for number in range(cases)), return_exceptions=True)


@pytest.mark.parametrize("kind", PASSING)
async def test_a_fault_that_passes_costs_requests_and_no_case(kind: Kind) -> None:
    fault = Fault(kind, attempts=1, size_bytes=16_000_000, pace_s=0.5)
    async with judged(fault, timeout_s=2.0 if kind in SLOW else 20.0) as (judge, server):
        told = await ask_all(judge)
        assert [answer.verdict.score for answer in told] == [score_of(f"case {number}") for number in range(CASES)]
        wasted = server.seen.requests - CASES
        assert sum(answer.usage.wasted for answer in told) == wasted >= (0 if kind is Kind.HANG_UP else CASES)
        assert counted(judge, "judge_calls") - counted(judge, "judge_calls", outcome="answered") == wasted
        assert counted(judge, "judge_questions", outcome="answered") == CASES


@pytest.mark.parametrize("kind", MENDED)
async def test_an_answer_in_another_form_is_asked_for_once_more(kind: Kind) -> None:
    def answer(asked: Asked) -> Any:
        return scripted(asked) if "An earlier answer of yours" in asked.text else Reply(fault=Fault(kind))

    async with judged(answer=answer, structured="json_schema", max_tokens=120_000) as (judge, server):
        told = await ask_all(judge)
        assert [answer.verdict.score for answer in told] == [score_of(f"case {number}") for number in range(CASES)]
        assert server.seen.requests == 2 * CASES
        assert [answer.usage.wasted for answer in told] == [1] * CASES
        assert counted(judge, "judge_repairs") == CASES


@pytest.mark.parametrize("kind", STAYING)
async def test_an_answer_without_a_verdict_is_the_case_s_failure(kind: Kind) -> None:
    async with judged(Fault(kind), max_tokens=120_000) as (judge, server):
        told = await ask_all(judge, 3)
        assert [error.code for error in told if isinstance(error, Unanswered)] == [STAYING[kind]] * 3
        assert server.seen.requests == (6 if kind in MENDED else 3)
        assert sum(error.usage.wasted for error in told) == server.seen.requests
        assert counted(judge, "judge_unanswered", code=STAYING[kind]) == 3


@pytest.mark.parametrize("kind", FOR_GOOD)
async def test_settings_that_can_never_work_stop_the_asking_at_once(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    async with judged(Fault(kind), concurrency=2) as (judge, server):
        told = await ask_all(judge)
        assert all(isinstance(error, Lost) and error.code == FOR_GOOD[kind] for error in told)
        assert server.seen.requests <= 2
        with pytest.raises(Lost):
            await ask(judge, 99)
        assert server.seen.requests <= 2
        assert counted(judge, "judge_up") == 0
    (said,) = [record for record in caplog.records if record.name == "touchstone.judge"]
    # A worker shows the template alone.
    assert "TOUCHSTONE_JUDGE_" in said.msg
    assert len(said.msg) <= 200


@pytest.mark.parametrize("kind", DOWN)
async def test_a_server_that_does_not_come_back_is_unavailable_after_the_deadline(kind: Kind) -> None:
    async with judged(Fault(kind), deadline_s=1.0, timeout_s=0.3, attempts_max=2) as (judge, _server):
        told = await ask_all(judge)
        assert {type(error) for error in told} == {NoAnswer}
        assert {error.code for error in told} <= {DOWN[kind], "judge_timeout"}
        assert DOWN[kind] in {error.code for error in told}
        assert counted(judge, "judge_up") == 0
        assert counted(judge, "judge_calls", outcome="answered") == 0


async def test_a_server_that_is_gone_is_unavailable() -> None:
    async with judged(deadline_s=0.5) as (judge, server):
        await server.__aexit__(None, None, None)
        told = await ask_all(judge)
        assert {error.code for error in told if isinstance(error, Unavailable)} == {"judge_connection"}


async def test_while_a_server_is_down_cases_ask_in_turn() -> None:
    async with judged(Fault(Kind.ERROR_503), deadline_s=1.5, attempts_max=2, retry_backoff_min_s=0.2, retry_backoff_max_s=0.2) as (judge, server):
        await ask_all(judge, 40)
        # Each may have failed its first row; after that they ask one after the other, 0.2 s apart.
        assert server.seen.requests <= 40 * 2 + 12


async def test_an_outage_that_ends_loses_no_case() -> None:
    async with judged(Fault(Kind.ERROR_503, seconds=0.7), attempts_max=2) as (judge, _server):
        told = await ask_all(judge, 40)
        assert [answer.verdict.score for answer in told] == [score_of(f"case {number}") for number in range(40)]
        assert counted(judge, "judge_up") == 1


async def test_a_storm_of_everything_loses_no_case() -> None:
    storm = (Kind.RATE_LIMITED, Kind.ERROR_500, Kind.RESET, Kind.HALF_CLOSED, Kind.BAD_BODY, Kind.WRONG_FORM)
    async with judged(*(Fault(kind, share=0.08, retry_after_s=0.01) for kind in storm), attempts_max=3, concurrency=30) as (judge, _server):
        told = await ask_all(judge, 80)
        lost = [error.code for error in told if not isinstance(error, Answer)]
        assert set(lost) <= {"wrong_form"}  # of those that had it twice
        assert all(answer.verdict.score == score_of(f"case {number}") for number, answer in enumerate(told) if isinstance(answer, Answer))
        assert counted(judge, "judge_questions") == 80


async def test_a_case_at_which_the_server_fails_stops_no_other_and_ends() -> None:
    # The others take a moment longer, so that they are answered after the first failure: only then is it this case that the server fails at.
    def answer(asked: Any) -> Reply:
        return Reply(fault=Fault(Kind.ERROR_500)) if "case 0 " in asked.text else Reply({"score": 3}, latency_s=0.3)

    async with judged(answer=answer, deadline_s=3.0) as (judge, _server):
        told = await ask_all(judge, 20)
        assert [type(answer) for answer in told] == [Unanswered] + [Answer] * 19
        assert told[0].code == "failing"
        assert counted(judge, "judge_up") == 1


async def test_a_case_that_is_told_to_wait_again_and_again_makes_nobody_ask_in_turn() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(fault=Fault(Kind.RATE_LIMITED)) if "case 0 " in asked.text else Reply({"score": 3})

    async with judged(answer=answer, deadline_s=1.5, attempts_max=2) as (judge, _):
        told = await ask_all(judge, 20)
        assert [type(each) for each in told] == [NoAnswer] + [Answer] * 19
        assert told[0].code == "judge_429"
        assert counted(judge, "judge_up") == 1


async def test_a_case_at_which_the_server_fails_ends_also_where_cases_come_one_by_one() -> None:
    poison = Fault(Kind.ERROR_500)
    async with judged(answer=lambda asked: Reply(fault=poison) if "case 0 " in asked.text else {"score": 3}, deadline_s=1.5, attempts_max=1) as (judge, _):
        with pytest.raises(Unavailable):
            await ask(judge, 0)
        for number in range(1, 7):
            await ask(judge, number)
        with pytest.raises(Unanswered, match="failing"):
            await ask(judge, 0)


async def test_a_case_that_is_never_answered_ends_while_others_are() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(fault=Fault(Kind.HANG)) if "case 0 " in asked.text else Reply({"score": 3})

    async with judged(answer=answer, server={"latency_s": 0.05}, concurrency=2, deadline_s=1.5, timeout_s=0.4) as (judge, _):
        told = await ask_all(judge, 40)
        assert [type(each) for each in told] == [Unanswered] + [Answer] * 39
        assert told[0].code == "failing"


async def test_a_single_refusal_that_blames_the_settings_is_the_case_s_own_while_others_are_answered() -> None:
    blocked = Fault(Kind.NO_PERMISSION)
    async with judged(answer=lambda asked: Reply(fault=blocked) if "case 5 " in asked.text else {"score": 3}, concurrency=1) as (judge, _):
        told = await ask_all(judge, 8)
        assert [index for index, answer in enumerate(told) if not isinstance(answer, Answer)] == [5]
        assert told[5].code == "rejected"


@pytest.mark.parametrize(("kinds", "form"), [((Kind.NO_RESPONSE_FORMAT,), "tool"), ((Kind.NO_RESPONSE_FORMAT, Kind.NO_TOOLS), None)])
async def test_a_server_that_lacks_a_way_of_asking_is_asked_in_another_from_then_on(kinds: tuple[Kind, ...], form: str | None) -> None:
    async with judged(*map(Fault, kinds), answer=lambda _: {"score": 4} if form else '{"score": 4}') as (judge, server):
        assert (await ask(judge, 1)).verdict.score == 4
        before = server.seen.requests
        assert [answer.verdict.score for answer in await ask_all(judge, 5)] == [4] * 5
        assert server.seen.requests - before <= 5
        assert {arrival.form for arrival in list(server.seen.arrivals)[before:]} <= {form, "text"}


async def test_a_case_that_is_rejected_in_every_way_changes_no_other_s() -> None:
    async with judged(answer=lambda asked: Reply(fault=Fault(Kind.NO_TOOLS)) if "case 0 " in asked.text else {"score": 4}, concurrency=1) as (judge, server):
        told = await ask_all(judge, 4)
        assert [type(answer) for answer in told] == [Unanswered, Answer, Answer, Answer]
        assert {arrival.form for arrival in server.seen.arrivals if arrival.kind == "answered"} == {"json_schema"}


async def test_a_model_that_heeds_no_form_costs_a_second_request_only_until_the_way_that_it_heeds_is_found() -> None:
    async with judged(Fault(Kind.CHATTY)) as (judge, server):
        for number in range(20):
            await ask(judge, number)
        # Three cases in each of the two ways that it does not heed.
        assert server.seen.requests == 20 + 6


@pytest.mark.parametrize("way", ["json_schema", "tools", "text"])
@pytest.mark.parametrize("kind", [Kind.REPEATED, Kind.CHATTY])
async def test_a_model_that_says_more_than_its_verdict_is_asked_for_it_below_the_line_with_the_key(way: str, kind: Kind) -> None:
    async with judged(Fault(kind), answer=lambda _: Reply({"score": 2}, decoy={"score": 5}), structured=way) as (judge, server):
        assert (await ask(judge, 1)).verdict.score == 2
        assert server.seen.requests == (1 if way == "text" else 2)


@pytest.mark.parametrize("retry_as", ["seconds", "date", "milliseconds"])
async def test_all_wait_when_one_is_told_to(retry_as: Any) -> None:
    fault = Fault(Kind.RATE_LIMITED, requests=frozenset({1}), retry_after_s=1.2, retry_as=retry_as)
    async with judged(fault, concurrency=4) as (judge, server):
        first = asyncio.create_task(ask(judge, 0))
        while not server.seen.kinds["rate_limited"]:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await asyncio.gather(first, *(ask(judge, number) for number in range(1, 10)))
        arrivals = list(server.seen.arrivals)
        early = [arrival.at_s for arrival in arrivals[1:] if arrival.at_s < arrivals[0].at_s + 1.1]
        # Those asked in the moment before the answer was read are forgiven.
        assert len(early) <= 3


async def test_a_key_and_texts_are_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    kinds = (Kind.ERROR_500, Kind.FILTERED_PROMPT, Kind.REFUSAL, Kind.WRONG_FORM, Kind.RESET, Kind.NO_KEY)
    for kind in kinds:
        async with judged(Fault(kind), answer=lambda asked: {"score": 9, "why": asked.text}, deadline_s=0.3, attempts_max=1) as (judge, _):
            with pytest.raises((Unanswered, Unavailable)) as caught:
                await judge.ask(PROMPT, {"note": CANARY}, Verdict)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
            assert CANARY not in repr(list(judge.readings()))
    said = caplog.text
    assert CANARY not in said
    assert "key-of-a-test" not in said
