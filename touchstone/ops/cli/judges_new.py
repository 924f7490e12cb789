"""`touchstone judges new`: a judge from a category of failure that people have coded."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli.common.shared import ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors
from touchstone.ops.cli.judges import AnnotationsOption, _annotations, _cases, judges

if TYPE_CHECKING:
    from touchstone.ops.reviews.new_judge import Made


@judges.command()
def new(
    name: Annotated[str, typer.Argument(help="The judge's name, such as ignores_allergy.")],
    category: Annotated[str | None, typer.Option(help="The category that people coded. Default: NAME.", show_default=False)] = None,
    traces: Annotated[
        list[str] | None, typer.Option("--traces", help="File or folder of traces (repeatable). Default: the archive.", show_default=False)
    ] = None,
    annotated: AnnotationsOption = None,
    categories: Annotated[Path | None, typer.Option("--categories", help="A file of categories, for the description.", show_default=False)] = None,
    question: Annotated[str | None, typer.Option(help="What is asked of a trace; yes is a failure.", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="What counts. Default: that of --categories.", show_default=False)] = None,
    examples: Annotated[int, typer.Option(min=0, max=20, help="Examples in the prompt, half of them failures.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Of the split of the patients.")] = 0,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a judge of failure_modes from a coded category: prompt, question, a split of the patients, examples of its training part.

    It runs in the shadow until it is calibrated and promoted. Nothing is overwritten. Examples are clinical text.

    Example: touchstone judges new ignores_allergy --traces traces/
    """
    from touchstone.ops.cli.common.labelled import Judge
    from touchstone.ops.reviews.coding import read_categories
    from touchstone.ops.reviews.new_judge import Wish, make_judge, refuse_existing
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.calibration.truth import labels_of
    from touchstone.scorers.clinical.failure_modes import NAME, SUITE
    from touchstone.scorers.clinical.failure_modes.new_judges import check_new_name, example_text, prompt_text, question_of
    from touchstone.scorers.suite_settings import suite_settings_for_files

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors(), _annotations(annotated, settings) as annotations:
        check_new_name(name)
        coded, root, subject = category or name, settings.judges.folder, f"{NAME}/{name}"
        refuse_existing(root, subject)
        described = {one.name: one.description for one in read_categories(categories).categories} if categories is not None else {}
        if categories is not None and coded not in described:
            raise ConfigError(f"{categories} has no category {coded}; it has {', '.join(described) or 'none'}")
        words = description or described.get(coded, "")
        records = annotations.read()
        truth = labels_of(records, f"{NAME}/{coded}")
        judge, cases = Judge(SUITE, suite_settings_for_files(SUITE)), _cases(traces, annotations, settings)
        at_hand = cases.known(judge, [one.trace_id for one in truth.labels])
        wish = Wish(subject, coded, question or question_of(coded, words), words, prompt_text(), seed, examples)

        def texts_of(names: Collection[str]) -> dict[str, str]:
            return {name: text for name, case in cases.cases(judge, names).items() if (text := example_text(case)) is not None}

        made = make_judge(root, wish, truth, at_hand, records, texts_of)
    _say(made, coded, name, subject)


def _say(made: "Made", coded: str, name: str, subject: str) -> None:
    parts = ", ".join(f"{count} {part}" for part, count in made.parts.items())
    shown = f"{made.examples[0]} fail, {made.examples[1]} pass"
    typer.echo(f"{made.folder}: {made.failing} failing and {made.passing} passing cases; patients: {parts}; examples: {shown}.")
    if made.absent:
        typer.echo(f"{made.absent} labelled cases are not at hand, and were left out.", err=True)
    if not made.examples[0]:
        typer.echo("No failing case is in the training part, so that no example shows one; more labels bring some.", err=True)
    if coded != name:
        typer.echo(f"Calibration counts failures coded as {name}: touchstone errors code --rename {coded}={name}", err=True)
    typer.echo(f"It runs in the shadow. Next: edit {made.folder}/judge.toml and prompt.md, then touchstone judges calibrate {subject}")
