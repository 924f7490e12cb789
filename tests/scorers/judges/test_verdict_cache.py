import asyncio
import multiprocessing
import stat
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.doubles.judges.faults import Fault, Kind
from tests.scorers.judges.helpers import CANARY, PROMPT, Verdict, counted, judged, settings_for
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.judges.ask.form import form_of
from touchstone.scorers.judges.ask.judge import Unanswered
from touchstone.scorers.judges.ask.prompt import parse_prompt
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.serve.verdict_cache import FileCache, KeptVerdict, MemoryCache, question_of
from touchstone.scorers.judges.settings import JudgeSettings

ONE = KeptVerdict("m", '{"score":1}')


async def test_a_question_is_asked_once() -> None:
    async with judged() as (judge, server):
        first = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        second = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert (first.verdict, first.model, first.cached) == (second.verdict, second.model, False)
        assert second.cached
        assert second.usage.calls == second.usage.cost_usd == 0
        assert server.seen.requests == 1
        assert counted(judge, "judge_questions", outcome="cached") == 1


async def test_identical_questions_in_flight_share_one_request() -> None:
    async with judged(server={"latency_s": 0.1}) as (judge, server):
        told = await asyncio.gather(*(judge.ask(PROMPT, {"note": "case 1"}, Verdict) for _ in range(10)))
        assert server.seen.requests == 1
        assert sum(answer.usage.calls for answer in told) == 1
        assert [answer.cached for answer in told].count(False) == 1


async def test_those_who_share_a_failure_have_an_exception_each() -> None:
    async with judged(Fault(Kind.REFUSAL), server={"latency_s": 0.1}) as (judge, server):
        told = await asyncio.gather(*(judge.ask(PROMPT, {"note": "case 1"}, Verdict) for _ in range(5)), return_exceptions=True)
        assert len({id(error) for error in told}) == 5
        assert sum(error.usage.calls for error in told if isinstance(error, Unanswered)) == server.seen.requests == 1


