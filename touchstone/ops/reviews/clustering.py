"""Groups of notes without a language model: clusters of vectors, named by the words that set each group apart."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats

#: Vectors that are compared each with each.
TOGETHER_MAX: Final = 1_000
NOTE_CHARS_MAX: Final = 2_000
#: Mean cosine of two groups from which they are one: of embeddings, and of counted words. Chosen on notes like those of the specification.
SIMILARITY: Final = 0.45
SIMILARITY_OF_WORDS: Final = 0.2
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


def embedded(texts: Sequence[str], settings: EngineSettings) -> tuple[Floats, str]:
    """The embeddings of texts, of length 1, and the model's name. Raises `ConfigError` if the model is not installed."""
    from touchstone.scorers.engines.open_engines import open_embedder

    embedder = open_embedder(settings)

    async def embed() -> Floats:
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.close()

    return asyncio.run(embed()), embedder.model


def counted_words(texts: Sequence[str]) -> Floats:
    """The words of texts as vectors of length 1, rare words weighing more; a text without words is the zero vector, which is like none."""
    import numpy as np

    found = [Counter(words_of(text)) for text in texts]
    having = Counter(word for counts in found for word in counts)
    places = {word: place for place, word in enumerate(sorted(having))}
    vectors = np.zeros((len(texts), max(1, len(places))), dtype=np.float32)
    for row, counts in zip(vectors, found, strict=True):
        for word, count in counts.items():
            row[places[word]] = (1 + math.log(count)) * math.log(1 + len(texts) / having[word])
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def clusters(vectors: Floats, similarity: float) -> list[list[int]]:
    """Groups of similar vectors, largest first: agglomerative, by average linkage. `vectors`: of length 1, shape (n, dimensions).

    Above `TOGETHER_MAX` they are grouped in batches, then the groups with each other, and what stayed alone joins the most similar group.
    """
    import numpy as np

    whole = np.asarray(vectors)
    groups = [
        [first + place for place in group] for first in range(0, len(whole), TOGETHER_MAX) for group in _joined(whole[first : first + TOGETHER_MAX], similarity)
    ]
    if len(whole) > TOGETHER_MAX:
        several, alone = [group for group in groups if len(group) > 1], [group[0] for group in groups if len(group) == 1]
        groups = _joined_groups(whole, several, similarity)
        means = np.array([whole[group].mean(axis=0) for group in groups]).reshape(len(groups), whole.shape[1])
        for place in alone:
            near = means @ whole[place]
            if len(near) and near.max() >= similarity:
                groups[int(near.argmax())].append(place)
            else:
                groups.append([place])
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))


def _joined_groups(vectors: Floats, groups: Sequence[Sequence[int]], similarity: float) -> list[list[int]]:
    """Groups of groups. The mean cosine between the members of two groups is the product of their mean vectors, so nothing is estimated."""
    import numpy as np

    joined = [list(group) for group in groups]
    while True:
        before, joined = joined, []
        for first in range(0, len(before), TOGETHER_MAX):
            some = before[first : first + TOGETHER_MAX]
            means = np.array([vectors[group].mean(axis=0) for group in some])
            joined += [[place for one in several for place in some[one]] for several in _joined(means, similarity, [len(group) for group in some])]
        if len(before) <= TOGETHER_MAX or len(joined) == len(before):
            return joined


def _joined(means: Floats, similarity: float, sizes: Sequence[int] | None = None) -> list[list[int]]:
    """The two most similar groups are joined until none are as similar as this."""
    import numpy as np

    near = means @ means.T
    np.fill_diagonal(near, -np.inf)
    groups: dict[int, list[int]] = {place: [place] for place in range(len(near))}
    weights = dict(enumerate(sizes or [1] * len(near)))
    while len(groups) > 1:
        first, second = divmod(int(np.argmax(near)), len(near))
        if near[first, second] < similarity:
            break
        one, other = weights[first], weights[second]
        joined = (near[first] * one + near[second] * other) / (one + other)
        near[first], near[:, first] = joined, joined
        near[first, first] = -np.inf
        near[second], near[:, second] = -np.inf, -np.inf
        groups[first] += groups.pop(second)
        weights[first] += weights.pop(second)
    return list(groups.values())


def names_of(groups: Sequence[Sequence[str]]) -> list[str]:
    """A name for each group: the words that most of its notes have and few other groups do; a number where two groups have the same."""
    counts = [Counter(word for text in texts for word in dict.fromkeys(words_of(text))) for texts in groups]
    having = Counter(word for found in counts for word in found)
    names: list[str] = []
    for number, (found, texts) in enumerate(zip(counts, groups, strict=True), 1):
        weights = {word: count / len(texts) * math.log(1 + len(groups) / having[word]) for word, count in found.items()}
        words = sorted(weights, key=lambda word: (-weights[word], word))[:WORDS_OF_A_NAME]
        name = "_".join(words)[:56] or f"group_{number}"
        names.append(name if name not in names else f"{name}_{number}")
    return names


def words_of(text: str) -> Iterator[str]:
    """The words of a note that can set it apart."""
    return (word for word in _WORD.findall(text.casefold()) if word not in _COMMON)
