"""The share of the computed ceiling that the NLI engine reaches on a GPU. Without a GPU it prints one line and exits with 0."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.lab.bench.output import now, table
from touchstone.ops.lab.command import Arguments, show

if TYPE_CHECKING:
    from touchstone.scorers.engines.nli import NliEngine
    from touchstone.scorers.summary.settings import SummarySettings

LENGTHS = (32, 64, 128, 256)
#: The share of the ceiling that is aimed at, and for pairs of how many tokens.
AIM_SHARE, AIM_TOKENS = 0.5, 128
GEMM_SIDE = 8192
REPEATS = 20


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that decide the work of a BERT-like encoder."""

    layers: int
    hidden: int
    intermediate: int

    @classmethod
    def of(cls, config: Any) -> Shape:
        """From a model's config."""
        return cls(config.num_hidden_layers, config.hidden_size, config.intermediate_size)

    def flops(self, tokens: int) -> float:
        """Floating point operations of one pair of `tokens` tokens: two per multiply-add, of the linear layers and of attention.

        MiniLM-L6: (21.2M + 9,216 n) n. Embedding look-ups, norms, softmax and the head are left out: below one percent.
        """
        linear = 2 * (4 * self.hidden**2 + 2 * self.hidden * self.intermediate)
        attention = 4 * self.hidden * tokens
        return float(self.layers * tokens * (linear + attention))


def ceiling(peak_flops_per_s: float, shape: Shape, tokens: int) -> float:
    """Pairs per second of a device that did nothing but these multiplications at its measured peak."""
    return peak_flops_per_s / shape.flops(tokens)


