"""The live summary suite over the bare NLI engine, the engine over `CrossEncoder.predict`; padding, cold start, latency against load, the prefilter."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.cli.common.progress import working
from touchstone.ops.lab.bench.nli.report import aims, report
from touchstone.ops.lab.bench.output import keep, now
from touchstone.ops.lab.command import Arguments, show
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.machine import machine
from touchstone.scorers.registry import why_not_here

if TYPE_CHECKING:
    from touchstone.ops.lab.bench.nli.rates import Contest, Rates
    from touchstone.scorers.summary.settings import SummarySettings

#: Pairs that one sample summary asks in its rounds, on average.
PAIRS_PER_EVENT = 142
TOP_K = 4


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a measurement. `events`: whole summaries a repeat; `plain_events`: those also run in float32; `notes`: small events a repeat."""

    events: int
    plain_events: int
    notes: int
    repeats: int
    level_s: float
    loads: tuple[float, ...]
    cold_runs: int
    filter_events: int

    @classmethod
    def of(cls, pairs: int | None, repeats: int | None, level_s: float | None, *, quick: bool) -> Size:
        """From the command line; the quick run takes a minute and a half on two cores, the other one some minutes."""
        if quick:
            events = max(1, round((pairs or 510) / PAIRS_PER_EVENT))
            return cls(events, 0, 4 * events, repeats or 2, level_s or 4.0, (0.5, 0.9, 1.5), 1, max(1, events // 2))
        events = max(2, round((pairs or 2_040) / PAIRS_PER_EVENT))
        return cls(events, max(1, events // 3), 4 * events, repeats or 3, level_s or 12.0, (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5), 3, max(1, events // 2))


async def measure(settings: SummarySettings, size: Size, say: Any) -> dict[str, Any]:
    """All figures, as JSON types. Only the cold starts run in processes of their own."""
    from touchstone.ops.lab.bench.nli.cold_start import measure as cold
    from touchstone.ops.lab.bench.nli.load import climb
    from touchstone.ops.lab.bench.nli.models import Merged, opened, quiet
    from touchstone.ops.lab.bench.nli.prefilter import prefilter
    from touchstone.ops.lab.bench.nli.rates import Contest
    from touchstone.ops.lab.bench.nli.suite import live_suite
    from touchstone.scorers.engines.runtime_plan import plan
    from touchstone.scorers.engines.torch_device import device_of

    quiet()
    chosen = plan(settings.engines, "nli")
    # Beside the engine of the settings, the same model on torch, in the type that torch would use: the libraries' own calls are compared with that.
    beside = settings.engines.model_copy(update={"runtime": "torch", "dtype": "auto" if settings.engines.dtype == "int8" else settings.engines.dtype})
    device = device_of(settings.engines.device)
    dtype = plan(beside, "nli").numbers
    say("cold start")
    found: dict[str, Any] = {"cold_start": asdict(await asyncio.to_thread(cold, settings.model_dump_json(), size.cold_runs))}
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-bench-"))
        merged = Merged(settings.engines, Path(folder))
        suite = await stack.enter_async_context(live_suite(settings))
        engine = await stack.enter_async_context(opened(settings.engines))
        baseline = merged.cross_encoder(str(device), dtype)
        contest = Contest(settings, suite.engines.embedder, engine, baseline)
        if chosen.runtime == "onnx":
            contest.beside = await stack.enter_async_context(opened(beside))
        if dtype != "float32":
            contest.plain_engine = await stack.enter_async_context(opened(settings.engines.model_copy(update={"dtype": "float32"})))
            contest.plain = merged.cross_encoder(str(device), "float32")
        found["engine"] = {"model": engine.model, "runtime": chosen.runtime, "numbers": chosen.numbers, "device": str(device), "dtype": dtype}
        found["engine"] |= {"support": settings.support, **_libraries()}
        found |= await race(contest, suite, size, say)
        say("latency against load")
        found["latency"] = [asdict(level) for level in await climb(suite, size.level_s, loads=size.loads)]
        say("prefilter")
        found["prefilter"] = asdict(await prefilter(suite.engines, settings, settings.prefilter_top_k or TOP_K, size.filter_events))
    return found


async def race(contest: Contest, suite: Any, size: Size, say: Any) -> dict[str, Any]:
    """Rates and ratios: whole summaries, small events, and a part of both in float32."""
    from touchstone.ops.lab.bench.nli.models import counts
    from touchstone.ops.lab.bench.nli.rates import BESIDE, ENGINE, ONE_CALL, PER_EVENT, PLAIN_ENGINE, PLAIN_ONE_CALL, Batches
    from touchstone.ops.lab.bench.nli.workload import note_events, summary_events

    plain, plain_engine = contest.plain, contest.plain_engine
    contest.plain = contest.plain_engine = None
    contest.suite = suite
    say(f"{size.events} whole summaries, {size.repeats} times")
    found: dict[str, Any] = {"whole": _rates(await contest.run(summary_events, size.events, size.repeats, "whole"))}
    same = ENGINE if contest.beside is None else BESIDE
    found["agreement"] = {"same type, one call": contest.agreement(same, ONE_CALL), "same type, per event": contest.agreement(same, PER_EVENT)}
    found["batches"] = asdict(Batches.of(counts(suite.engines.readings())))
    contest.suite = None
    contest.answers.clear()
    contest.plain, contest.plain_engine = plain, plain_engine
    say(f"{size.notes} small events, {size.repeats} times")
    found["notes"] = _rates(await contest.run(note_events, size.notes, size.repeats, "note"))
    if size.plain_events and plain is not None:
        say(f"{size.plain_events} whole summaries in float32 beside {contest.baseline.dtype}")
        contest.answers.clear()
        found["float32"] = _rates(await contest.run(summary_events, size.plain_events, 1, "plain"))
    found["agreement"] |= {"float32, one call": contest.agreement(PLAIN_ENGINE, PLAIN_ONE_CALL), "engine over float32": contest.agreement(ENGINE, PLAIN_ENGINE)}
    found["agreement"] = {name: asdict(found) for name, found in found["agreement"].items() if found is not None}
    return found


def _rates(rates: Rates) -> dict[str, Any]:
    """As JSON types: pairs per second of each contender, and their ratios."""
    from touchstone.ops.lab.bench.nli.rates import COMPARISONS

    ratios = {name: ratio for name, (one, other) in COMPARISONS.items() if (ratio := rates.ratio(one, other)) is not None}
    return {
        "events": rates.events,
        "pairs": rates.pairs,
        "pairs_per_s": {name: rates.rate(name) for name in rates.seconds},
        "cpu_ms_per_pair": {name: rates.cpu_ms(name) for name in rates.cpu_s},
        "pairs_counted": {name: counted for name, counted in rates.counted.items() if counted != rates.pairs},
        "ratios": ratios,
        "ratios_of_repeats": {name: rates.ratios(*COMPARISONS[name]) for name in ratios},
    }


def _libraries() -> dict[str, Any]:
    import onnxruntime
    import sentence_transformers
    import torch
    import transformers

    versions = {
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "sentence_transformers": sentence_transformers.__version__,
    }
    return {"threads": torch.get_num_threads(), **versions}


def main(arguments: Sequence[str]) -> None:
    """Measure, print, write."""
    parser = Arguments("bench nli", __doc__)
    parser.add_argument("--pairs", type=int, help="pairs of whole summaries per contender and repeat (default 2,040; quick 510)")
    parser.add_argument("--repeats", type=int, help="runs of each contender (default 3; quick 2)")
    parser.add_argument("--seconds", type=float, help="seconds at each load of the latency part (default 12; quick 4)")
    parser.add_argument("--quick", action="store_true", help="a minute and a half on two cores")
    parser.add_argument("--model", help="NLI model: default, a folder, or a hub name; default: the configured one")
    parser.add_argument("--device", help="auto, cpu or cuda[:n]")
    parser.add_argument("--runtime", help="auto, torch or onnx")
    parser.add_argument("--dtype", help="auto, int8, float32, bfloat16 or float16")
    parser.add_argument("--threads", type=int, help="CPU threads of all contenders")
    parser.json()
    parser.output("reports/bench-nli.md")
    asked = parser.parse_args(arguments)
    if (why := why_not_here("summary_loss")) is not None:
        raise ConfigError(f"bench nli: {why}")
    warnings.simplefilter("ignore")  # advice of libraries would be printed between the lines of a table
    os.environ["HF_HUB_OFFLINE"] = "1"
    from touchstone.scorers.summary.settings import resolve

    named = {"nli_model": asked.model, "device": asked.device, "runtime": asked.runtime, "dtype": asked.dtype, "threads": asked.threads}
    settings = resolve(os.environ, None, {"engines": {name: value for name, value in named.items() if value is not None}})
    size = Size.of(asked.pairs, asked.repeats, asked.seconds, quick=asked.quick)
    load, begun = os.getloadavg()[0], time.monotonic()
    try:
        with working() as say:
            found = asyncio.run(measure(settings, size, say))
    except subprocess.SubprocessError as error:
        raise ConfigError(f"bench nli: a fresh process did not score its first case ({type(error).__name__}); is the machine busy?") from None
    about = {"at": now(), "machine": machine(), "load_before": load, "quick": asked.quick, "took_s": time.monotonic() - begun}
    found = {**about, **found, "aims": aims(found)}
    keep(report(found), asked.output)
    show(found, report, as_json=asked.json)
