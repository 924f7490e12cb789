"""Asking a model every question of the chosen sets, once, and working out the figures for each kind of support."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from touchstone.ops.lab.models.files import rows, sample
from touchstone.ops.lab.models.sets import SETS, Answer, Figures, LabelledSet, Question, Support, find_sets
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.base import CONTRADICTION, ENTAILMENT, Engines, TextTooLong

#: Pairs asked for at once: enough for the batcher to sort, little enough to show progress.
ROUND_PAIRS = 4_096
#: Windows of a long document that are asked about: those closest to the hypothesis by cosine.
PREMISES_MAX = 16
#: Whole documents are drawn for these, so that correlations over systems stay meaningful.
SAMPLED_BY = {"realsumm_scu": "doc_id", "realsumm_docs": "doc_id", "summedits": "doc"}
Step = Callable[[str, int, int], None]


def load(folder: Path, *, size: int | None, windows: Callable[..., list[str]]) -> tuple[dict[str, LabelledSet], list[str]]:
    """Every set of the folder, and the prefixes that are absent. Raises `ConfigError`."""
    found = find_sets(folder)
    loaded: dict[str, LabelledSet] = {}
    for kind in SETS:
        if kind.prefix in found:
            files = found[kind.prefix]
            given = [row for path in files for row in rows(path)]
            where = ", ".join(map(str, files))
            if not given:
                raise ConfigError(f"{where}: holds no row; leave it out")
            try:
                loaded[kind.prefix] = kind(sample(given, size, SAMPLED_BY.get(kind.prefix)), windows)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                what = f"a row has no {error}" if isinstance(error, KeyError) else f"a row has a field of another type ({type(error).__name__})"
                raise ConfigError(f"{where}: {what}; a {kind.prefix} set is laid out otherwise") from None
    return loaded, [kind.prefix for kind in SETS if kind.prefix not in found]


async def answer(questions: Sequence[Question], engines: Engines, containment: Callable[[str, str], float], step: Callable[[int, int], None]) -> list[Answer]:
    """The features of every pair of every question. Each pair is asked once; long documents are narrowed to the closest windows first."""
    chosen, cosines = await _narrowed(questions, engines)
    starts = np.cumsum([0, *(len(places) for places in chosen)])
    total = int(starts[-1])
    e, c, overlap = np.zeros(total), np.zeros(total), np.zeros(total)
    pairs: list[tuple[str, str]] = []
    begun = 0
    for place, question in enumerate(questions):
        pairs += [(question.premises[index], question.hypothesis) for index in chosen[place]]
        if len(pairs) >= ROUND_PAIRS or place == len(questions) - 1:
            if pairs:
                try:
                    p = await engines.nli.entail(pairs)
                except TextTooLong as error:
                    raise ConfigError(f"a row holds {error}; leave it out, or choose a model with a longer window") from None
                end = begun + len(pairs)
                e[begun:end], c[begun:end] = p[:, ENTAILMENT], p[:, CONTRADICTION]
                overlap[begun:end] = await asyncio.to_thread(lambda asked: [containment(*pair) for pair in asked], pairs)
                begun, pairs = end, []
            step(begun, total)
    return [
        Answer(e[start:end], c[start:end], overlap[start:end], np.asarray(cosines[place], dtype=np.float64))
        for place, (start, end) in enumerate(pairwise(starts))
    ]


async def _narrowed(questions: Sequence[Question], engines: Engines) -> tuple[list[list[int]], list[np.ndarray[Any, np.dtype[np.float64]]]]:
    """For each question, which premises are asked, and their cosines with the hypothesis."""
    places: dict[str, int] = {}
    for question in questions:
        for text in (*question.premises, question.hypothesis):
            places.setdefault(text, len(places))
    vectors = await engines.embedder.embed(list(places))
    chosen, cosines = [], []
    for question in questions:
        near = vectors[[places[text] for text in question.premises]] @ vectors[places[question.hypothesis]] if question.premises else np.zeros(0)
        kept = list(range(len(near))) if len(near) <= PREMISES_MAX else sorted(np.argsort(-near, kind="stable")[:PREMISES_MAX].tolist())
        chosen.append(kept)
        cosines.append(near[kept].astype(np.float64))
    return chosen, cosines


async def evaluate(
    loaded: Mapping[str, LabelledSet], engines: Engines, supports: Sequence[Support], containment: Callable[[str, str], float], step: Step
) -> dict[str, dict[str, Figures]]:
    """Support name → set → figures. A set whose rows another one has too is asked once."""
    out: dict[str, dict[str, Figures]] = {support.name: {} for support in supports}
    known: dict[str, list[Answer]] = {}
    for prefix, each in loaded.items():
        twin = "realsumm_scu" if prefix == "realsumm_docs" else prefix
        if twin not in known:
            known[twin] = await answer(each.questions, engines, containment, lambda done, total, name=prefix: step(name, done, total))  # type: ignore[misc]
        for support in supports:
            figures = await asyncio.to_thread(each.figures, known[twin], support)
            if figures is not None:
                out[support.name][prefix] = figures
    return out
