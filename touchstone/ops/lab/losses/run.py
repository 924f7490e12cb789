"""Scores a truth set and REALSumm with one set of engines, and computes how well the losses order them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.lab.losses import recall, truth
from touchstone.ops.lab.models.files import SUFFIXES
from touchstone.scorers.base import ConfigError, Shed, Unavailable
from touchstone.scorers.judges.ask.tally import JudgeTally

if TYPE_CHECKING:
    from touchstone.schemas.result import Scorecard
    from touchstone.schemas.summary import SummaryCase
    from touchstone.scorers.summary.scorer import SummaryLossScorer

#: Cases in flight: enough for the engines to fill their batches.
WINDOW = 16
Step = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets of a folder: the golds of a truth set, and REALSumm's summaries and documents."""

    known: list[truth.Truth]
    judged: list[recall.Judged]
    documents: dict[str, recall.Document]


def sets_of(*folders: Path) -> Sets:
    """Read the sets of the folders. Raises `ConfigError` if one of them has none, or a file does not fit its set."""
    every = [_sets_of(folder) for folder in folders]
    known = [gold for sets in every for gold in sets.known]
    if len({gold.name for gold in known}) < len(known):
        raise ConfigError(f"{', '.join(map(str, folders))}: two golds have one name; give each its own")
    return Sets(known, [row for sets in every for row in sets.judged], {key: text for sets in every for key, text in sets.documents.items()})


def _sets_of(folder: Path) -> Sets:
    """The sets of one folder. Raises `ConfigError`."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: is not a folder; name one that holds a truth set (*.json), or realsumm_scu* with realsumm_docs*")
    known, units, texts = truth.truths(folder), _files(folder, "realsumm_scu"), _files(folder, "realsumm_docs")
    if not known and not (units and texts):
        raise ConfigError(f"{folder}: holds neither a truth set (*.json) nor realsumm_scu* with realsumm_docs*; name a folder that does")
    documents = recall.documents(texts) if units else {}
    judged = [row for path in units for row in recall.read(path, recall.Judged)] if texts else []
    if units and texts and not any(row.doc_id in documents for row in judged):
        raise ConfigError(f"{folder}: no summary of realsumm_scu* belongs to a document of realsumm_docs*; take both from one set")
    return Sets(known, judged, documents)


async def measured(scorer: SummaryLossScorer, sets: Sets, *, documents_max: int | None, step: Step) -> dict[str, Any]:
    """The figures of every set. Raises `ConfigError`."""
    found: dict[str, Any] = {}
    if sets.known:
        given = list(truth.cases(sets.known))
        cards = await _scored(scorer, [case for *_, case in given], step)
        found["truth"] = truth.figures([truth.Scored(gold, variant, card) for (gold, variant, _), card in zip(given, cards, strict=True)])
        found |= _judged(cards)
    if sets.judged:
        summaries = list(recall.cases(sets.judged, sets.documents, documents_max))
        cards = await _scored(scorer, [case for *_, case in summaries], step)
        found["realsumm"] = recall.figures([(document, human, card) for (document, human, _), card in zip(summaries, cards, strict=True)])
    return found


def _judged(cards: Sequence[Scorecard]) -> dict[str, Any]:
    """The judge's requests a case, how often it disagrees with the models, and the cost; empty if no judge is asked."""
    tally, judged = JudgeTally(), Counter[str]()
    for card in cards:
        tally.add(card.details)
        for kind in ("asked", "differ"):
            judged.update({f"{name}_{kind}": count for name, count in card.details.get("judge", {}).get(kind, {}).items()})
    if not tally.states:
        return {}
    counts = judged | Counter(requests=tally.spent["calls"], tokens_in=tally.spent["tokens_in"], tokens_out=tally.spent["tokens_out"])
    figures = {f"{name}_a_case": counts[name] / len(cards) for name in (*_ASKED, "requests", "tokens_in", "tokens_out")}
    return {"judge": {"cases_judged": tally.states["answered"], **figures, "cost_usd": tally.cost_usd}}


_ASKED = ("facts_asked", "sentences_asked", "facts_differ", "sentences_differ")


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
            try:
                card = await scorer.score(case)
            except (Unavailable, Shed) as error:
                # A set that was judged only in part has no meaningful figures.
                raise ConfigError(f"{error}: a case could not be scored; nothing is measured. Fix that and measure again") from None
        done += 1
        step(done, len(cases))
        return card

    return await asyncio.gather(*map(one, cases))
