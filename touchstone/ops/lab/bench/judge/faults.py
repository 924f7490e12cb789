"""Every fault of a judge's server in every way of asking: what becomes of the cases, and what that takes in requests, cents and seconds.

The server is the judges' test server, which is in tests/, so this needs a checkout and its root as the working folder. A fault strikes every request, or a
share of them. The verdict is scripted, so an answer with another one is counted as wrong.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from touchstone.ops.lab.bench.judge import JudgeServer
from touchstone.ops.lab.bench.judge.command import NOTE, PROMPT, Verdict
from touchstone.ops.lab.bench.output import keep, now, table
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, OverBudget, Unanswered
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.settings import JudgeSettings

WAYS: Final = ("auto", "json_schema", "tools", "text")
OWN: Final = Verdict(support="absent", score=2, rationale="The note says nothing of it.", evidence=[])
#: The server's faults that need a size: enough to be refused.
_SIZE_BYTES: Final = 8_000_000
#: USD per million tokens, in and out, of the order of what large hosted models cost.
PRICE_USD: Final = (2.5, 10.0)
NONE: Final = "none"
#: What was spent, and what requests without an answer may have cost.
_COSTS: Final = ("judge_cost_usd", "judge_uncertain_cost_usd")


@dataclass(frozen=True, slots=True)
class Load:
    """What every run has in common."""

    cases: int
    concurrency: int
    timeout_s: float
    deadline_s: float
    share: float
    latency_ms: float
    budget_usd: float


@dataclass(frozen=True, slots=True)
class Run:
    """One fault in one way of asking. `outcomes`: of the cases. `cents`: spent, or possibly spent."""

    outcomes: Counter[str]
    requests: int
    cents: float
    seconds: float

    @property
    def cell(self) -> str:
        """Requests, cents and seconds."""
        return f"{self.requests}, {self.cents:.1f} c, {self.seconds:.1f} s"

    @property
    def ends(self) -> str:
        """The outcomes."""
        return ", ".join(f"{outcome} {count}" for outcome, count in self.outcomes.most_common())


def kinds() -> list[str]:
    """No fault, and every fault that the test server knows."""
    from tests.doubles.judges import Kind

    return [NONE, *Kind]


async def run(kind: str, way: str, load: Load) -> Run:
    """Ask about all cases at once, as a worker does."""
    from tests.doubles.judges import Fault, Kind, Reply

    faults = () if kind == NONE else (Fault(Kind(kind), share=load.share if load.share < 1 else None, size_bytes=_SIZE_BYTES),)
    server = JudgeServer(lambda _: Reply(OWN.model_dump()), faults=faults, latency_s=load.latency_ms / 1000)
    async with server:
        settings: dict[str, Any] = {
            "base_url": server.base_url,
            "model": "touchstone-scripted",
            "structured": way,
            "cache": "off",
            "concurrency": load.concurrency,
            "timeout_s": load.timeout_s,
            "deadline_s": load.deadline_s,
            "price": {"input_usd": PRICE_USD[0], "output_usd": PRICE_USD[1]},
            "budget_usd": load.budget_usd,
            "budget_period": "run",
        }
        judge = open_judge(JudgeSettings.model_validate(settings), suite="bench")
        begun = time.monotonic()
        outcomes = Counter(await asyncio.gather(*(_outcome(judge, number) for number in range(load.cases))))
        seconds = time.monotonic() - begun
        cents = 100 * sum(reading.value for reading in judge.readings() if reading.name in _COSTS)
        await judge.close()
        return Run(outcomes, server.seen.requests, cents, seconds)


async def _outcome(judge: Judge, number: int) -> str:
    """What becomes of one case."""
    try:
        answer: Answer[Verdict] = await judge.ask(PROMPT, {"note": f"Case {number}. {NOTE}", "summary": "She slept well."}, Verdict)
    except Unanswered as error:
        return error.code
    except OverBudget:
        return "budget"
    except Unavailable as error:
        return f"away ({error.code})"
    return "judged" if answer.verdict == OWN else "WRONG VERDICT"


def rows(kind: str, runs: Sequence[Run]) -> list[str]:
    """One row: the outcomes once where all ways have the same, and the cells."""
    ends = list(dict.fromkeys(one.ends for one in runs))
    return [kind, "; ".join(ends), *(one.cell for one in runs)]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, write. Exit code 1 if a verdict was taken that is not the judge's."""
    parser = Arguments("bench judge-faults", __doc__)
    parser.add_argument("--cases", type=int, default=40, help="cases of each run, asked at once (default 40)")
    parser.add_argument("--concurrency", type=int, default=10, help="requests in flight (default 10)")
    parser.add_argument("--timeout-s", type=float, default=0.5, help="of a request (default 0.5)")
    parser.add_argument("--deadline-s", type=float, default=1.5, help="of a case (default 1.5)")
    parser.add_argument("--share", type=float, default=1.0, help="share of the requests that the fault strikes (default 1)")
    parser.add_argument("--latency-ms", type=float, default=10.0, help="latency of the server (default 10)")
    parser.add_argument("--budget-usd", type=float, default=5.0, help="budget of each run (default 5)")
    parser.add_argument("--faults", nargs="+", default=kinds(), choices=kinds(), metavar="KIND", help="these alone")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS, metavar="WAY", help="these alone")
    parser.output("reports/bench-judge-faults.md")
    asked: argparse.Namespace = parser.parse_args(arguments)
    load = Load(asked.cases, asked.concurrency, asked.timeout_s, asked.deadline_s, asked.share, asked.latency_ms, asked.budget_usd)
    found: dict[str, list[Run]] = {}
    for kind in asked.faults:
        found[kind] = [asyncio.run(run(kind, way, load)) for way in asked.ways]
        print(f"{kind:20} {' | '.join(one.cell for one in found[kind])}", file=sys.stderr)
    text = "\n".join(report(found, asked.ways, load))
    keep(text, asked.output)
    print(text)
    return 1 if any("WRONG VERDICT" in one.outcomes for runs in found.values() for one in runs) else 0


def report(found: dict[str, list[Run]], ways: Sequence[str], load: Load) -> list[str]:
    """The document."""
    strikes = "every request" if load.share >= 1 else f"{load.share:.0%} of the requests"
    totals = [
        f"{sum(one.requests for one in column)}, {sum(one.cents for one in column):.0f} c, {sum(one.seconds for one in column):.0f} s"
        for column in zip(*found.values(), strict=True)
    ]
    setup = (
        f"{load.cases} cases at once, {load.concurrency} requests in flight, timeout {load.timeout_s:g} s, deadline {load.deadline_s:g} s; the fault strikes "
        f"{strikes}. In each cell requests, cents spent or possibly spent (USD {PRICE_USD[0]:g} and {PRICE_USD[1]:g} per million tokens) and seconds."
    )
    return [
        f"# Judge's faults, {now()}",
        "",
        setup,
        "",
        *table(("fault", "cases", *ways), [*(rows(kind, runs) for kind, runs in found.items()), ["all", "", *totals]]),
    ]
