import asyncio
import multiprocessing
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clock import Clock
from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.replies import Reply
from tests.scorers.judges.helpers import PROMPT, Verdict, counted, judged
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.judges.ask.judge import Answer, OverBudget
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.serve.budget import NANO, Balance, Budget, Reservation, balances, cost_nano, dearest_nano
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import NO_CONNECTION
from touchstone.scorers.judges.serve.spending import Purse
from touchstone.scorers.judges.settings import JudgeSettings, Price

PRICE = Price(input_usd=0.15, output_usd=0.6)
MINI = {"price": PRICE, "budget_usd": 0.01, "budget_period": "run", "max_tokens": 200}
#: What the settings of a budget alone need.
CENT = JudgeSettings(budget_usd=0.01, price=PRICE, budget_period="run")


def budget_of(file: Path | None = None, suite: str = "a_suite", **chosen: Any) -> Budget:
    return Budget(settings_of(file, **chosen), suite)


def settings_of(file: Path | None, **chosen: Any) -> JudgeSettings:
    return CENT.model_copy(update={"budget_file": file, **chosen})


def spent_nano(file: Path) -> int:
    with sqlite3.connect(file) as base:
        return int(base.execute("select sum(spent + reserved) from spending").fetchone()[0])


def test_tokens_cost_what_the_table_says() -> None:
    assert cost_nano(PRICE, 1_000_000, 0) == 0.15 * NANO
    assert cost_nano(PRICE, 100, 20) == 15_000 + 12_000
    assert cost_nano(Price(input_usd=1, output_usd=0, cached_usd=0.1), 100, 0, cached=40) == 60_000 + 4_000
    assert dearest_nano(Price(input_usd=1, output_usd=0, cached_usd=2), 100, 0) == 200_000


def test_a_reservation_counts_until_it_is_settled() -> None:
    budget = budget_of()
    first = budget.reserve(9_000_000)
    assert isinstance(first, Reservation)
    assert budget.reserve(2_000_000) == "later"
    budget.settle(first, 1_000_000)
    assert isinstance(budget.reserve(9_000_000), Reservation)
    assert budget.reserve(1) == "later"
    assert budget.reserve(10_000_000) == "exhausted"


def test_what_a_dead_process_reserved_is_uncertain_and_counts_up_to_a_share(tmp_path: Path) -> None:
    """A tenth of the budget is 1,000,000."""
    file, clock = tmp_path / "budget.db", Clock()
    assert isinstance(Budget(settings_of(file), "a_suite", clock).reserve(8_000_000), Reservation)
    after = Budget(settings_of(file), "a_suite", clock)
    assert after.reserve(3_000_000) == "later"
    clock.now += CENT.timeout_s + 60
    assert after.reserve(9_500_000) == "exhausted"
    assert after.balance() == Balance(uncertain=8_000_000)
    # All that may have been charged, with what is in flight, is never more than the budget and its share again.
    assert after.reserve(2_500_000) == "uncertain"
    for _ in range(8):
        reserved = after.reserve(1_100_000)
        assert isinstance(reserved, Reservation)
        after.settle(reserved, 1_100_000)
    assert after.reserve(1_100_000) == "exhausted"
    assert after.left_usd() == pytest.approx(0.01 - 0.001 - 0.0088)


def test_a_reservation_that_is_settled_late_counts_once(tmp_path: Path) -> None:
    clock = Clock()
    budget = Budget(settings_of(tmp_path / "budget.db"), "a_suite", clock)
    late, other = budget.reserve(4_000_000), budget.reserve(1_000_000)
    assert isinstance(late, Reservation)
    assert isinstance(other, Reservation)
    clock.now += CENT.timeout_s + 60
    budget.settle(other, 500_000)
    budget.reserve(1)
    assert budget.balance() == Balance(spent=500_000, reserved=1, uncertain=4_000_000)
    budget.settle(late, 300_000)
    assert budget.balance() == Balance(spent=800_000, reserved=1, uncertain=0)


