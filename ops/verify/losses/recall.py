"""REALSumm: whether the loss orders the summaries of one document as people who counted the facts in them did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.ops.verify.models.sets import rows
from touchstone.schemas.gold import GoldStandardDatum, GoldStandardEntry, GoldStandardSummary
from touchstone.schemas.summary import SummaryCase

if TYPE_CHECKING:
    from touchstone.schemas.result import Scorecard


def documents(path: Path) -> dict[str, Mapping[str, Any]]:
    """Documents with their reference summaries, by id."""
    return {row["doc_id"]: row for row in rows(path)}


def cases(units: Path, known: Mapping[str, Mapping[str, Any]], documents_max: int | None) -> Iterator[tuple[str, float, SummaryCase]]:
    """(document, share of facts that people found, the summary as a case); a few documents spread over the set with `documents_max`.

    The facts are the set's content units. A gold has at least ten, these have fewer now and then, so the model's bounds are passed by.
    """
    ids = sorted(known)
    kept = set(ids if documents_max is None else ids[:: max(1, len(ids) // documents_max)][:documents_max])
    for row in rows(units):
        if row["doc_id"] in kept:
            document = known[row["doc_id"]]
            yield (
                row["doc_id"],
                sum(row["scu_labels"]) / len(row["scu_labels"]),
                SummaryCase.model_construct(kind="summary", datum=_gold(document, row["scus"]), generated=row["summary"], structured_output_requested=False),
            )


def _gold(document: Mapping[str, Any], units: Sequence[str]) -> GoldStandardDatum:
    """A document's gold: its reference, its content units as facts; neither outline nor entities."""
    entry = GoldStandardEntry(category="news", source_id=document["doc_id"], text=document["doc"], token_count=len(document["doc"].split()))
    summary = GoldStandardSummary.model_construct(main_theme="news", summary=document["reference"], key_facts=tuple(units), logical_outline=(), entity_list=())
    return GoldStandardDatum.model_construct(entry=entry, summary=summary)


def figures(scored: Sequence[tuple[str, float, Scorecard]]) -> dict[str, float | int | None]:
    """Share of pairs of one document's summaries, which people found to differ, in which the better one has the lower loss; ties count half."""
    by_document: dict[str, list[tuple[float, Scorecard]]] = {}
    for document, human, card in scored:
        by_document.setdefault(document, []).append((human, card))
    told: dict[str, float | int | None] = {"documents": len(by_document), "summaries": len(scored)}
    for name, value in (("loss", "loss"), ("facts_loss", "facts_loss"), ("recall", "recall")):
        told[f"{name}_pairs"] = _ordered(by_document, value)
    return told


def _ordered(by_document: Mapping[str, Sequence[tuple[float, Scorecard]]], value: str) -> float | None:
    right: list[float] = []
    sign = -1 if value == "recall" else 1
    for group in by_document.values():
        known = [(human, sign * card.values[value]) for human, card in group if value in card.values]
        for (human, loss), (other_human, other_loss) in combinations(known, 2):
            if human != other_human:
                right.append(0.5 if loss == other_loss else float((human > other_human) == (loss < other_loss)))
    return sum(right) / len(right) if right else None
