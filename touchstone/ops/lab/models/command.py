"""Measure an NLI model on labelled sets: figures with bootstrap intervals, beside word overlap and cosine as floors."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.cli.common.progress import working
from touchstone.ops.lab.command import Arguments, at_least, show

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("models evaluate", __doc__, epilog="example: python -m touchstone.ops.lab models evaluate --data DIR --sample 200")
    parser.data("folder of labelled sets: mnli_m*, realsumm_scu*, realsumm_docs*, summedits*, rank19*, wice_claim*", required=True)
    parser.add_argument("--model", help="small, base, default (what fits the device), a folder, or a hub name; default: the configured one")
    parser.add_argument("--sample", type=at_least(1), metavar="N", help="use at most N rows of a set (whole documents where figures need them)")
    parser.add_argument("--only", metavar="SET,…", help="sets to measure, separated by commas")
    parser.add_argument("--runtime", help="auto, torch, or onnx (ONNX Runtime, on CPUs); default: the configured one")
    parser.add_argument("--device", help="auto, cpu or cuda[:n]; default: the configured one")
    parser.add_argument("--dtype", help="auto, float32, bfloat16, float16, or int8 (ONNX Runtime)")
    parser.json()
    asked = parser.parse_args(arguments)
    from touchstone.ops.cli.models import engine_settings

    settings, support = engine_settings(nli_model=asked.model, runtime=asked.runtime, device=asked.device, dtype=asked.dtype)
    show(asyncio.run(_measured(settings, support, asked.data, asked.sample, asked.only)), as_text, as_json=asked.json)


def as_text(found: dict[str, Any]) -> str:
    """The model, and a line a set."""
    from touchstone.ops.cli.models import figure_lines

    return "".join(f"{line}\n" for line in (f"model     {found['model']}", *figure_lines(found)))


async def _measured(settings: "EngineSettings", support: str, data: Path, sample: int | None, only: str | None) -> dict[str, Any]:
    """Open the engines, measure, close them."""
    from touchstone.ops.lab.models.report import measured
    from touchstone.ops.lab.models.sets import find_sets
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.summary.components.support import own_calibration

    find_sets(data)  # loading a model takes seconds; a mistyped folder should not
    engines = open_engines(settings)
    try:
        with working() as say:
            return await measured(engines, data, support=support, size=sample, only=only, say=say, calibration=own_calibration(settings))
    finally:
        await engines.close()
