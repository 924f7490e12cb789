"""Prepares and carries out a run: models, system under test, and report files."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from touchstone.ops.reports.files import check_directory, write_whole
from touchstone.ops.selftest.config_file import SYSTEMS
from touchstone.ops.selftest.earlier_requests import Replay, fixed_request
from touchstone.schemas.reports.selftest import SelftestCase, SelftestReport
from touchstone.schemas.settings.house import KafkaSettings, Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.ask.judge import Judge, Prompt
from touchstone.scorers.judges.ask.prompt import load_prompt
from touchstone.scorers.judges.settings import PREFIX, JudgeSettings, resolver
from touchstone.scorers.selftest.batch import report_of
from touchstone.scorers.selftest.generator import Generator, NoRequest, Request
from touchstone.scorers.selftest.layout import markdown, view
from touchstone.scorers.selftest.run import Metered, Selftest
from touchstone.scorers.selftest.safety import danger
from touchstone.scorers.selftest.settings import Asked, Scenario, SelftestSettings
from touchstone.scorers.selftest.system import Names, SystemUnderTest
from touchstone.scorers.selftest.system_settings import CommandSystem, HttpSystem, KafkaSystem, RequestSystem

PACKAGE: Final = "touchstone.scorers.selftest"
CLOSE_TIMEOUT_S: Final = 5.0
#: The report is written after each of the first cases, and later at this interval: each time it is written as a whole.
WRITTEN_EACH_MAX: Final = 200
WRITE_EVERY_S: Final = 5.0
OpenJudge = Callable[[JudgeSettings], Judge]


class _JudgeSection(Section):
    """The connection to the models, from the environment alone."""

    judge: JudgeSettings = field(default_factory=JudgeSettings)


@dataclass(slots=True)
class Plan:
    """A run that can begin. `replay`: where its requests come from; else a generator writes them. `sends_seed`: to the generator's server."""

    settings: SelftestSettings
    scenarios: Sequence[Scenario]
    seed: int
    output: Path
    replay: Replay | None = None
    sends_seed: bool = False
    junit: Path | None = None
    names: Names = field(default_factory=Names.new)
    signalled: int | None = None

    @property
    def json_path(self) -> Path:
        """The detailed results."""
        return self.output / "reports" / "selftest" / f"{self.names.run_id}.json"

    @property
    def markdown_path(self) -> Path:
        """The summary for people."""
        return self.output / "docs" / "reports" / "selftest" / f"{self.names.run_id}.md"

    def check(self) -> None:
        """Refuse a run without a key, or without a directory for its reports, before anything is asked. Raises `ConfigError`."""
        judge_settings(self.settings.judge)
        for path in (self.json_path, self.markdown_path):
            check_directory(path.parent, "--output")
        if self.junit is not None:
            check_directory(self.junit.parent, "--junit")


def judge_settings(asked: Asked, seed: int | None = None, run_budget: Path | None = None) -> JudgeSettings:
    """The connection of the environment with the model and parameters of the file. Raises `ConfigError`, also where there is no key.

    `run_budget`: the file in which generator and judge share the budget of a run; without it each would have the whole one.
    """
    connection = resolver(_JudgeSection, PREFIX, "the self-test's file", {})(os.environ, None).judge
    if why := connection.why_unusable:
        raise ConfigError(why)
    if asked.max_tokens >= connection.context_tokens:
        raise ConfigError("max_tokens leaves no room for a prompt in TOUCHSTONE_JUDGE_CONTEXT_TOKENS; lower the first or raise the second")
    fields: dict[str, Any] = {"model": asked.model, "temperature": asked.temperature, "max_tokens": asked.max_tokens}
    if seed is not None:
        fields["seed"] = seed % 2**31
    if connection.budget_period == "run" and connection.budget_file is None:
        fields["budget_file"] = run_budget
    return connection.model_copy(update=fields)


def open_system(settings: SelftestSettings, kafka: Callable[[KafkaSystem], KafkaSettings]) -> SystemUnderTest:
    """The adapter that the settings name. `kafka` gives the cluster's settings when needed. Raises `ConfigError`."""
    wanted = settings.system
    if wanted is None:
        raise ConfigError(f"no system under test: give --system {SYSTEMS}, or set `system` in the file")
    if isinstance(wanted, HttpSystem):
        from touchstone.ops.selftest.http_system import HttpEndpoint

        return HttpEndpoint(wanted)
    if isinstance(wanted, KafkaSystem):
        from touchstone.ops.selftest.kafka_system import KafkaTopics

        return KafkaTopics(wanted, kafka(wanted))
    if isinstance(wanted, RequestSystem):
        from touchstone.ops.selftest.request_system import HttpRequest

        return HttpRequest(wanted)
    if isinstance(wanted, CommandSystem):
        from touchstone.ops.selftest.command_system import Command

        return Command(wanted)
    from touchstone.ops.selftest.python_system import PythonFunction

    return PythonFunction(wanted)


