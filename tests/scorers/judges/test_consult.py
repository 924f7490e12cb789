from collections.abc import Mapping
from typing import Any

import pytest

from tests.doubles.judges import Fault, Kind, Reply
from tests.scorers.judges.helpers import PROMPT, Verdict, counted, judged
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Failure, FileRef, Scorecard
from touchstone.scorers.base import ConfigError, Lost, NoSettings, Shed, Unavailable
from touchstone.scorers.judges.ask.consult import Unjudged, consult, judge_details, settled
from touchstone.scorers.judges.ask.judge import Answer, OverBudget, Unanswered, Usage
from touchstone.scorers.judges.ask.sampling import cut, is_sampled, shares
from touchstone.scorers.judges.ask.tally import JudgeTally
from touchstone.scorers.judges.settings import JudgeSettings, Section, resolver
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite

USAGE = Usage(tokens_in=900, tokens_out=50, cost_usd=0.002, calls=2, wasted=1)
ANSWER = Answer(Verdict(score=3), "gpt-test-1", USAGE)
CARD = Scorecard(label="Pass", values={"AH": 1.0})


class Says:
    def __init__(self, says: Any) -> None:
        self._says = says

    async def ask(self, *_: Any) -> Any:
        if isinstance(self._says, Exception):
            raise self._says
        return self._says

    def readings(self) -> tuple[()]:
        return ()

    async def close(self) -> None:
        pass


async def asked(says: Any, on_budget: Any = "wait") -> Any:
    return await consult(None if says is None else Says(says), PROMPT, {"note": "x"}, Verdict, component="part", on_budget=on_budget)


async def test_an_answer_is_handed_on() -> None:
    assert await asked(ANSWER) is ANSWER
    assert settled(ANSWER, CARD) is CARD


@pytest.mark.parametrize(
    ("says", "reason", "failure", "waits"),
    [
        (None, "no_judge", None, None),
        (Unanswered("refused", USAGE), "unanswered", ("judge", "refused"), None),
        (Unavailable("judge_5xx"), "unavailable", ("unavailable", "judge_5xx"), Unavailable),
        (Lost("judge_key"), "unavailable", ("unavailable", "judge_key"), Lost),
        (OverBudget(60.0), "shed", ("shed", "budget"), Unavailable),
    ],
)
async def test_a_judge_without_a_verdict_is_named_and_never_a_verdict(says: Any, reason: str, failure: tuple[str, str] | None, waits: type | None) -> None:
    found = await asked(says)
    assert isinstance(found, Unjudged)
    assert found.reason == reason
    assert found.failure == (None if failure is None else Failure(component="part", kind=failure[0], code=failure[1]))
    assert type(found.wait) is (type(None) if waits is None else waits)


async def test_a_case_without_budget_is_put_aside_until_the_next_period_where_the_settings_say_so() -> None:
    found = await asked(OverBudget(60.0), "shed")
    with pytest.raises(Shed) as caught:
        settled(found, CARD)
    assert (caught.value.reason, caught.value.again_in_s, caught.value.card) == ("budget", 60.0, CARD)


async def test_what_an_unanswered_question_has_cost_is_told() -> None:
    assert judge_details(await asked(Unanswered("refused", USAGE))) == {
        "state": "unanswered",
        "tokens_in": 900,
        "tokens_out": 50,
        "cost_usd": 0.002,
        "calls": 2,
        "calls_wasted": 1,
    }


PRICE = {"input_usd": 1_000.0, "output_usd": 1_000.0}


@pytest.mark.parametrize(
    ("state", "chosen"),
    [
        ("shed", {"answer": lambda _: Reply("no verdict", tokens=(2_000, 10)), "budget_usd": 3.0, "budget_period": "run", "max_tokens": 100}),
        ("unavailable", {"faults": Fault(Kind.HANG), "timeout_s": 0.1, "deadline_s": 0.5}),
    ],
)
async def test_what_was_spent_before_the_budget_or_the_time_ran_out_is_told_to_the_cent(state: str, chosen: dict[str, Any]) -> None:
    faults = [chosen.pop("faults")] if "faults" in chosen else []
    async with judged(*faults, price=PRICE, structured="text", **chosen) as (judge, server):
        spent = judge_details(await consult(judge, PROMPT, {"note": "case 1"}, Verdict, component="part", on_budget="wait"))
        assert (spent["state"], spent["calls"]) == (state, len(server.seen.arrivals))
        assert spent["calls"] == spent["calls_wasted"] == sum(counted(judge, "judge_calls", outcome=each) for each in ("misfit", "fault", "cancelled")) > 0
        assert spent["cost_usd"] == pytest.approx(counted(judge, "judge_cost_usd"), abs=1e-9)
        assert spent.get("uncertain_usd", 0) == pytest.approx(counted(judge, "judge_uncertain_cost_usd"), abs=1e-9)
        assert spent["cost_usd"] + spent.get("uncertain_usd", 0) > 0.5


