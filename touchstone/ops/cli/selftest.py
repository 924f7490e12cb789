"""`touchstone selftest`: requests written by a model, answered by a system under test, judged by a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import EXIT_STOPPED, EXIT_TERMINATED, fail, one_line, one_line_errors, settings_from, until_read_no_more

if TYPE_CHECKING:
    from collections.abc import Callable

    from touchstone.ops.selftest.running import Plan
    from touchstone.schemas.reports.selftest import SelftestCase, SelftestReport
    from touchstone.schemas.settings.house import KafkaSettings
    from touchstone.scorers.judges.ask.judge import Judge
    from touchstone.scorers.judges.settings import JudgeSettings
    from touchstone.scorers.selftest.settings import SelftestSettings
    from touchstone.scorers.selftest.system_settings import KafkaSystem

SEED_MAX = 2**31 - 1

ScenariosOption = Annotated[int | None, typer.Option("--scenarios", min=1, help="Run the first N scenarios only (CI).", show_default=False)]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", min=0.1, max=86_400, help="Seconds that the system has for a case (overrides timeout_seconds).", show_default=False)
]
FullOption = Annotated[bool, typer.Option("--full", help="Run every scenario. This is the default without --requests; it cannot be combined with --scenarios.")]
SelftestConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Default: config/selftest.yaml where there is one, else the packaged configuration.", show_default=False)
]
SystemOption = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="SYSTEM",
        help="System under test: an http(s) URL, command:PROGRAM ARGUMENTS, python:module:function, or kafka:REQUEST_TOPIC,REPLY_TOPIC (overrides `system`).",
        show_default=False,
    ),
]
AnswerOption = Annotated[
    str | None,
    typer.Option("--answer", metavar="PATH", help="Path of the answer in the system's JSON: choices[0].message.content", show_default=False),
]
BodyOption = Annotated[
    str | None,
    typer.Option("--body", metavar="JSON", help='Body of a request to the URL, with places: \'{"question": "{{prompt}}"}\'', show_default=False),
]
RequestsOption = Annotated[
    Path | None,
    typer.Option(
        "--requests", metavar="FILE", help="Send the fixed requests of a JSONL file; with --scenarios or --full beside generated ones.", show_default=False
    ),
]
RepeatOption = Annotated[int | None, typer.Option("--repeat", min=1, max=100, help="Send each request so many times (overrides repeat).", show_default=False)]
ConcurrencyOption = Annotated[
    int | None, typer.Option("--concurrency", min=1, max=64, help="Cases that run at a time (overrides concurrency).", show_default=False)
]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write a JUnit report.", show_default=False)]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, max=SEED_MAX, help="Asks the generator the same questions again. Default: random.", show_default=False)
]
ReplayOption = Annotated[
    Path | None,
    typer.Option("--replay", metavar="FILE", help="Send the requests of an earlier run's JSON report again, without a generator.", show_default=False),
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Directory in which reports/selftest/ and docs/reports/selftest/ are.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the JSON report on standard output, instead of lines.")]
PrintConfigOption = Annotated[bool, typer.Option("--print-config", help="Print the packaged configuration, to start a file of your own from, and exit.")]


@app.command(epilog="Example: touchstone selftest --scenarios 2 --system http://127.0.0.1:3000")
def selftest(
    scenarios: ScenariosOption = None,
    timeout: TimeoutOption = None,
    full: FullOption = False,
    config: SelftestConfigOption = None,
    system: SystemOption = None,
    answer: AnswerOption = None,
    body: BodyOption = None,
    requests: RequestsOption = None,
    repeat: RepeatOption = None,
    concurrency: ConcurrencyOption = None,
    seed: SeedOption = None,
    replay: ReplayOption = None,
    junit: JunitOption = None,
    output: OutputOption = Path(),
    as_json: JsonOption = False,
    print_config: PrintConfigOption = False,
) -> None:
    """Test a system with requests that a model writes and answers that a model judges. Sends READ_INFO tasks only.

    Writes reports/selftest/<run_id>.json and docs/reports/selftest/<run_id>.md. Exit codes: 0 all cases passed, 1 a case failed, 3 something
    could not be run or judged.
    """
    import asyncio

    from touchstone.ops.selftest.running import as_json as json_of
    from touchstone.ops.selftest.running import carry_out, open_system
    from touchstone.scorers.selftest.batch import verdict_of

    if print_config:
        from touchstone.ops.selftest.config_file import packaged

        typer.echo(packaged(), nl=False)
        return
    if full and scenarios is not None:
        fail("--full and --scenarios: give one of them")
    if requests is not None and replay is not None:
        fail("--requests and --replay: give one of them; a report brings its fixed requests along")
    with one_line_errors():
        plan = _plan(scenarios, full, config, requests, seed, replay, output)
        plan.junit = junit
        plan.settings = _changed(plan.settings, timeout, repeat, concurrency, system, answer, body)
        tested = open_system(plan.settings, _cluster)
        plan.check()
        report = asyncio.run(carry_out(plan, tested, _open_judge, _quiet if as_json else _printer(plan.settings.repeat)))
    with until_read_no_more():
        typer.echo(json_of(report), nl=False) if as_json else _print_rest(report)
    for path in (plan.json_path, plan.markdown_path, *([junit] if junit is not None else [])):
        typer.echo(one_line(f"wrote {path}").removeprefix("touchstone: "), err=True)
    if plan.signalled is not None:
        import signal

        fail("stopped before the end; the reports hold what was done", EXIT_TERMINATED if plan.signalled == signal.SIGTERM else EXIT_STOPPED)
    verdict = verdict_of(report)
    typer.echo(f"Selftest {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _plan(scenarios: int | None, full: bool, config: Path | None, requests: Path | None, seed: int | None, replay_file: Path | None, output: Path) -> "Plan":
    """The run that the options ask for. Raises `ConfigError`."""
    import secrets

    from touchstone.ops.selftest.config_file import load, read_requests
    from touchstone.ops.selftest.earlier_requests import read_replay
    from touchstone.ops.selftest.running import Plan
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.selftest.settings import repeated_id

    replay = read_replay(replay_file) if replay_file is not None else None
    # A replay brings its settings along; a file that is named judges the same requests by other ones.
    settings = replay.settings if replay is not None and config is None else load(config)[0]
    wanted = list(replay.settings.scenarios if replay is not None else settings.scenarios)
    if replay is not None:
        wanted = [scenario for scenario in wanted if scenario.id in replay.requests]
        if not wanted:
            raise ConfigError(f"{replay_file}: holds no request that could be sent again")
        if replay.left_out:
            typer.echo(one_line(f"not replayed, since the earlier run has no request of them: {', '.join(replay.left_out)}"), err=True)
    wanted = wanted[:scenarios]
    if requests is not None:
        wanted = [*(wanted if full or scenarios is not None else []), *read_requests(requests)]
        if (twice := repeated_id(wanted)) is not None:
            raise ConfigError(f"{requests}: id {twice} is given twice, in this file or in the scenarios; ids name the cases of a report")
    settings = settings.model_copy(update={"scenarios": wanted})
    used = seed if seed is not None else replay.seed if replay is not None else secrets.randbelow(SEED_MAX)
    return Plan(settings, wanted, used, output, replay, sends_seed=seed is not None)


def _changed(
    settings: "SelftestSettings",
    timeout: float | None,
    repeat: int | None,
    concurrency: int | None,
    system: str | None,
    answer: str | None,
    body: str | None,
) -> "SelftestSettings":
    """The settings with what the command line changes. Raises `ConfigError`."""
    from touchstone.ops.selftest.config_file import system_of
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.selftest.settings import CASES_MAX

    if system is None and (answer is not None or body is not None):
        raise ConfigError("--answer and --body describe the system that --system names; give that too")
    named: dict[str, Any] = {"timeout_seconds": timeout, "repeat": repeat, "concurrency": concurrency}
    named["system"] = None if system is None else system_of(system, answer, body)
    settings = settings.model_copy(update={name: value for name, value in named.items() if value is not None})
    if (cases := len(settings.scenarios) * settings.repeat) > CASES_MAX:
        raise ConfigError(f"{cases} cases are more than {CASES_MAX}; lower --repeat, or give fewer requests")
    return settings


def _cluster(system: "KafkaSystem") -> "KafkaSettings":
    """The cluster of the settings. Raises `ConfigError` where a topic of the self-test is one of production's."""
    from touchstone.scorers.base import ConfigError

    settings = settings_from()
    if shared := sorted({system.request_topic, system.reply_topic} & set(settings.topics.all_names())):
        raise ConfigError(f"{shared[0]} is a topic of the settings: a self-test needs topics of its own")
    return settings.kafka


def _open_judge(settings: "JudgeSettings") -> "Judge":
    from touchstone.scorers.judges.serve import open_judge

    return open_judge(settings, suite="selftest")


def _printer(repeats: int) -> "Callable[[SelftestCase], None]":
    from touchstone.scorers.selftest.layout import line

    def print_case(case: "SelftestCase") -> None:
        with until_read_no_more():
            typer.echo(line(case, repeats))

    return print_case


def _quiet(_: "SelftestCase") -> None:
    """Print nothing: standard output is for the JSON."""


def _print_rest(report: "SelftestReport") -> None:
    from touchstone.scorers.reporting.words import visible
    from touchstone.scorers.selftest.layout import agreement_line

    for line in (*map(agreement_line, report.agreement), *report.recommendations):
        typer.echo(visible(f"      {line}"))
