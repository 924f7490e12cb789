"""Judged cases per second over a raw HTTP client on the same server, and what suites ask a judge with their cascade and without.

The server is the judges' test server, in a process of its own; it is in tests/, so this needs a checkout and its root as the working folder.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import uvloop
from pydantic import BaseModel, Field

from touchstone.ops.lab.bench.judge import JudgeProcess, JudgeServer
from touchstone.ops.lab.bench.judge.raw_client import RawClient, RawLoop
from touchstone.ops.lab.bench.output import keep, now, table
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.machine import machine
from touchstone.scorers.judges.ask.judge import Judge
from touchstone.scorers.judges.ask.prompt import parse_prompt
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.settings import JudgeSettings
from touchstone.scorers.process import calm_collector
from touchstone.scorers.summary.batch import percentile

CONTENDERS = ("raw", "loop", "judge")
AIM = 0.9
#: The most processor time of a case, over the raw loop's.
CPU_AIM = 1.5
MODEL = "touchstone-scripted"
#: Seconds before the clock starts: connections are made, and answers come in step no more.
WARM_S = 1.0
NOTE = "The patient was seen on the ward in the morning. She had slept well, the wound was dry, and she walked to the window without help. " * 24
SUMMARY = "She slept well and walked without help. The wound is dry. " * 12
PROMPT = parse_prompt(
    "bench",
    "version: 1.0\n--- system ---\n"
    + "You compare a summary with the note that it was made from. Say of the whole whether the note supports it. " * 12
    + "\n--- user ---\nThe note:\n{{note}}\n\nThe summary:\n{{summary}}\n",
)
Ask = Callable[[int], Awaitable[object]]


class Verdict(BaseModel):
    """A verdict of a usual size."""

    support: Literal["supported", "contradicted", "absent"]
    score: int = Field(ge=1, le=5)
    rationale: str
    evidence: list[str]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one contender. `cpu_us`: of this process, per case; the server's is not in it."""

    contender: str
    concurrency: int
    rate: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


async def run(contender: str, ask: Ask, concurrency: int, seconds: float, first: int) -> Run:
    """Keep `concurrency` cases in flight and count those that are answered after the warm-up. No two cases are the same."""
    loop = asyncio.get_running_loop()
    begins = loop.time() + WARM_S
    ends = begins + seconds
    waits: list[float] = []
    number = first

    async def one_after_the_other() -> None:
        nonlocal number
        while (begun := loop.time()) < ends:
            number += 1
            await ask(number)
            if begins <= (now := loop.time()) < ends:
                waits.append((now - begun) * 1000)

    asked = [asyncio.ensure_future(one_after_the_other()) for _ in range(concurrency)]
    await asyncio.sleep(begins - loop.time())
    cpu_s = time.process_time()
    await asyncio.sleep(ends - loop.time())
    cpu_s = time.process_time() - cpu_s
    await asyncio.gather(*asked)
    if not waits:
        raise ConfigError(f"{contender}: no case was answered within {seconds:g} s at {concurrency} in flight; give it more --seconds")
    waits.sort()
    return Run(contender, concurrency, len(waits) / seconds, cpu_s / len(waits) * 1e6, percentile(waits, 0.5), percentile(waits, 0.99))


def judge_at(base_url: str, concurrency: int) -> Judge:
    """The judge as a suite opens it, without a cache."""
    settings = JudgeSettings(base_url=base_url, model=MODEL, concurrency=concurrency, cache="off")
    return open_judge(settings, suite="bench")


def fields(number: int) -> dict[str, str]:
    """The texts of a case."""
    return {"note": f"Case {number}. {NOTE}", "summary": SUMMARY}


async def request_of_the_judge() -> dict[str, object]:
    """The judge's own request for a case, so that the raw client sends the same."""
    async with JudgeServer(keep_bodies=True) as server:
        judge = judge_at(server.base_url, 1)
        await judge.ask(PROMPT, fields(0), Verdict)
        await judge.close()
        return dict(server.seen.arrivals[0].body or {})


