"""Measure up to how many words of premise an NLI model still answers, and whether it sees a denial in other words."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.ops.lab.command import Arguments, show
from touchstone.ops.lab.models.files import rows
from touchstone.ops.lab.models.measures import auroc
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.base import CONTRADICTION, ENTAILMENT

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

WORDS = (20, 60, 120, 200, 300)
#: What a premise is: sentences of another text; one of them again and again; the fact's own text without the sentence that bears it; and with it.
KINDS = ("other", "repeated", "rest", "holds")
PARTS = ("read", "unread")


def premise(kind: str, own: Sequence[str], at: int, other: Sequence[str], words: int) -> str:
    """A premise of at least `words` words, if the text has so many; the sentence at place `at` of `own` bears the fact."""
    if kind == "repeated":
        sentence = other[at % len(other)].rstrip(".")
        return "; ".join([sentence] * max(1, round(words / len(sentence.split()))))
    if kind == "other":
        return " ".join(_until([*other[at % len(other) :], *other[: at % len(other)]], words))
    if kind == "rest":
        return " ".join(_until([*own[at + 1 :], *own[:at]], words))
    low, high = at, at + 1
    while sum(len(sentence.split()) for sentence in own[low:high]) < words and high - low < len(own):
        low, high = (low - 1, high) if (low and (high - low) % 2) or high == len(own) else (low, high + 1)
    return " ".join(own[low:high])


def _until(sentences: Sequence[str], words: int) -> Iterator[str]:
    count = 0
    for sentence in sentences:
        if count >= words:
            return
        count += len(sentence.split())
        yield sentence


def lengths(texts: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Pairs to ask, by kind and words of premise. Each fact meets every other text."""
    asked: dict[tuple[str, int], list[tuple[str, str]]] = {(kind, words): [] for kind in KINDS for words in WORDS}
    for (kind, words), pairs in asked.items():
        for text in texts:
            others = [other for other in texts if other is not text] if kind in KINDS[:2] else [text]
            pairs += [(premise(kind, text["sentences"], fact["at"], o["sentences"], words), fact["fact"]) for o in others for fact in text["facts"]]
    return asked


def measured(probabilities: Mapping[tuple[str, int], Any]) -> list[dict[str, Any]]:
    """A row for each length: mean entailment and share of .5 or more of every kind, and how well `holds` is told from the others (AUROC)."""
    out: list[dict[str, Any]] = []
    for words in WORDS:
        found = {kind: probabilities[kind, words][:, ENTAILMENT] for kind in KINDS}
        absent = np.concatenate([found[kind] for kind in KINDS[:3]])
        scores, held = np.concatenate([found["holds"], absent]), np.arange(len(found["holds"]) + len(absent)) < len(found["holds"])
        out.append(
            {"words": words}
            | {kind: {"n": len(values), "mean": float(values.mean()), "half": float((values >= 0.5).mean())} for kind, values in found.items()}
            | {"auroc": auroc(scores, held.astype(float))}
        )
    return out


def reworded(same: Any, other: Any) -> dict[str, Any]:
    """How well sentences that say the same are told from those that deny it: by entailment and by contradiction. Shapes: (n, 3) twice."""
    positive = np.arange(len(same) + len(other)) < len(same)
    both = np.concatenate([same, other])
    return {
        "n": len(same),
        "auroc_entailment": auroc(both[:, ENTAILMENT], positive.astype(float)),
        "auroc_contradiction": auroc(both[:, CONTRADICTION], (~positive).astype(float)),
        "entailment_same": float(same[:, ENTAILMENT].mean()),
        "entailment_other": float(other[:, ENTAILMENT].mean()),
        "contradiction_same": float(same[:, CONTRADICTION].mean()),
        "contradiction_other": float(other[:, CONTRADICTION].mean()),
    }


def main(arguments: Sequence[str]) -> None:
    """Ask and print."""
    parser = Arguments("models curve", __doc__, epilog="example: python -m touchstone.ops.lab models curve --data tests/ops/lab/models/curve --model small")
    parser.data("folder with texts.jsonl and rewordings.jsonl", required=True)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="the texts that were read while a model was trained, or the others")
    parser.add_argument("--model", help="small, base, default (what fits the device), a folder, or a hub name; default: the configured one")
    parser.add_argument("--runtime", help="auto, torch, or onnx (ONNX Runtime, on CPUs); default: the configured one")
    parser.add_argument("--dtype", help="auto, float32, bfloat16, float16, or int8 (ONNX Runtime)")
    parser.json()
    asked = parser.parse_args(arguments)
    from touchstone.ops.cli.models import engine_settings

    settings, _ = engine_settings(nli_model=asked.model, runtime=asked.runtime, device=None, dtype=asked.dtype)
    chosen = PARTS if asked.part == "all" else (asked.part,)
    show(asyncio.run(_asked(settings, asked.data, chosen)), as_text, as_json=asked.json)


async def _asked(settings: "EngineSettings", folder: Path, parts: Sequence[str]) -> dict[str, Any]:
    """Read, ask, work out the figures."""
    from touchstone.scorers.engines.open_engines import open_engines

    try:
        texts = [row for row in rows(folder / "texts.jsonl") if row["part"] in parts]
        wordings = [row for row in rows(folder / "rewordings.jsonl") if row["part"] in parts]
        by_length = lengths(texts)
        pairs = [pair for found in by_length.values() for pair in found]
        ways = [(row["fact"], row[which]) for which in ("same", "other") for row in wordings]
    except (KeyError, TypeError, IndexError) as problem:
        raise ConfigError(f"{folder}: a row has another shape ({type(problem).__name__}: {problem}); docs/models.md has it") from None
    if len(texts) < 2 or not wordings:
        raise ConfigError(f"{folder}: needs two texts and a rewording of these parts: {', '.join(parts)}")
    engines = open_engines(settings)
    try:
        answers = await engines.nli.entail([*pairs, *ways, *[(there, here) for here, there in ways]])
    finally:
        await engines.close()
    cuts = np.cumsum([*map(len, by_length.values()), *[len(wordings)] * 4])
    split = np.split(answers, cuts[:-1])
    fact_first, text_first = split[-4:-2], split[-2:]
    return {
        "model": engines.nli.model,
        "parts": list(parts),
        "words": measured(dict(zip(by_length, split, strict=False))),
        "rewordings": {"text_entails_fact": reworded(*text_first), "fact_entails_text": reworded(*fact_first)},
    }


def as_text(found: dict[str, Any]) -> str:
    """A line for each length, and one for each direction of the rewordings."""
    lines = [f"model     {found['model']} ({', '.join(found['parts'])})", f"{'words':>5}" + "".join(f"{kind:>16}" for kind in KINDS) + f"{'AUROC':>8}"]
    lines += [
        f"{row['words']:>5}" + "".join(f"{row[kind]['mean']:>9.3f} ({row[kind]['half']:.2f})" for kind in KINDS) + f"{row['auroc']:>8.3f}"
        for row in found["words"]
    ]
    lines += ["mean entailment (share of .5 or more); AUROC: holds against the rest"]
    for name, row in found["rewordings"].items():
        lines.append(
            f"{name.replace('_', ' ')}, {row['n']} rewordings:"
            f" AUROC {row['auroc_entailment']:.3f} by entailment, {row['auroc_contradiction']:.3f} by contradiction;"
            f" entailment {row['entailment_same']:.2f} same, {row['entailment_other']:.2f} denied; contradiction {row['contradiction_same']:.2f},"
            f" {row['contradiction_other']:.2f}"
        )
    return "".join(f"{line}\n" for line in lines)
