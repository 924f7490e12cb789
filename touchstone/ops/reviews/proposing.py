"""A first grouping of notes: clusters of their embeddings, named by the words that set each apart. Always a proposal; a person decides."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from touchstone.ops.reviews.coding import Categories, Category, Member
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats

#: Notes that are grouped at a time: each is compared with each.
NOTES_MAX: Final = 3_000
NOTE_CHARS_MAX: Final = 2_000
#: Mean cosine of two groups from which they are one. Chosen on notes like those of the specification; `--similarity` changes it.
SIMILARITY: Final = 0.45
WORDS_OF_A_NAME: Final = 3
_WORD: Final = re.compile(r"[a-z][a-z0-9]{2,}")
#: Words that set no group apart.
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "the and for with has have had not but was were are been his her this that there from than too very into after before only also any all per its "
        "does did no on of in patient patients persona listed given despite without within year years old months month one two although",
    )
)


def propose(records: Sequence[AnnotationRecord], settings: EngineSettings, similarity: float = SIMILARITY) -> Categories:
    """Group failures that have notes and no category yet. Groups of one, and failures without notes, stay uncoded.

    Raises `ConfigError` if there are too many, or the embedder is not installed.
    """
    members = [Member(traceId=one.trace_id, reviewer=one.reviewer, notes=one.notes) for one in records]
    noted = [place for place, one in enumerate(records) if one.notes and one.notes.strip()]
    if len(noted) > NOTES_MAX:
        raise ConfigError(f"{len(noted):,} notes to group; at most {NOTES_MAX:,} at a time")
    groups: list[list[int]] = []
    if noted:
        vectors = asyncio.run(_embedded([(records[place].notes or "")[:NOTE_CHARS_MAX] for place in noted], settings))
        groups = [[noted[place] for place in group] for group in clusters(vectors, similarity) if len(group) > 1]
    texts = [[records[place].notes or "" for place in group] for group in groups]
    names = _names(texts)
    categories = tuple(Category(name=name, annotations=tuple(members[place] for place in group)) for name, group in zip(names, groups, strict=True))
    grouped = {place for group in groups for place in group}
    return Categories(categories=categories, uncoded=tuple(one for place, one in enumerate(members) if place not in grouped))


async def _embedded(texts: Sequence[str], settings: EngineSettings) -> Floats:
    from touchstone.scorers.engines.open_engines import open_embedder

    embedder = open_embedder(settings)
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.close()


def clusters(vectors: Floats, similarity: float) -> list[list[int]]:
    """Agglomerative clusters by average linkage: the two most similar groups are joined until none are as similar as this. Largest first.

    `vectors`: of length 1, shape (n, dimensions).
    """
    import numpy as np

    near = np.asarray(vectors) @ np.asarray(vectors).T
    np.fill_diagonal(near, -np.inf)
    groups: dict[int, list[int]] = {place: [place] for place in range(len(near))}
    while len(groups) > 1:
        first, second = divmod(int(np.argmax(near)), len(near))
        if near[first, second] < similarity:
            break
        one, other = len(groups[first]), len(groups[second])
        joined = (near[first] * one + near[second] * other) / (one + other)
        near[first], near[:, first] = joined, joined
        near[first, first] = -np.inf
        near[second], near[:, second] = -np.inf, -np.inf
        groups[first] += groups.pop(second)
    return sorted((sorted(group) for group in groups.values()), key=lambda group: (-len(group), group))


def _names(groups: Sequence[Sequence[str]]) -> list[str]:
    """A name for each group: the words that most of its notes have and few other groups do; a number where two groups have the same."""
    counts = [Counter(word for text in texts for word in dict.fromkeys(_WORD.findall(text.casefold())) if word not in _COMMON) for texts in groups]
    having = Counter(word for found in counts for word in found)
    names: list[str] = []
    for number, (found, texts) in enumerate(zip(counts, groups, strict=True), 1):
        weights = {word: count / len(texts) * math.log(1 + len(groups) / having[word]) for word, count in found.items()}
        words = sorted(weights, key=lambda word: (-weights[word], word))[:WORDS_OF_A_NAME]
        name = "_".join(words)[:60] or f"group_{number}"
        names.append(name if name not in names else f"{name}_{number}"[:64])
    return names
