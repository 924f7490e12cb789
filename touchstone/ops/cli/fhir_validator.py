"""`touchstone fhir-validator`: HL7's FHIR validator as a service of this machine."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import EXIT_ERROR, ConfigOption, JsonOption, one_line_errors, settings_from, until_read_no_more

if TYPE_CHECKING:
    from touchstone.ops.local.fhir_validator.service import Service
    from touchstone.schemas.settings.house import FhirValidatorSettings, Settings

fhir_validator_app = Group(
    name="fhir-validator",
    help="Run HL7's FHIR validator as a service on this machine, offline (needs a JDK 17 or newer; Maven and npm the first time).",
    no_args_is_help=True,
)
app.add_typer(fhir_validator_app)

StateDirOption = Annotated[
    Path | None,
    typer.Option("--state-dir", help="Folder for the service's address and log. Default: ~/.local/state/touchstone/fhir-validator.", show_default=False),
]


@fhir_validator_app.command()
def install(
    guide: Annotated[
        list[str] | None,
        typer.Option("--guide", metavar="ID#VERSION|ARCHIVE", help="Implementation guide that the service has to know (repeatable).", show_default=False),
    ] = None,
    packages: Annotated[
        list[Path] | None,
        typer.Option("--packages", help="Folder with FHIR packages, asked before ~/.fhir/packages and npm (repeatable).", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Install everything that the service needs; a second run changes nothing, and a failed one leaves the earlier installation.

    The jars come by Maven (155 MB), FHIR's packages from --packages, ~/.fhir/packages or npm. Guides join those of earlier runs. Nothing is fetched
    after that.

    Example: touchstone fhir-validator install --guide hl7.fhir.us.core-6.1.0.tgz
    """
    from touchstone.ops.cli.common.progress import working
    from touchstone.ops.local.fhir_validator.artifacts import VALIDATOR_VERSION, libs_folder
    from touchstone.ops.local.fhir_validator.installation import install as put

    with one_line_errors(), working() as say:
        made = put(packages or [], guide or [], say)
    if as_json:
        parts = {part: {name: str(folder) for name, folder in getattr(made, part).items()} for part in ("packages", "guides")}
        typer.echo(json.dumps({"validator": VALIDATOR_VERSION, "jars": str(libs_folder()), **parts}))
        return
    typer.echo(f"HL7's FHIR validator {VALIDATOR_VERSION} is installed.")
    typer.echo(f"  jars      {libs_folder()}")
    for name, folder in made.packages.items():
        typer.echo(f"  package   {name}  {folder}")
    for name, folder in made.guides.items():
        typer.echo(f"  guide     {name}  {folder}")
    typer.echo("Start it: touchstone fhir-validator start")


