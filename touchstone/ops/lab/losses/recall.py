"""REALSumm: compares the order of the losses of one document's summaries with that of people who counted the facts in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from touchstone.ops.lab.models.files import rows
from touchstone.schemas.case import Identifier, Text
from touchstone.schemas.gold import GoldStandardDatum, GoldStandardEntry, GoldStandardSummary, Statement
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from touchstone.schemas.result import Scorecard


class Document(BaseModel):
    """A document and its reference summary."""

    doc_id: Identifier
    doc: Text
    reference: Text


class Judged(BaseModel):
    """A system's summary of a document, the content units of the reference, and which of them people found in it."""

    doc_id: Identifier
    summary: Text
    scus: Annotated[tuple[Statement, ...], Field(min_length=1)]
    scu_labels: tuple[float, ...]

    @model_validator(mode="after")
    def _a_label_each(self) -> Self:
        if len(self.scu_labels) != len(self.scus):
            raise ValueError("scus and scu_labels are not as many")
        return self


RowT = TypeVar("RowT", bound=BaseModel)


def read(path: Path, kind: type[RowT]) -> Iterator[RowT]:
    """The rows of a file. Raises `ConfigError` that names file, row and field."""
    for number, row in enumerate(rows(path), 1):
        try:
            yield kind.model_validate(row)
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "scu_labels"
            raise ConfigError(f"{path}, row {number}: {where} does not fit REALSumm; it needs {', '.join(kind.model_fields)}") from None


def documents(paths: Sequence[Path]) -> dict[str, Document]:
    """Documents with their reference summaries, by id. Raises `ConfigError`."""
    return {row.doc_id: row for path in paths for row in read(path, Document)}


def cases(units: Sequence[Judged], known: Mapping[str, Document], documents_max: int | None) -> Iterator[tuple[str, float, SummaryCase]]:
    """(document, share of facts that people found, the summary as a case); a few documents spread over the set with `documents_max`.

    The facts are the set's content units. A gold has at least ten, these have fewer now and then, so the model's bounds are passed by.
    """
    ids = sorted(known)
    kept = set(ids if documents_max is None else ids[:: max(1, len(ids) // documents_max)][:documents_max])
    for row in units:
        if row.doc_id in kept:
            yield (
                row.doc_id,
                sum(row.scu_labels) / len(row.scu_labels),
                SummaryCase.model_construct(kind="summary", datum=_gold(known[row.doc_id], row.scus), generated=row.summary, structured_output_requested=False),
            )


def _gold(document: Document, units: Sequence[str]) -> GoldStandardDatum:
    """A document's gold: its reference, its content units as facts; neither outline nor entities."""
    entry = GoldStandardEntry(category="news", source_id=document.doc_id, text=document.doc, token_count=len(document.doc.split()))
    summary = GoldStandardSummary.model_construct(main_theme="news", summary=document.reference, key_facts=tuple(units), logical_outline=(), entity_list=())
    return GoldStandardDatum.model_construct(entry=entry, summary=summary)


def figures(scored: Sequence[tuple[str, float, Scorecard]]) -> dict[str, float | int | None]:
    """Share of pairs of one document's summaries, which people found to differ, in which the better one has the lower loss; ties count half."""
    by_document: dict[str, list[tuple[float, Scorecard]]] = {}
    for document, human, card in scored:
        by_document.setdefault(document, []).append((human, card))
    figures: dict[str, float | int | None] = {"documents": len(by_document), "summaries": len(scored)}
    for name, value in (("loss", "loss"), ("facts_loss", "facts_loss"), ("recall", "recall")):
        figures[f"{name}_pairs"] = _ordered(by_document, value)
    return figures


def _ordered(by_document: Mapping[str, Sequence[tuple[float, Scorecard]]], value: str) -> float | None:
    right: list[float] = []
    sign = -1 if value == "recall" else 1
    for group in by_document.values():
        known = [(human, sign * card.values[value]) for human, card in group if value in card.values]
        for (human, loss), (other_human, other_loss) in combinations(known, 2):
            if human != other_human:
                right.append(0.5 if loss == other_loss else float((human > other_human) == (loss < other_loss)))
    return sum(right) / len(right) if right else None
