import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import time_machine

from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.server import JudgeServer
from tests.ops.commands import Commands
from touchstone.scorers.judges.serve.budget import NANO, Budget, Reservation
from touchstone.scorers.judges.settings import JudgeSettings, Price

IN_FLIGHT = 30
PRICE = Price(input_usd=0.15, output_usd=0.6)
#: A process that asks a judge and is killed while all its requests are in flight.
ASKING = """
import asyncio, sys
from tests.scorers.judges.helpers import PROMPT, Verdict, settings_for
from touchstone.scorers.judges.serve import open_judge
async def main():
    price = {{"input_usd": 0.15, "output_usd": 0.6}}
    budget = {{"budget_usd": 0.05, "budget_period": "run", "budget_file": "{file}", "price": price}}
    judge = open_judge(settings_for("{url}", concurrency={count}, timeout_s=20, **budget), suite="a_suite")
    await asyncio.gather(*(judge.ask(PROMPT, {{"note": f"case {{number}}"}}, Verdict) for number in range({count})))
asyncio.run(main())
"""


async def test_what_a_killed_process_had_in_flight_is_uncertain_and_leaves_the_budget_to_its_successor(commands: Commands, tmp_path: Path) -> None:
    file = tmp_path / "budget.db"
    async with JudgeServer(faults=[Fault(Kind.HANG)]) as server:
        asking = await asyncio.to_thread(
            subprocess.Popen, [sys.executable, "-c", ASKING.format(url=server.base_url, count=IN_FLIGHT, file=file)], cwd=Path(__file__).parents[2]
        )
        async with asyncio.timeout(60):
            while server.seen.requests < IN_FLIGHT:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        asking.kill()
        await asyncio.to_thread(asking.wait)
    before = json.loads(commands("judge", "--json", "--budget-file", file).out)
    assert before[0]["reserved_usd"] > 0.03
    assert before[0]["uncertain_usd"] == 0
    later = time.time() + 120
    successor = Budget(JudgeSettings(budget_usd=0.05, budget_file=file, price=PRICE, budget_period="run"), "a_suite", clock=lambda: later)
    # A tenth of the budget counts as spent, and not what was reserved.
    assert isinstance(successor.reserve(int(0.002 * NANO)), Reservation)
    assert successor.left_usd() == pytest.approx(0.05 - 0.005 - 0.002)
    successor.close()
    with time_machine.travel(later, tick=False):
        shown = commands("judge", env={"TOUCHSTONE_JUDGE_BUDGET_FILE": str(file)}).out
    assert shown.splitlines()[0].split("  ")[0] == "suite"
    assert f"{before[0]['reserved_usd']:.4f}" in shown


def test_a_budget_file_that_is_not_there_is_named(commands: Commands, tmp_path: Path) -> None:
    ran = commands("judge", "--budget-file", tmp_path / "none.db")
    assert ran.code == 3
    assert "none.db does not exist" in ran.one_line
