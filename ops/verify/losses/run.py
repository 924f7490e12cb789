"""Scores a truth set and REALSumm with one set of engines, and works out how well the losses order them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.verify.losses import recall, truth
from touchstone.ops.verify.models.sets import SUFFIXES
from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from touchstone.schemas.result import Scorecard
    from touchstone.schemas.summary import SummaryCase
    from touchstone.scorers.summary.scorer import SummaryLossScorer

#: Cases in flight: enough for the engines to fill their batches.
WINDOW = 16
Step = Callable[[int, int], None]


async def measured(scorer: SummaryLossScorer, folder: Path, *, documents_max: int | None, step: Step) -> dict[str, Any]:
    """The figures of what the folder holds: truth sets (`*.json`), `realsumm_scu*` with `realsumm_docs*`. Raises `ConfigError`."""
    known = truth.truths(folder)
    units, texts = _files(folder, "realsumm_scu"), _files(folder, "realsumm_docs")
    told: dict[str, Any] = {}
    if known:
        given = list(truth.cases(known))
        cards = await _scored(scorer, [case for *_, case in given], step)
        told["truth"] = truth.figures([truth.Scored(gold, variant, card) for (gold, variant, _), card in zip(given, cards, strict=True)])
    if units and texts:
        documents = {key: row for path in texts for key, row in recall.documents(path).items()}
        summaries = [one for path in units for one in recall.cases(path, documents, documents_max)]
        cards = await _scored(scorer, [case for *_, case in summaries], step)
        told["realsumm"] = recall.figures([(document, human, card) for (document, human, _), card in zip(summaries, cards, strict=True)])
    if not told:
        raise ConfigError(f"{folder}: holds neither a truth set (*.json) nor realsumm_scu* with realsumm_docs*; name a folder that does")
    return told


def _files(folder: Path, prefix: str) -> list[Path]:
    """The files of a set."""
    return sorted(path for path in folder.glob(f"{prefix}*") if path.name.endswith(SUFFIXES))


async def _scored(scorer: SummaryLossScorer, cases: Sequence[SummaryCase], step: Step) -> list[Scorecard]:
    """The cards in order, a bounded number of cases at a time."""
    turn = asyncio.Semaphore(WINDOW)
    done = 0

    async def one(case: SummaryCase) -> Scorecard:
        nonlocal done
        async with turn:
            card = await scorer.score(case)
        done += 1
        step(done, len(cases))
        return card

    return await asyncio.gather(*map(one, cases))