async def measure(base_url: str, levels: list[int], seconds: float, repeats: int) -> list[Run]:
    """All runs: at each level the contenders take turns, and the first one changes from repeat to repeat."""
    body = await request_of_the_judge()
    text = str(body["messages"][-1]["content"])  # type: ignore[index]
    runs: list[Run] = []
    number = 0
    for concurrency in levels:
        for repeat in range(repeats):
            for contender in CONTENDERS if repeat % 2 == 0 else CONTENDERS[::-1]:
                number += 10_000_000
                if contender != "judge":
                    raw = (RawClient if contender == "raw" else RawLoop)(base_url, body, Verdict)
                    runs.append(await run(contender, lambda at, raw=raw: raw.ask(f"{at} {text}"), concurrency, seconds, number))  # type: ignore[misc]
                    await raw.close()
                else:
                    judge = judge_at(base_url, concurrency)
                    runs.append(await run(contender, lambda at, judge=judge: judge.ask(PROMPT, fields(at), Verdict), concurrency, seconds, number))  # type: ignore[misc]
                    await judge.close()
                print(f"{concurrency:4} {contender:6} {runs[-1].rate:8,.1f} cases/s", file=sys.stderr)
    return runs


def rates(runs: list[Run], levels: list[int], latency_ms: float) -> list[str]:
    """The table: ratios are of the two runs of a repeat, which followed each other."""
    head = ("in flight", "at most, cases/s", "raw client", "raw loop", "judge", "judge over raw client (min to max)", "judge over raw loop")
    processor = ("processor µs a case: raw client", "raw loop", "judge", "judge over raw loop (min to max)")
    return table((*head, *processor, "p50 and p99 ms: raw client", "raw loop", "judge"), [_row(runs, level, latency_ms) for level in levels])


def _row(runs: list[Run], level: int, latency_ms: float) -> list[str]:
    raws, loops, judges = each = [[run for run in runs if run.contender == name and run.concurrency == level] for name in CONTENDERS]

    def ratio(field: str, others: list[Run]) -> str:
        ratios = sorted(getattr(judge, field) / getattr(other, field) for judge, other in zip(judges, others, strict=True))
        return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"

    def median(of: list[Run], field: str) -> str:
        return f"{statistics.median(getattr(run, field) for run in of):,.0f}"

    return [
        f"{level}",
        f"{level / latency_ms * 1000:,.0f}",
        *(median(of, "rate") for of in each),
        ratio("rate", raws),
        ratio("rate", loops),
        *(median(of, "cpu_us") for of in each),
        ratio("cpu_us", loops),
        *(f"{median(of, 'p50_ms')}, {median(of, 'p99_ms')}" for of in each),
    ]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = Arguments("bench judge", __doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each run, after a second of warming up (default 5)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender at each level (default 3)")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[20, 100, 400], help="cases in flight (default 20 100 400)")
    parser.add_argument("--latency-ms", type=float, default=200.0, help="latency of the server (default 200)")
    parser.add_argument("--only", choices=("speed", "cascade"), help="measure this alone")
    parser.output("reports/bench-judge.md")
    asked = parser.parse_args(arguments)
    calm_collector()
    lines = [f"# Judge, {now()}", ""]
    unanswered: dict[str, int] = {}
    if asked.only != "cascade":
        speed, unanswered = measure_speed(asked)
        lines += speed
    if asked.only != "speed":
        from touchstone.ops.lab.bench.judge.cascade import measure as measure_cascades

        lines += uvloop.run(measure_cascades())
    text = "\n".join(lines)
    keep(text, asked.output)
    print(text)
    return 1 if unanswered else 0


def measure_speed(asked: argparse.Namespace) -> tuple[list[str], dict[str, int]]:
    """The first part, and how many requests the server did not answer, by kind."""
    load = os.getloadavg()[0]
    with JudgeProcess(latency_ms=asked.latency_ms) as server:
        runs = uvloop.run(measure(server.base_url, asked.concurrency, asked.seconds, asked.repeats))
        unanswered = {kind: count for kind, count in server.seen()["kinds"].items() if kind != "answered"}
    lines = [
        "## Cases per second",
        "",
        f"Machine: {machine()}. The server answers after {asked.latency_ms:g} ms, in a process of its own on the same machine.",
        f"Load of the machine before the first run: {load:.1f}. Other work slows the contender that needs more of a processor: the ratio then says little.",
        f"Medians of {asked.repeats} runs of {asked.seconds:g} s in turn. Aim at 400 in flight: the judge does at least {AIM} of what the raw client does.",
        f"Aim for the processor: a case takes the judge at most {CPU_AIM} times as much as the raw loop (aiohttp, without limits, retries or budget).",
        "",
        *rates(runs, asked.concurrency, asked.latency_ms),
    ]
    return [*lines, *([f"Requests that the server did not answer: {unanswered}", ""] if unanswered else [])], unanswered