def test_with_a_share_of_one_all_that_is_uncertain_counts() -> None:
    budget = budget_of(budget_uncertain_share=1.0)
    reserved = budget.reserve(8_000_000)
    assert isinstance(reserved, Reservation)
    budget.settle(reserved, 8_000_000, uncertain=True)
    assert budget.reserve(3_000_000) == "exhausted"


def test_beyond_the_share_the_tries_of_a_period_add_at_most_as_much_again(tmp_path: Path) -> None:
    budget, request = budget_of(tmp_path / "budget.db", budget_period="day"), 10_000
    assert budget.pace_s(request) == 0
    reserved = budget.reserve(1_000_000)
    assert isinstance(reserved, Reservation)
    budget.settle(reserved, 1_000_000, uncertain=True)
    assert 86_400 / budget.pace_s(request) * request <= 1_000_000


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_budget_of_few_requests_waits_for_the_next_period_at_most(tmp_path: Path, share: float) -> None:
    budget, request = budget_of(tmp_path / "budget.db", budget_period="hour", budget_uncertain_share=share), 6_000_000
    assert budget.pace_s(request) == 0
    reserved = budget.reserve(request)
    assert isinstance(reserved, Reservation)
    budget.settle(reserved, request, uncertain=True)
    assert 0 < budget.pace_s(request) <= 3_600


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "budget.db"
    with sqlite3.connect(file) as base:
        base.execute("create table spending (suite text, period text, spent integer, reserved integer, primary key (suite, period)) without rowid")
        base.execute("insert into spending values ('a_suite', 'run', 4000000, 3000000)")
    assert budget_of(file).balance() == Balance(spent=4_000_000, uncertain=3_000_000)
    assert balances(file) == [("a_suite", "run", Balance(spent=4_000_000, uncertain=3_000_000))]


def test_each_suite_has_its_own_ceiling_in_a_shared_file(tmp_path: Path) -> None:
    file = tmp_path / "budget.db"
    assert isinstance(budget_of(file).reserve(9_000_000), Reservation)
    assert isinstance(budget_of(file, suite="another").reserve(9_000_000), Reservation)


