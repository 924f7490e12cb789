import asyncio
import time

import pytest

from tests.scorers.judges.helpers import PROMPT, Verdict, settings_for
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.outage import WAITED_MIN, Outage


def test_cases_are_told_at_once_after_some_have_waited_in_vain_and_one_asks_now_and_then() -> None:
    now = [0.0]
    outage = Outage(20.0, lambda: now[0])
    for _ in range(WAITED_MIN):
        outage.check()
        outage.waited("judge_connection")
    with pytest.raises(Unavailable, match="judge_connection"):
        outage.check()
    now[0] = 20.0
    outage.check()
    with pytest.raises(Unavailable):
        outage.check()


def test_an_answer_ends_it() -> None:
    outage = Outage(20.0, lambda: 0.0)
    for _ in range(WAITED_MIN):
        outage.waited("judge_timeout")
    outage.answered()
    outage.check()


async def test_a_batch_at_a_dead_server_costs_a_few_deadlines_and_not_one_a_case() -> None:
    judge = open_judge(settings_for("http://127.0.0.1:9/v1", deadline_s=2.0, connect_timeout_s=0.5, retry_backoff_max_s=60.0), suite="a_suite")

    async def waited_s(number: int) -> float:
        begun = time.monotonic()
        with pytest.raises(Unavailable):
            await judge.ask(PROMPT, {"note": f"case {number}"}, Verdict)
        return time.monotonic() - begun

    waits = [await asyncio.gather(*(waited_s(number + place) for place in range(4))) for number in range(0, 40, 4)]
    await judge.close()
    assert min(waits[0]) >= 1.9
    assert sum(one >= 1.9 for some in waits[1:] for one in some) == 0