@fhir_validator_app.command()
def start(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay in this terminal: for systemd, containers and other supervisors.")] = False,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (default: loopback; any other needs fhir_validator.token).", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port (default: 8322; 0: a free one, printed).", show_default=False)] = None,
    processes: Annotated[int | None, typer.Option(help="Validators; each answers one request at a time (default: 1).", show_default=False)] = None,
    memory_mb: Annotated[int | None, typer.Option("--memory-mb", help="Heap of one validator at most (default: 3072).", show_default=False)] = None,
    guide: Annotated[
        list[str] | None,
        typer.Option("--guide", metavar="ID#VERSION", help="Guide to know (repeatable). Default: all that were installed.", show_default=False),
    ] = None,
    state_dir: StateDirOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start the service, wait until it can answer, and print its address; a second start changes nothing.

    It keeps running after this command, unless --foreground is given. It fetches nothing: `install` comes first.

    Example: touchstone fhir-validator start --processes 2
    """
    from touchstone.ops.local.fhir_validator.installation import chosen
    from touchstone.ops.local.fhir_validator.process import SERVICE_START_S, start_limit_s
    from touchstone.ops.local.fhir_validator.service import Service, default_state_dir, start_in_background

    folder = (state_dir or default_state_dir()).absolute()
    given: dict[str, Any] = {"host": host, "port": port, "processes": processes, "memory_mb": memory_mb, "guides": guide or None}
    house = settings_from(config, **{f"fhir_validator__{name}": value for name, value in given.items()})
    settings = house.fhir_validator
    with one_line_errors():
        if foreground:
            _stay(house, folder)
            return
        running = Service.load(folder)
        if running is None:
            _, parts = chosen(settings.guides)  # a missing part is reported before anything starts
            limit_s = start_limit_s(settings.start_timeout_s, len(parts.guides))
            arguments = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if name != "guides" and value is not None]
            arguments += [f"--guide={name}" for name in guide or ()] + ([f"--config={config.absolute()}"] if config else [])
            running = start_in_background(folder, arguments, _token(settings), limit_s + SERVICE_START_S)
        ready = _report(running, settings, as_json)
    if not ready:  # it was started before, and cannot answer now
        raise typer.Exit(EXIT_ERROR)


@fhir_validator_app.command()
def stop(state_dir: StateDirOption = None, as_json: JsonOption = False) -> None:
    """Stop the service and its validators; documents that they have in hand get a few seconds.

    Example: touchstone fhir-validator stop
    """
    from touchstone.ops.local.fhir_validator.service import Service, default_state_dir

    running = Service.load((state_dir or default_state_dir()).absolute())
    if running is not None:
        running.stop()
    if as_json:
        typer.echo(json.dumps({"stopped": running is not None}))
    else:
        typer.echo("The FHIR validator service was stopped." if running is not None else "The FHIR validator service was not running.")


@fhir_validator_app.command()
def status(state_dir: StateDirOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show the state of the service, or the parts that are missing to start it; exit 3 unless it can answer.

    Example: touchstone fhir-validator status --json
    """
    from touchstone.ops.local.fhir_validator.installation import missing_parts
    from touchstone.ops.local.fhir_validator.service import Service, default_state_dir

    settings = settings_from(config).fhir_validator
    running = Service.load((state_dir or default_state_dir()).absolute())
    if running is not None:
        with one_line_errors():
            ready = _report(running, settings, as_json)
        raise typer.Exit(0 if ready else EXIT_ERROR)
    lines = missing_parts(settings.guides)
    if as_json:
        typer.echo(json.dumps({"running": False, "ready": False, "lacking": lines}))
    else:
        typer.echo("The FHIR validator service does not run here.")
        for line in lines:
            typer.echo(f"  {line}")
        if not lines:
            typer.echo("Start it: touchstone fhir-validator start")
    raise typer.Exit(EXIT_ERROR)


@fhir_validator_app.command()
def compare(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|DIR", help="FHIR files, traces, or folders of them.")],
    packages: Annotated[
        list[Path] | None,
        typer.Option("--packages", help="Folder with the package hl7.fhir.r4.core. Default: ~/.fhir/packages, else made from npm's.", show_default=False),
    ] = None,
    quote: Annotated[bool, typer.Option("--quote/--withhold", help="Show the messages' text, which may quote the documents.")] = False,
    warnings: Annotated[bool, typer.Option("--warnings", help="Also list warnings and hints, which do not count towards a verdict.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare Touchstone's verdicts on FHIR documents with those of HL7's validator, which is started for it and stopped after.

    Exit codes: 0 compared, whatever the result; 3 an error, such as a validator that cannot be started or stops answering.

    Example: touchstone fhir-validator compare bundle.json --quote
    """
    from touchstone.ops.cli.common.progress import Progress, working
    from touchstone.ops.local.fhir_validator.documents import fhir_documents
    from touchstone.ops.local.fhir_validator.server import FhirValidator
    from touchstone.scorers.clinical.comparison.report import as_lines
    from touchstone.scorers.clinical.comparison.verdicts import compared
    from touchstone.scorers.reporting.words import visible

    with one_line_errors():
        documents = fhir_documents(files)  # a mistyped path should not cost the start of a JVM
        validator = FhirValidator(packages=packages or [])
        try:
            with working() as say:
                say("starting the official validator")
                client = validator.start()
            with Progress("documents compared", sys.stderr, total=len(documents), every=1) as progress:
                found = compared(documents, client.validate, quote=quote, warnings=warnings, step=progress.step)
        finally:
            validator.stop()
    with until_read_no_more():
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else "\n".join(map(visible, as_lines(found))))


def _stay(house: "Settings", folder: Path) -> None:
    """Serve in this process. Raises `ConfigError`."""
    import asyncio

    from touchstone.ops.local.fhir_validator.installation import chosen
    from touchstone.ops.local.fhir_validator.process import ValidatorProcess, launch_of, start_limit_s
    from touchstone.ops.local.fhir_validator.supervisor import homes, serve
    from touchstone.streams.telemetry.logs import configure

    configure(house.log)
    settings = house.fhir_validator
    validator, parts = chosen(settings.guides)
    launch = launch_of(validator, parts.packages, parts.guides, settings.memory_mb)
    limit_s = start_limit_s(settings.start_timeout_s, len(parts.guides))
    asyncio.run(serve(settings, folder, lambda: ValidatorProcess(launch, start_timeout_s=limit_s, folder=homes(folder))))


def _report(running: "Service", settings: "FhirValidatorSettings", as_json: bool) -> bool:
    """Print the state of a running service. True if it can answer."""
    status: dict[str, Any] = running.status(_token(settings)) or {}
    ready = bool(status.get("ready"))
    if as_json:
        typer.echo(json.dumps({"running": True, "ready": ready, "address": running.address, "pid": running.pid, **status}))
        return ready
    typer.echo(f"HL7's FHIR validator {status.get('validator', '')}: {'ready' if ready else 'not ready'} at {running.address} (process {running.pid})")
    for one in status.get("processes", []):
        counts = ", ".join(f"{one[name]} {words}" for name, words in _COUNTS.items())
        why = f" ({one['reason']})" if one.get("reason") else ""
        typer.echo(f"  validator {one['number']}: {one['state']}, process {one['pid'] or 'none'}, {counts}{why}")
    if queue := status.get("queue"):
        typer.echo(f"  queue: {queue['waiting']} of {queue['max']} wait, {queue['refused']} refused")
    if ready:
        typer.echo(f"Use it:  export TOUCHSTONE_FHIR_VALIDATOR_URL={running.address}")
    return ready


_COUNTS = {"restarts": "restarts", "served": "served", "timed_out": "timed out", "died": "died", "out_of_memory": "out of memory"}


def _token(settings: "FhirValidatorSettings") -> str | None:
    return None if settings.token is None else settings.token.get_secret_value()