@pytest.mark.parametrize(
    ("period", "at", "resets_in_s"),
    [("hour", "2026-12-31T23:30", 1_800), ("day", "2026-12-31T23:30", 1_800), ("month", "2026-12-31T23:00", 3_600), ("month", "2026-02-27", 2 * 86_400)],
)
def test_a_new_period_has_a_new_budget(tmp_path: Path, period: str, at: str, resets_in_s: float) -> None:
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    with time_machine.travel(moment, tick=False) as clock:
        budget = budget_of(tmp_path / "budget.db", budget_period=period)
        budget.reserve(NANO // 100)
        assert budget.reserve(1) in {"later", "exhausted"}
        assert budget.resets_in_s() == resets_in_s
        clock.shift(resets_in_s)
        assert isinstance(budget.reserve(1), Reservation)


def test_a_request_that_crosses_into_a_new_period_is_paid_from_the_old_one(tmp_path: Path) -> None:
    with time_machine.travel(datetime(2026, 5, 1, 23, 59, 59, tzinfo=UTC), tick=False) as clock:
        budget = budget_of(tmp_path / "budget.db", budget_period="day")
        reserved = budget.reserve(5_000_000)
        assert isinstance(reserved, Reservation)
        clock.shift(2)
        budget.settle(reserved, 4_000_000)
        assert budget.left_usd() == 0.01


class Steps:
    reserve = st.tuples(st.just("reserve"), st.integers(1, 6_000_000))
    settle = st.tuples(st.just("settle"), st.floats(0, 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(Steps.reserve, Steps.settle), max_size=60))
def test_what_is_spent_and_reserved_is_never_more_than_the_ceiling(steps: list[tuple[str, Any]]) -> None:
    budget, open_, spent = budget_of(), [], 0
    for kind, amount in steps:
        if kind == "reserve":
            told = budget.reserve(amount)
            if isinstance(told, Reservation):
                open_.append(told)
            else:
                reserved = sum(each.nano for each in open_)
                assert spent + reserved + amount > NANO // 100
                assert (told == "later") == (bool(open_) and spent + amount <= NANO // 100)
        elif open_:
            reservation = open_.pop()
            budget.settle(reservation, int(reservation.nano * amount))
            spent += int(reservation.nano * amount)
        assert spent + sum(each.nano for each in open_) <= NANO // 100
        assert round(budget.left_usd() * NANO) == NANO // 100 - spent - sum(each.nano for each in open_)
    budget.close()


def _spend(file: Path, number: int, paid: Any) -> None:
    """A process that reserves and settles until nothing is left; every third request is left open, as by one that dies."""
    budget = budget_of(file)
    count = 0
    while isinstance(reserved := budget.reserve(50_000), Reservation):
        count += 1
        if count % 3:
            budget.settle(reserved, 20_000)
            with paid.get_lock():
                paid.value += 20_000
        else:
            with paid.get_lock():
                paid.value += 50_000


def test_processes_share_one_ceiling(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    file, paid = tmp_path / "budget.db", context.Value("q", 0)
    budget_of(file).close()
    processes = [context.Process(target=_spend, args=(file, number, paid)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    assert NANO // 100 - 50_000 < paid.value <= NANO // 100
    assert spent_nano(file) == paid.value


def uneven(asked: Asked) -> Reply:
    """Answers that cost less than was reserved, each something else."""
    return Reply({"score": 3}, tokens=(300 + asked.number % 7, 5 + asked.number % 50), latency_s=(asked.number % 5) / 1_000)


@pytest.mark.parametrize("at_once", [100, 400])
async def test_the_budget_is_not_exceeded_by_requests_at_once(at_once: int) -> None:
    ceiling = at_once * 30_000
    chosen: dict[str, Any] = {**MINI, "budget_usd": ceiling / NANO, "deadline_s": 90}
    async with judged(answer=uneven, server={"keep_bodies": False}, concurrency=at_once, **chosen) as (judge, server):
        told = await asyncio.gather(*(judge.ask(PROMPT, {"note": f"{number}"}, Verdict) for number in range(at_once)), return_exceptions=True)
        answers = [answer for answer in told if isinstance(answer, Answer)]
        billed = cost_nano(PRICE, server.seen.tokens_in, server.seen.tokens_out)
        assert billed <= ceiling
        assert {type(error) for error in told if not isinstance(error, Answer)} == {OverBudget}
        assert sum(answer.usage.cost_usd for answer in answers) * NANO == pytest.approx(billed, abs=at_once)
        assert counted(judge, "judge_budget_left_usd") * NANO == pytest.approx(ceiling - billed, abs=at_once)
        # Nearly all of it was used: cases waited for the requests in flight rather than be turned away.
        assert ceiling - billed < 0.15 * ceiling
        assert server.seen.requests == len(answers)


async def test_what_may_have_been_charged_counts_though_no_answer_came() -> None:
    async with judged(Fault(Kind.HALF_CLOSED, requests=frozenset(range(1, 4))), **MINI) as (judge, server):
        told = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert counted(judge, "judge_unmetered_calls") == 3
        assert told.usage.uncertain_usd == counted(judge, "judge_uncertain_cost_usd") == counted(judge, "judge_budget_uncertain_usd") > told.usage.cost_usd
        assert told.usage.cost_usd == counted(judge, "judge_budget_spent_usd")
        assert cost_nano(PRICE, server.seen.tokens_in, server.seen.tokens_out) <= NANO * (told.usage.uncertain_usd + told.usage.cost_usd)


async def test_a_server_that_hangs_is_away_and_not_a_spent_budget(tmp_path: Path) -> None:
    hang: dict[str, Any] = {"timeout_s": 0.2, "deadline_s": 0.6, "concurrency": 10, "budget_period": "day", "budget_file": tmp_path / "budget.db"}
    async with judged(Fault(Kind.HANG), **{**MINI, "budget_usd": 0.005, **hang}) as (judge, server):
        first = 0
        for _ in range(5):
            told = await asyncio.gather(*(judge.ask(PROMPT, {"note": f"case {number}"}, Verdict) for number in range(60)), return_exceptions=True)
            assert {error.code for error in told if isinstance(error, Unavailable)} == {"judge_timeout"}
            assert not any(isinstance(error, OverBudget) for error in told)
            first = first or server.seen.requests
            await asyncio.sleep(0.1)
        # From then on, the tries are hours apart.
        assert server.seen.requests == first <= 12
        assert counted(judge, "judge_budget_uncertain_usd") > counted(judge, "judge_budget_uncertain_max_usd") == 0.0005
        assert counted(judge, "judge_budget_left_usd") == pytest.approx(0.0045)


async def test_an_answer_without_usage_costs_the_most_that_it_may() -> None:
    async with judged(Fault(Kind.NO_USAGE), **MINI) as (judge, _):
        told = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert told.usage.cost_usd > 200 * 0.6e-6
        assert counted(judge, "judge_cost_usd") == told.usage.cost_usd


async def test_a_number_of_tokens_that_no_request_has_is_no_usage() -> None:
    for tokens in ((2**63, 5), (300, 2**63)):
        async with judged(answer=lambda _, tokens=tokens: Reply({"score": 3}, tokens=tokens), **MINI) as (judge, _):
            told = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
            assert told.verdict.score == 3
            assert counted(judge, "judge_unmetered_calls") == 1
            assert 0 < counted(judge, "judge_budget_left_usd") < 0.01


async def test_an_error_of_the_server_costs_nothing() -> None:
    async with judged(Fault(Kind.ERROR_500, attempts=2), **MINI) as (judge, server):
        told = await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert told.usage.cost_usd * NANO == pytest.approx(cost_nano(PRICE, server.seen.tokens_in, server.seen.tokens_out))


async def test_a_case_without_money_is_told_when_there_is_some_again(tmp_path: Path) -> None:
    async with judged(**{**MINI, "budget_period": "hour", "budget_usd": 0.00001}, budget_file=tmp_path / "budget.db") as (judge, server):
        with pytest.raises(OverBudget) as caught:
            await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
        assert caught.value.resets_in_s is not None
        assert 0 < caught.value.resets_in_s <= 3_600
        assert server.seen.requests == 0


async def test_a_budget_outlives_its_process(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {**MINI, "budget_period": "month", "budget_file": tmp_path / "budget.db"}
    lefts = []
    for _ in range(2):
        async with judged(cache="off", **chosen) as (judge, _server):
            await judge.ask(PROMPT, {"note": "case 1"}, Verdict)
            lefts.append(counted(judge, "judge_budget_left_usd"))
    assert 0.01 - lefts[1] == pytest.approx(2 * (0.01 - lefts[0]))


def test_a_budget_without_a_price_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"price of 'gpt-4o-mini' is not known: set TOUCHSTONE_JUDGE_PRICE_INPUT_USD"):
        open_judge(JudgeSettings.model_validate({"api_key": "k", "budget_usd": 1, "prices": {"other": PRICE}}), suite="a_suite")


def test_a_budget_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "not.db").write_text("this is no database, and long enough to be taken for one " * 20)
    for file in (tmp_path / "no" / "folder.db", tmp_path / "not.db"):
        with pytest.raises(ConfigError, match=r"^budget_file: .*TOUCHSTONE_JUDGE_BUDGET_FILE"):
            budget_of(file)


def test_money_is_waited_for_in_one_event_loop_after_another() -> None:
    chosen = settings_of(None, price=Price(input_usd=1, output_usd=0), max_tokens=1)
    purse = Purse(chosen, Budget(chosen, "a_suite"), Counts("m"))

    async def two() -> None:
        first = await purse.reserve(6_000)
        second = asyncio.create_task(purse.reserve(6_000))
        await asyncio.sleep(0)
        assert isinstance(first, Reservation)
        assert not second.done()
        purse.settle(first, NO_CONNECTION, 6_000)
        purse.settle(await second, NO_CONNECTION, 6_000)  # type: ignore[arg-type]

    asyncio.run(two())
    asyncio.run(two())
