"""`touchstone eval sample-traces`: traces with planted failures, to walk through error analysis on."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from touchstone.ops.cli.common.shared import one_line_errors, refuse_unknown_variables
from touchstone.ops.cli.eval import OUTPUT_DEFAULT, eval_app


@eval_app.command("sample-traces")
def sample_traces(
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many traces.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same traces.")] = 7,
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory of the traces.")] = OUTPUT_DEFAULT / "traces",
    reviews: Annotated[
        Path | None, typer.Option("--reviews", help="Also write what two simulated reviewers say of them, as annotations.", show_default=False)
    ] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="Also write which failure was planted where.", show_default=False)] = None,
    mended: Annotated[list[str] | None, typer.Option("--mended", help="A kind of failure to leave out; repeatable.", show_default=False)] = None,
) -> None:
    """Write traces of invented patients with planted failures of known kinds, to try error analysis and judges on.

    Example: touchstone eval sample-traces --count 100 --plan plan.json
    """
    refuse_unknown_variables()
    from touchstone.ops.reports.files import check_directory, write_whole
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.clinical import invented
    from touchstone.scorers.clinical.invented.reviewers import reviews as reviewed

    with one_line_errors():
        try:
            samples = invented.sample_traces(count, seed, mended or ())
        except ValueError as error:
            raise ConfigError(f"--mended: {error}") from None
        check_directory(output, "--output")
        for one in samples:
            write_whole(output / f"{one.trace['traceId']}.json", _text(one.trace))
        typer.echo(f"wrote {len(samples)} traces to {output}", err=True)
        if reviews is not None:
            records = [one.record() for one in reviewed(samples, seed)]
            write_whole(reviews, _text(records))
            typer.echo(f"wrote {len(records)} annotations of simulated reviewers to {reviews}", err=True)
        if plan is not None:
            planted = {one.trace["traceId"]: one.planted for one in samples}
            counts = Counter(kind for kind in planted.values() if kind is not None)
            write_whole(plan, _text({"seed": seed, "counts": dict(counts.most_common()), "planted": planted}))
            typer.echo(f"wrote the plan to {plan}; look at it only after the review", err=True)


def _text(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