async def test_a_question_goes_on_while_somebody_waits_for_it() -> None:
    async with judged(server={"latency_s": 0.3}) as (judge, server):
        first, second = (asyncio.create_task(judge.ask(PROMPT, {"note": "case 1"}, Verdict)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).verdict.score == 2
        assert server.seen.requests == 1
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_a_question_that_nobody_waits_for_is_not_asked_on() -> None:
    async with judged(server={"latency_s": 30}, concurrency=1) as (judge, server):
        asked = asyncio.create_task(judge.ask(PROMPT, {"note": "case 1"}, Verdict))
        while not server.seen.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        while server.seen.at_once:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert counted(judge, "judge_calls", outcome="cancelled") == 1
        assert counted(judge, "judge_in_flight_calls") == 0


async def test_who_still_waits_at_the_end_is_told_so() -> None:
    async with judged(server={"latency_s": 30}) as (judge, server):
        asked = asyncio.create_task(judge.ask(PROMPT, {"note": "case 1"}, Verdict))
        while not server.seen.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await judge.close()
        with pytest.raises(Unavailable, match="judge_closed"):
            await asked


@pytest.mark.parametrize("cache", ["off", "memory", "file"])
async def test_what_is_kept_from_one_process_to_the_next(cache: str, tmp_path: Path) -> None:
    requests = []
    async with judged() as (_, server):
        for _ in range(2):
            settings = settings_for(server.base_url, cache=str(tmp_path / "verdicts.db") if cache == "file" else cache)
            judge = open_judge(settings, suite="a_suite")
            for _ in range(2):
                await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
            await judge.close()
            requests.append(server.seen.requests)
    assert requests == {"off": [2, 4], "memory": [1, 2], "file": [1, 1]}[cache]


def test_a_question_is_told_apart_by_all_that_changes_its_answer() -> None:
    settings, other_prompt = JudgeSettings(), parse_prompt("other", "version: 1.0\n--- system ---\nA\n--- user ---\n{{note}}\n")
    form, fields = form_of(Verdict), {"note": "x"}

    class Other(BaseModel):
        score: int

    changed: list[Any] = [
        settings.model_copy(update=update) for update in ({"model": "m"}, {"temperature": 1.0}, {"seed": 1}, {"max_tokens": 99}, {"base_url": "http://h/v1"})
    ]
    keys = {question_of(each, PROMPT, form, fields) for each in (settings, *changed)}
    keys |= {question_of(settings, other_prompt, form, fields), question_of(settings, PROMPT, form_of(Other), fields)}
    keys |= {question_of(settings, PROMPT, form, given) for given in ({"note": "y"}, {"note": "x", "b": ""}, {"note": '", "b", "'})}
    assert len(keys) == 11
    assert question_of(settings.model_copy(update={"api_key": None, "timeout_s": 1.0}), PROMPT, form, fields) in keys


def test_the_least_recently_used_gives_way(tmp_path: Path) -> None:
    for kept in (MemoryCache(3), FileCache(tmp_path / "verdicts.db", 3)):
        for number in range(3):
            kept.keep(bytes([number]), ONE)
        assert kept.find(b"\0") == ONE
        kept.keep(b"\3", ONE)
        assert [kept.find(bytes([number])) is not None for number in range(4)] == [True, False, True, True]
        kept.close()


def test_a_file_of_verdicts_is_its_owner_s_and_holds_no_text_of_a_question(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.db"
    kept = FileCache(file, 10)
    kept.keep(question_of(JudgeSettings(), PROMPT, form_of(Verdict), {"note": CANARY}), ONE)
    for each in tmp_path.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
        assert CANARY.encode() not in each.read_bytes()
    kept.close()


def _keep(file: Path, start: int) -> None:
    kept = FileCache(file, 1_000)
    for number in range(start, start + 200):
        kept.keep(number.to_bytes(4, "big"), ONE)
        assert kept.find(number.to_bytes(4, "big")) == ONE
    kept.close()


def test_processes_share_a_file_of_verdicts(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    file = tmp_path / "verdicts.db"
    FileCache(file, 1_000).close()
    processes = [context.Process(target=_keep, args=(file, 200 * number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    kept = FileCache(file, 1_000)
    assert all(kept.find(number.to_bytes(4, "big")) == ONE for number in range(600))
    kept.close()


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "not.db").write_text("this is no database, and long enough to be taken for one " * 20)
    for file in (tmp_path / "no" / "folder.db", tmp_path / "not.db"):
        with pytest.raises(ConfigError, match=r"^cache: .*TOUCHSTONE_JUDGE_CACHE"):
            FileCache(file, 10)


async def test_a_verdict_that_was_kept_when_answers_were_read_in_another_way_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with judged(cache=str(tmp_path / "verdicts.db")) as (judge, server):
        with monkeypatch.context() as earlier:
            earlier.setattr("touchstone.scorers.judges.serve.verdict_cache._READING", 1)
            await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert [(await judge.ask(PROMPT, {"note": "case 1"}, Verdict)).cached for _ in range(2)] == [False, True]
        assert server.seen.requests == 2


async def test_an_answer_of_another_form_is_never_kept(tmp_path: Path) -> None:
    async with judged(answer=lambda _: {"verdict": "good", "stars": 4}, cache=str(tmp_path / "verdicts.db")) as (judge, server):
        for _ in range(2):
            with pytest.raises(Unanswered, match="wrong_form") as told:
                await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
            assert (told.value.usage.calls, told.value.usage.wasted) == (2, 2)
        assert server.seen.requests == 4
        assert (counted(judge, "judge_repairs"), counted(judge, "judge_calls", outcome="misfit")) == (2, 4)


async def test_a_kept_verdict_of_another_form_is_asked_for_again(tmp_path: Path) -> None:
    class Narrow(BaseModel):
        score: int

    file = tmp_path / "verdicts.db"
    async with judged(cache=str(file)) as (judge, server):
        await judge.ask(PROMPT, {"note": "case 1"}, Narrow)
        kept = FileCache(file, 10)
        kept._base.execute("update verdicts set verdict = '{}'")
        kept.close()
        assert (await judge.ask(PROMPT, {"note": "case 1"}, Narrow)).verdict.score == 2
        assert server.seen.requests == 2