async def carry_out(plan: Plan, system: SystemUnderTest, open_judge: OpenJudge, on_case: Callable[[SelftestCase], None]) -> SelftestReport:
    """Run the plan and write both reports; after Ctrl-C or SIGTERM, for the cases run so far (`plan.signalled`). Raises `ConfigError`.

    The JSON is replaced after every case (of a long run: every few seconds), so a complete one exists whatever ends the process.
    """
    with TemporaryDirectory(prefix="touchstone-selftest-") as directory:
        return await _carried_out(plan, system, open_judge, on_case, Path(directory) / "budget.db")


async def _carried_out(plan: Plan, system: SystemUnderTest, open_judge: OpenJudge, on_case: Callable[[SelftestCase], None], run_budget: Path) -> SelftestReport:
    rubric = load_prompt(PACKAGE, "judge")
    judge, generator, prompts = _models(plan, open_judge, rubric, run_budget)
    run = Selftest(plan.settings, plan.scenarios, plan.names, system, judge, rubric, _requests(plan, generator, prompts))
    began = datetime.now(UTC)

    def report(stopped: str | None = None) -> SelftestReport:
        return report_of(
            run,
            began=began,
            seed=plan.seed,
            prompts={prompt.name: prompt.digest for prompt in prompts},
            cost_usd=judge.cost_usd + (generator.cost_usd if generator is not None else 0.0),
            version=_version(),
            replay_of=plan.replay.run_id if plan.replay is not None else None,
            stopped=stopped,
        )

    written = time.monotonic()

    def noted(case: SelftestCase) -> None:
        nonlocal written
        if len(run.done) <= WRITTEN_EACH_MAX or time.monotonic() - written > WRITE_EVERY_S:
            write_whole(plan.json_path, as_json(report()))
            written = time.monotonic()
        on_case(case)

    async def work() -> None:
        await system.open()
        await run.run(noted)

    try:
        await _stoppable(plan, work())
    finally:
        for model in (judge, generator):
            if model is not None:
                await _closed(model.close())
        await _closed(system.close())
    whole = report("stopped by a signal" if plan.signalled is not None else None)
    write_whole(plan.json_path, as_json(whole))
    write_whole(plan.markdown_path, "".join(markdown(whole)))
    if plan.junit is not None:
        from touchstone.ops.reports.junit import junit_pieces

        write_whole(plan.junit, "".join(junit_pieces(view(whole))))
    return whole


def as_json(report: SelftestReport) -> str:
    """The report as the specification's JSON."""
    return report.model_dump_json(by_alias=True, indent=2) + "\n"


def _models(plan: Plan, open_judge: OpenJudge, rubric: Prompt, run_budget: Path) -> tuple[Metered, Metered | None, list[Prompt]]:
    """The judge, the generator where one is needed, and the prompts of both."""
    judge = Metered(open_judge(judge_settings(plan.settings.judge, None, run_budget)))
    if plan.replay is not None or all(scenario.prompt is not None for scenario in plan.scenarios):
        return judge, None, [rubric]
    generator = Metered(open_judge(judge_settings(plan.settings.generator, plan.seed if plan.sends_seed else None, run_budget)))
    return judge, generator, [load_prompt(PACKAGE, "generator"), rubric]


def _requests(plan: Plan, model: Metered | None, prompts: Sequence[Prompt]) -> Callable[[Scenario], Awaitable[Request]]:
    """How a scenario gets its request: from the file, from a generator, or from the earlier run, whose written requests are screened again."""
    generator = None if model is None else Generator(model, prompts[0], attempts_max=plan.settings.generator.attempts_max, seed=plan.seed)
    replayed = {} if plan.replay is None else plan.replay.requests

    async def request(scenario: Scenario) -> Request:
        if (fixed := fixed_request(scenario)) is not None:
            return fixed
        if generator is not None:
            return await generator.write(scenario)
        again = replayed[scenario.id]
        if (rule := danger(again.prompt)) is not None:
            raise NoRequest("generator_unsafe", (f"unsafe: {rule}",))
        return again

    return request


async def _stoppable(plan: Plan, work: Any) -> None:
    """Await the run; a signal ends it at once, and its number is kept in the plan."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def stop(number: int) -> None:
        plan.signalled = number
        task.cancel()

    # A signal that is ignored for this process (a background job) stays ignored. Signals only arrive in the main thread.
    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    heard = heard if threading.current_thread() is threading.main_thread() else []
    for number in heard:
        loop.add_signal_handler(number, stop, number)
    try:
        await task
    except asyncio.CancelledError:
        if plan.signalled is None:
            raise
    finally:
        task.cancel()
        for number in heard:
            loop.remove_signal_handler(number)


async def _closed(closing: Awaitable[None]) -> None:
    """Close within a time limit: a system or model may hang, and the report is more important."""
    try:
        await asyncio.wait_for(closing, CLOSE_TIMEOUT_S)
    except TimeoutError:
        return


def _version() -> str:
    from importlib.metadata import version

    return version("touchstone-stream")
