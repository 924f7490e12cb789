"""A first grouping of notes: by a language model, by clusters of their embeddings, or by their words. Always a proposal; a person decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from touchstone.ops.reviews.asking import Grouped, Known, run_asked
from touchstone.ops.reviews.clustering import NOTE_CHARS_MAX, SIMILARITY, SIMILARITY_OF_WORDS, clusters, counted_words, embedded, names_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_coding import Categories, Category, Member, exported
from touchstone.scorers.reporting import counted

if TYPE_CHECKING:
    from touchstone.schemas.annotation import AnnotationRecord
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.judges.ask.judge import Judge

Grouping = Callable[[Sequence[str], Mapping[str, Known]], tuple[Grouped, str]]
#: Notes of one proposal.
NOTES_MAX: Final = 10_000
_SAID: Final = {
    "invented": "numbers that no note has were dropped",
    "doubled": "notes were in two categories; the first counts",
    "forgotten": "notes were in none, and stay uncoded",
    "unnamed": "categories had no usable name; their notes stay uncoded",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A file of categories to edit, and what there is to say of how it was made, a line each."""

    categories: Categories
    lines: tuple[str, ...] = field(default=())


def propose(records: Sequence[AnnotationRecord], grouped: Grouping, told: Sequence[Category] = ()) -> Proposal:
    """The categories that there are, with the failures that have a note and no category sorted into them and into new ones.

    `grouped`: sorts notes, one of `by_judge`, `by_embeddings` and `by_words`. Failures without notes, and notes that it leaves out, stay uncoded. Raises
    `ConfigError` if there are too many notes.
    """
    there = exported(records, told)
    members = sorted(there.uncoded, key=lambda one: (one.traceId, one.reviewer))
    noted = [one for one in members if one.notes and one.notes.strip()]
    if len(noted) > NOTES_MAX:
        raise ConfigError(f"{len(noted):,} notes to group; at most {NOTES_MAX:,} at a time. Code some first, or give a file with fewer")
    if not noted:
        return Proposal(there, ("no failure has a note and no category: there is nothing to group",))
    before = {one.name: Known(one.description, one.kind) for one in there.categories}
    found, by = grouped([one.notes or "" for one in noted], before)
    groups: dict[str, list[Member]] = {}
    for place, name in sorted(found.of.items()):
        groups.setdefault(name, []).append(noted[place])
    sorted_in = {id(one) for group in groups.values() for one in group}
    old = [one.model_copy(update={"annotations": (*one.annotations, *groups.pop(one.name, ()))}) for one in there.categories]
    new = [
        Category(name=name, kind=found.known[name].kind, description=found.known[name].description, annotations=tuple(group))
        for name, group in sorted(groups.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    made = Categories(categories=(*old, *new), uncoded=tuple(one for one in members if id(one) not in sorted_in), proposed_by=by)
    _check(there, made)
    return Proposal(made, tuple(_lines(found, joined=len(sorted_in) - sum(map(len, groups.values())))))


def by_judge(judge: Judge) -> Grouping:
    """Sorts notes by a language model, which is closed afterwards."""

    def grouped(notes: Sequence[str], known: Mapping[str, Known]) -> tuple[Grouped, str]:
        found = run_asked(judge, notes, known)
        return found, f"the model {found.model}"

    return grouped


def by_embeddings(settings: EngineSettings, similarity: float | None = None) -> Grouping:
    """Sorts notes by the meaning of their words. Groups of one stay uncoded."""

    def grouped(notes: Sequence[str], known: Mapping[str, Known]) -> tuple[Grouped, str]:
        vectors, model = embedded([note[:NOTE_CHARS_MAX] for note in notes], settings)
        return _named(clusters(vectors, SIMILARITY if similarity is None else similarity), notes, known), f"embeddings of {model}"

    return grouped


def by_words(similarity: float | None = None) -> Grouping:
    """Sorts notes by the words that they share: coarser than embeddings, and needs no model."""

    def grouped(notes: Sequence[str], known: Mapping[str, Known]) -> tuple[Grouped, str]:
        vectors = counted_words([note[:NOTE_CHARS_MAX] for note in notes])
        return _named(clusters(vectors, SIMILARITY_OF_WORDS if similarity is None else similarity), notes, known), "words"

    return grouped


def _named(groups: Sequence[Sequence[int]], notes: Sequence[str], known: Mapping[str, Known]) -> Grouped:
    """Groups of two or more with names of their own: that of a category that there is would claim a likeness that nobody has seen."""
    several = [group for group in groups if len(group) > 1]
    names = [name if name not in known else f"{name}_proposed"[:64] for name in names_of([[notes[place] for place in group] for group in several])]
    found = Grouped(known=dict(known))
    for name, group in zip(names, several, strict=True):
        found.known[name] = Known()
        found.of.update(dict.fromkeys(group, name))
    return found


def _check(there: Categories, made: Categories) -> None:
    """A proposal holds each failure once: none is dropped, and none is there twice."""
    before, after = (
        Counter((one.traceId, one.reviewer) for one in (*(member for category in file.categories for member in category.annotations), *file.uncoded))
        for file in (there, made)
    )
    if before != after:
        raise AssertionError("a proposal has lost or doubled annotations")


def _lines(found: Grouped, joined: int) -> list[str]:
    lines = [f"{found.counts[name]} {text}" for name, text in _SAID.items() if found.counts[name]]
    if failed := found.unanswered:
        reasons = ", ".join(f"{code}: {count}" for code, count in sorted(failed.items()))
        lines.append(f"{sum(failed.values())} of {found.batches} batches got no answer ({reasons}); their notes stay uncoded")
    if joined:
        lines.append(f"{counted(joined, 'note')} proposed for categories that there are already; look at the end of each")
    return lines