@pytest.mark.parametrize("kind", [Kind.NO_KEY, Kind.NO_PERMISSION, Kind.NO_MODEL])
async def test_requests_that_a_server_refused_are_in_the_table_of_the_run(kind: Kind) -> None:
    async with judged(Fault(kind)) as (judge, server):
        tally = JudgeTally()
        for number in range(3):
            answer = await consult(judge, PROMPT, {"note": f"case {number}"}, Verdict, component="part", on_budget="wait")
            tally.add({"judge": judge_details(answer)})
        rows = dict(tally.table("cases").rows)
        assert len(server.seen.arrivals) == 1
        assert (rows["cases judge did not answer"], rows["requests"], rows["requests in vain"]) == ("3", "1", "1")


@pytest.mark.parametrize("error", [Unavailable("away", CARD), Lost("away", CARD), Shed("budget", None, CARD)])
async def test_a_case_that_cannot_wait_has_the_card_that_the_scorer_has_without_it(error: Exception) -> None:
    class Waits:
        name, version = "waits", "1"

        async def score(self, _: Any) -> Scorecard:
            raise error

    suite = Suite("waits", "1", (), {}, resolve=lambda *_: NoSettings(), build=lambda _: Waits())
    case = SafeCase(test_id="t", concern_id="c", batch_id="b")
    result = await Scoring(suite, NoSettings()).result(case, "e1", FileRef(file="f"))
    assert (result.label, result.values) == ("Pass", {"AH": 1.0})


def test_two_suites_choose_different_samples() -> None:
    ids = [f"event-{number}" for number in range(200)]
    assert {name for name in ids if is_sampled("one", name, 0.5)} != {name for name in ids if is_sampled("other", name, 0.5)}


def test_short_texts_are_whole_and_long_ones_share_the_rest() -> None:
    assert shares([10, 500, 300, 0], 210) == [10, 100, 100, 0]
    assert shares([10, 20], 100) == [10, 20]
    assert shares([], 100) == []


def test_a_cut_says_how_much_is_left_out() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abcd\n[cut here: 2 of 6 characters are not shown]"


def test_costs_add_up_and_results_without_a_judge_are_passed_over() -> None:
    tally = JudgeTally()
    for details in ({"judge": judge_details(ANSWER)}, {"judge": judge_details(Unjudged("no_judge", "why"))}, {}, {"judge": "quoted"}):
        tally.add(details)
    rows = dict(tally.table("cases").rows)
    assert rows["cases judged"] == rows["cases no judge configured"] == "1"
    assert (rows["requests"], rows["requests in vain"], rows["cost, USD"]) == ("2", "1", "0.0020")


class Mine(Section):
    asks: bool = False
    judge: JudgeSettings = JudgeSettings()


resolve = resolver(Mine, "MINE_", "mine.json", asks=lambda settings: settings.asks)
SHARED: Mapping[str, str] = {"TOUCHSTONE_JUDGE_MODEL": "a-model", "OPENAI_API_KEY": "key-of-a-test"}


def test_a_suite_that_asks_no_judge_does_not_mind_what_is_wrong_with_the_shared_settings() -> None:
    assert resolve({"TOUCHSTONE_JUDGE_MAX_TOKENS": "many", **SHARED}, None) == Mine()
    with pytest.raises(ConfigError, match="TOUCHSTONE_JUDGE_MAX_TOKENS"):
        resolve({"TOUCHSTONE_JUDGE_MAX_TOKENS": "many", "MINE_ASKS": "on"}, None)


@pytest.mark.parametrize(("env", "document", "overrides"), [({"MINE_ASKS": "on"}, None, None), ({}, {"asks": True}, None), ({}, None, {"asks": True})])
def test_a_suite_that_asks_a_judge_reads_the_shared_settings(env: dict[str, str], document: Any, overrides: Any) -> None:
    assert resolve({**SHARED, **env}, document, overrides).judge.model == "a-model"
    assert resolve({**SHARED, **env, "MINE_JUDGE_MODEL": "own"}, document, overrides).judge.model == "own"


def test_own_settings_that_fit_only_with_the_shared_ones_are_read_with_them() -> None:
    env = {"MINE_ASKS": "on", "MINE_JUDGE_MAX_TOKENS": "150000", "TOUCHSTONE_JUDGE_CONTEXT_TOKENS": "190000"}
    assert resolve(env, None).judge.max_tokens == 150_000


@pytest.mark.parametrize(
    "entry", [{"calls": None}, {"calls": "x"}, {"calls": 1e400}, {"cost_usd": None}, {"cost_usd": float("nan")}, {"tokens_in": [1]}, {"calls": -5}]
)
def test_a_result_that_tells_no_numbers_costs_no_report(entry: dict[str, Any]) -> None:
    tally = JudgeTally()
    for one in (entry, {"calls": 2, "cost_usd": 0.5}):
        tally.add({"judge": {"state": "answered", **one}})
    assert (tally.states["answered"], tally.spent["calls"], tally.cost_usd) == (2, 2, 0.5)