def timed(work: Callable[[], object], finish: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of one call: the median of `repeats`, each waited for, after three for warming up."""
    spent = []
    for number in range(repeats + 3):
        begun = time.perf_counter()
        work()
        finish()
        if number >= 3:
            spent.append(time.perf_counter() - begun)
    return statistics.median(spent)


def gemm_peak(device: Any) -> float:
    """Floating point operations per second of one large bfloat16 matrix product, as measured here."""
    import torch

    one, other = (torch.randn(GEMM_SIDE, GEMM_SIDE, device=device, dtype=torch.bfloat16) for _ in range(2))
    return 2 * GEMM_SIDE**3 / timed(lambda: one @ other, lambda: torch.cuda.synchronize(device))


def forward_rate(engine: NliEngine, tokens: int, budget: int) -> float:
    """Pairs per second of the engine's own forward pass on prepared batches of pairs of exactly `tokens` tokens."""
    import numpy as np

    from touchstone.scorers.engines.nli import Piece
    from touchstone.scorers.engines.tokens import Tokens

    room = tokens - engine._template.specials  # noqa: SLF001 -- the inside of the engine is measured
    count = max(1, budget // tokens)
    chance = np.random.default_rng(tokens)
    premise, hypothesis = room - room // 3, room // 3
    texts = [(Tokens(2 * n, _ids(chance, premise)), Tokens(2 * n + 1, _ids(chance, hypothesis))) for n in range(count)]
    prepared = engine._prepare([Piece(one, 0, premise, other) for one, other in texts])  # noqa: SLF001 -- same
    return count / timed(lambda: engine._forward(prepared), lambda: None)  # noqa: SLF001 -- same; it returns numbers, so it has waited


def _ids(chance: Any, count: int) -> Any:
    return chance.integers(1_000, 20_000, size=count)


def tokenize_rate(engine: NliEngine, texts: Sequence[str]) -> float:
    """Tokens per second of tokenising texts that are not known yet."""
    begun = time.perf_counter()
    known = engine._tokenizer.tokens(texts)  # noqa: SLF001 -- same
    return sum(map(len, known.values())) / (time.perf_counter() - begun)


async def measure(settings: SummarySettings, events: int) -> dict[str, Any]:
    """Everything; JSON types."""
    from dataclasses import asdict

    import torch

    from touchstone.ops.lab.bench.nli.models import Merged, counts, opened, quiet
    from touchstone.ops.lab.bench.nli.rates import COMPARISONS, ENGINE, PLAIN_ENGINE, Batches, Contest
    from touchstone.ops.lab.bench.nli.workload import note_events, summary_events
    from touchstone.scorers.engines.open_engines import open_embedder
    from touchstone.scorers.engines.torch_device import GPU_BATCH_TOKENS

    quiet()
    engines = settings.engines
    device = torch.device(engines.device)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(device), "torch": torch.__version__}
    async with AsyncExitStack() as stack:
        merged = Merged(engines, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-bench-"))))
        engine = await stack.enter_async_context(opened(engines))
        plain = await stack.enter_async_context(opened(engines.model_copy(update={"dtype": "float32"})))
        embedder = open_embedder(engines)
        stack.push_async_callback(embedder.close)
        shape = Shape.of(merged.config)
        peak = gemm_peak(device)
        rates = {tokens: forward_rate(engine, tokens, engines.batch_tokens or GPU_BATCH_TOKENS) for tokens in LENGTHS}
        found |= {"model": engine.model, "gemm_tflops": peak / 1e12, "lengths": [_length(peak, shape, tokens, rate) for tokens, rate in rates.items()]}
        found["tokenize_tokens_per_s"] = tokenize_rate(
            engine, [fact for event in summary_events(events, "words") for fact in event["datum"]["summary"]["key_facts"]]
        )
        contest = Contest(settings, embedder, engine, merged.cross_encoder(str(device), "bfloat16"))
        for name, make, count in (("whole", summary_events, events), ("notes", note_events, 8 * events)):
            raced = await contest.run(make, count, 3, f"gpu-{name}")
            ratios = {title: ratio for title, pair in COMPARISONS.items() if (ratio := raced.ratio(*pair)) is not None}
            found[name] = {"events": count, "pairs": raced.pairs, "pairs_per_s": {each: raced.rate(each) for each in raced.seconds}, "ratios": ratios}
        found["batches"] = asdict(Batches.of(counts(engine.readings())))
        contest.plain_engine, contest.plain = plain, merged.cross_encoder(str(device), "float32")
        await contest.run(summary_events, max(1, events // 10), 1, "gpu-plain")
        agreement = contest.agreement(ENGINE, PLAIN_ENGINE)
        found["bfloat16_over_float32"] = asdict(agreement) if agreement is not None else None
    return found


def _length(peak: float, shape: Shape, tokens: int, rate: float) -> dict[str, float]:
    most = ceiling(peak, shape, tokens)
    return {"tokens": tokens, "pairs_per_s": rate, "ceiling_pairs_per_s": most, "share": rate / most}


def as_text(found: dict[str, Any]) -> str:
    """The figures in Markdown."""
    lengths = [
        (f"{each['tokens']}", f"{each['pairs_per_s']:,.0f}", f"{each['ceiling_pairs_per_s']:,.0f}", f"{each['share']:.0%}{_aim(each)}")
        for each in found["lengths"]
    ]
    rates = []
    for part in ("whole", "notes"):
        rates += [(f"{part}: {name}", f"{rate:,.0f}") for name, rate in found[part]["pairs_per_s"].items()]
        rates += [(f"{part}: {name}", f"{ratio:.2f} times") for name, ratio in found[part]["ratios"].items()]
    plain = found["bfloat16_over_float32"]
    lines = [
        f"# NLI bench, GPU part, {now()}",
        "",
        f"{found['device']}, torch {found['torch']}, model {found['model']}, bfloat16.",
        f"A matrix product of {GEMM_SIDE:,} by {GEMM_SIDE:,} gave {found['gemm_tflops']:.0f} TFLOP/s in the same run; that is the ceiling.",
        "",
        *table(("tokens", "pairs/s", "ceiling", "share"), lengths),
        f"Tokenising: {found['tokenize_tokens_per_s']:,.0f} tokens/s. Padding: {found['batches']['padding_share']:.3f}.",
        "",
        *table(("from texts", "pairs/s"), rates),
        f"bfloat16 against float32: probabilities differ by at most {plain['difference_max']:.1e}, labels agree in {plain['labels']:.4f}.",
    ]
    return "".join(f"{line}\n" for line in lines)


def _aim(length: Mapping[str, float]) -> str:
    return f" (aim {AIM_SHARE:.0%}: {'met' if length['share'] >= AIM_SHARE else 'missed'})" if length["tokens"] == AIM_TOKENS else ""


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("bench nli-gpu", __doc__)
    parser.add_argument("--events", type=int, default=200, help="whole summaries of the end-to-end part (default 200)")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:n")
    parser.json()
    asked = parser.parse_args(arguments)
    if (why := _why_not()) is not None:
        print(f"bench nli-gpu: not run ({why})")
        return
    warnings.simplefilter("ignore")
    os.environ["HF_HUB_OFFLINE"] = "1"
    from touchstone.scorers.summary.settings import resolve

    settings = resolve(os.environ, None, {"engines": {"device": asked.device, "dtype": "bfloat16"}})
    show(asyncio.run(measure(settings, asked.events)), as_text, as_json=asked.json)


def _why_not() -> str | None:
    """The reason why nothing can be measured here, or None."""
    from touchstone.scorers.registry import why_not_here

    if (why := why_not_here("summary_loss")) is not None:
        return why
    import torch

    return None if torch.cuda.is_available() else "torch sees no GPU here"
