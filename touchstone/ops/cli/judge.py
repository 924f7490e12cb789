"""`touchstone judge`: what has become of the budgets of judges."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import JsonOption, one_line_errors

#: Columns of names, before those of amounts.
_NAMES = 2
_HEAD = ("suite", "period", "spent, USD", "reserved, USD", "uncertain, USD")


@app.command()
def judge(
    as_json: JsonOption = False,
    budget_file: Annotated[
        Path | None, typer.Option("--budget-file", help="Default: TOUCHSTONE_JUDGE_BUDGET_FILE, or touchstone-judge-budget.db.", show_default=False)
    ] = None,
) -> None:
    """Show what judges have spent of their budgets, what is reserved for requests in flight, and what requests without an answer may have cost.

    Example: touchstone judge --budget-file touchstone-judge-budget.db
    """
    from touchstone.scorers.judges.serve.budget import NANO, balances
    from touchstone.scorers.judges.settings import BUDGET_FILE, PREFIX

    with one_line_errors():
        found = balances(budget_file or Path(os.environ.get(f"{PREFIX}BUDGET_FILE") or BUDGET_FILE).expanduser())
    amounts = [tuple(amount / NANO for amount in (one.spent, one.reserved, one.uncertain)) for *_, one in found]
    if as_json:
        names = ("suite", "period", "spent_usd", "reserved_usd", "uncertain_usd")
        rows = [dict(zip(names, (suite, period, *usd), strict=True)) for (suite, period, _), usd in zip(found, amounts, strict=True)]
        typer.echo(json.dumps(rows))
        return
    cells = [_HEAD, *((suite, period, *(f"{each:.4f}" for each in usd)) for (suite, period, _), usd in zip(found, amounts, strict=True))]
    widths = [max(len(row[place]) for row in cells) for place in range(len(_HEAD))]
    for row in cells:
        texts = zip(row, widths, strict=True)
        typer.echo("  ".join(f"{text:<{width}}" if place < _NAMES else f"{text:>{width}}" for place, (text, width) in enumerate(texts)))
