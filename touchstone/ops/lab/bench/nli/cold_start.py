"""Time to the first score of a fresh process. `measure` starts this module as that process."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, fields
from itertools import pairwise

TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Cold:
    """Seconds of each step: interpreter and Touchstone's modules, the models' libraries, weights, warm-up, the first case; and all of it."""

    start_s: float
    libraries_s: float
    load_s: float
    warm_up_s: float
    first_score_s: float
    total_s: float


def measure(settings_json: str, repeats: int) -> Cold:
    """The median of each step over some processes. `settings_json`: the suite's settings."""
    runs = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "touchstone.ops.lab.bench.nli.cold_start", repr(time.time())]
        done = subprocess.run(command, input=settings_json, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return Cold(**{field.name: statistics.median(run[field.name] for run in runs) for field in fields(Cold)})


async def _first(started: float) -> dict[str, float]:
    """Build the suite's scorer as a worker does, in steps, and score one case."""
    from touchstone.ops.lab.bench.nli.suite import scorer_over
    from touchstone.ops.lab.bench.nli.workload import note_events
    from touchstone.schemas.case import validate_case
    from touchstone.schemas.summary import SummaryCase
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.engines.runtime_plan import ONNX_LIBRARIES, TORCH_LIBRARIES, plan
    from touchstone.scorers.summary.settings import SummarySettings

    settings = SummarySettings.model_validate_json(sys.stdin.read())
    case = validate_case(SummaryCase, note_events(1, "cold")[0])
    moments = [started, time.time()]
    libraries = ONNX_LIBRARIES if plan(settings.engines, "nli").runtime == "onnx" else (*TORCH_LIBRARIES, "peft")
    for module in (*libraries, "touchstone.scorers.engines.nli", "touchstone.scorers.engines.embedder"):
        __import__(module)
    moments.append(time.time())
    engines = open_engines(settings.engines.model_copy(update={"warm_up": False}))
    moments.append(time.time())
    engines.nli.warm_up()
    engines.embedder.warm_up()
    moments.append(time.time())
    await scorer_over(engines, settings).score(case)
    moments.append(time.time())
    await engines.close()
    steps = [after - before for before, after in pairwise(moments)]
    names = [field.name for field in fields(Cold)]
    return dict(zip(names, [*steps, moments[-1] - started], strict=True))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_first(float(sys.argv[1])))))
