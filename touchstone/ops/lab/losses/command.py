"""Measure whether the loss orders summaries as truth does, and which wrong summaries its labels let pass."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.cli.common.progress import Progress
from touchstone.ops.lab.command import Arguments, at_least, show

if TYPE_CHECKING:
    from touchstone.ops.lab.losses.run import Sets
    from touchstone.scorers.summary.settings import SummarySettings


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("losses", __doc__, epilog="example: python -m touchstone.ops.lab losses --data tests/scorers/summary/truth/unseen --model small")
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="DIR",
        required=True,
        help="folders of truth sets (*.json, one gold a file), or of realsumm_scu* and realsumm_docs*",
    )
    parser.add_argument("--model", help="NLI model: small, base, a folder or a hub name; default: the configured one")
    parser.add_argument("--runtime", help="auto, torch or onnx; default: the configured one")
    parser.add_argument("--documents", type=at_least(1), metavar="N", help="use N documents of REALSumm")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file; default: ./summary.config.json")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="keep the models' answers here, and ask for none twice; then no processor time is measured"
    )
    parser.add_argument(
        "--ablation", action="store_true", help="a truth set's figures with no detector, cap or reading, with each alone, and with all; best with --answers"
    )
    parser.json()
    asked = parser.parse_args(arguments)
    from touchstone.ops.cli.loss import settings_of
    from touchstone.ops.lab.losses.run import sets_of

    engines = {name: value for name, value in (("nli_model", asked.model), ("runtime", asked.runtime)) if value is not None}
    settings = settings_of(asked.config, {"engines": engines} if engines else {})
    sets = sets_of(*asked.data)  # loading models takes seconds; a mistyped folder should not
    if asked.ablation:
        from touchstone.ops.lab.losses.ablation import table

        if not sets.known:
            parser.error("--ablation needs a truth set (*.json) in a folder of --data")
        show(asyncio.run(_ablated(settings, sets, asked.answers)), table, as_json=asked.json)
        return
    show(asyncio.run(_measured(settings, sets, asked.documents, asked.answers)), as_text, as_json=asked.json)


async def _ablated(settings: "SummarySettings", sets: "Sets", answers: Path | None) -> dict[str, dict[str, float | None]]:
    """Open the engines, measure with the settings of each row, close them."""
    from touchstone.ops.lab.losses.ablation import ablated, rows
    from touchstone.ops.lab.losses.answers import Answers, CountedEngines
    from touchstone.ops.lab.losses.run import Sets, measured
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.summary import build

    engines = CountedEngines(open_engines(settings.engines), None if answers is None else Answers(answers))
    only, done = Sets(sets.known, [], {}), 0
    try:
        with Progress(f"of {len(rows())} rows measured", every=1) as progress:

            async def figures(row: "SummarySettings") -> dict[str, Any]:
                nonlocal done
                found: dict[str, Any] = (await measured(build(row, engines), only, documents_max=None, step=lambda *_: None))["truth"]
                done += 1
                progress.step(done)
                return found

            return await ablated(settings, figures)
    finally:
        await engines.close()


async def _measured(settings: "SummarySettings", sets: "Sets", documents_max: int | None, answers: Path | None) -> dict[str, Any]:
    """Open the engines, measure, close them."""
    from touchstone.ops.lab.losses.answers import Answers, CountedEngines
    from touchstone.ops.lab.losses.run import measured
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.summary import build

    kept = None if answers is None else Answers(answers)
    engines = CountedEngines(open_engines(settings.engines), kept)
    scorer = build(settings, engines)
    try:
        with Progress("summaries scored", every=1) as progress:
            found = await measured(scorer, sets, documents_max=documents_max, step=lambda done, _: progress.step(done))
            return found | {"a_summary": engines.counts(sum(figures.get("variants", figures.get("summaries", 0)) for figures in found.values()))}
    finally:
        await scorer.close()


def as_text(found: dict[str, Any]) -> str:
    """A line a figure, below the name of its set."""
    lines = []
    for name, figures in found.items():
        lines.append(name)
        for figure, value in figures.items():
            lines.append(f"  {figure:22} " + ("-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)))
    return "".join(f"{line}\n" for line in lines)
