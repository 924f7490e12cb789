"""Natural language inference over a loaded classification model: `Nli.entail` on the shared batcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.base import ENTAILMENT, TextTooLong
from touchstone.scorers.engines.batched_engine import BatchedEngine
from touchstone.scorers.engines.pending_calls import Work
from touchstone.scorers.engines.tokens import Rectangle, Tokens

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.loaded_model import LoadedClassifier
    from touchstone.scorers.engines.tokens import Ids

#: A hypothesis must leave this share of the window to the premise, where the premise does not fit whole.
PREMISE_SHARE_MIN = 1 / 4
#: Chunks of a long premise share this part of their length.
CHUNK_OVERLAP = 1 / 4


class Piece(NamedTuple):
    """The input of one row of a batch: a part of a premise and a whole hypothesis."""

    premise: Tokens
    start: int
    stop: int
    hypothesis: Tokens


def columns_of(id2label: Mapping[int, str]) -> tuple[tuple[int, ...], ...]:
    """The model's columns for (entailment, neutral, contradiction); two-way models have none for neutral. Raises: ConfigError.

    "Not entailment" counts as contradiction: a two-way model does not distinguish the two.
    """
    found: dict[str, int] = {}
    for index, label in id2label.items():
        name = "".join(letter for letter in label.casefold() if letter.isalpha())
        if name.startswith(("not", "non")) and "entail" in name:
            found["contradiction"] = int(index)
        else:
            for standard, stem in (("entailment", "entail"), ("neutral", "neutral"), ("contradiction", "contradict")):
                if name.startswith(stem):
                    found[standard] = int(index)
    wanted = ("entailment", "neutral", "contradiction") if len(id2label) == 3 else ("entailment", "contradiction")
    if len(id2label) not in {2, 3} or set(found) != set(wanted):
        shown = ", ".join(f"{index}: {label}" for index, label in sorted(id2label.items())[:5])
        raise ConfigError(
            f"the NLI model's labels are not understood ({shown}); its config.json needs id2label with entailment, neutral and contradiction "
            "(or entailment and not_entailment)"
        )
    return tuple((found[name],) if name in found else () for name in ("entailment", "neutral", "contradiction"))


class NliEngine(BatchedEngine[Piece]):
    """`Nli` over one model. `name`: its name in results."""

    def __init__(self, loaded: LoadedClassifier, settings: EngineSettings, *, name: str) -> None:
        super().__init__("nli", loaded, settings, name=name, pair=True)
        self._columns = columns_of(loaded.labels)
        self._room = loaded.window - self._template.specials

    @property
    def window_tokens(self) -> int:
        """Tokens that a pair may have, special ones counted."""
        return self._loaded.window

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities, shape (n, 3): entailment, neutral, contradiction.

        Raises: TextTooLong, Unavailable, ItemFailed.
        """
        if not pairs:
            return np.empty((0, 3), dtype=np.float32)
        tokens = await self._tokens([text for pair in pairs for text in pair])
        works: list[Work[Piece]] = []
        owners: list[int] = []
        for index, (premise, hypothesis) in enumerate(pairs):
            made = self._works(tokens[premise], tokens[hypothesis])
            works += made
            owners += [index] * len(made)
        rows = await self._rows(works)
        return rows if len(works) == len(pairs) else _best(rows, np.array(owners), len(pairs))

    def _works(self, premise: Tokens, hypothesis: Tokens) -> list[Work[Piece]]:
        length, rest = len(premise.ids), len(hypothesis.ids)
        fixed = self._template.specials + rest
        if length + rest <= self._room:
            return [Work((premise.number, 0, hypothesis.number), Piece(premise, 0, length, hypothesis), length + fixed)]
        room = self._room - rest
        least = max(1, int(self._loaded.window * PREMISE_SHARE_MIN))
        if room < least:
            raise TextTooLong(rest, self._room - least)
        # Chunks of one premise start at the same places only beside hypotheses of the same length; the hypothesis is in the key.
        return [
            Work((premise.number, start, hypothesis.number), Piece(premise, start, stop, hypothesis), stop - start + fixed)
            for start, stop in _chunks(length, room)
        ]

    def layout(self, items: Sequence[Piece]) -> Rectangle:
        """The batch as the tokenizer itself would have made it from the two texts."""
        rows: list[tuple[Ids, ...]] = []
        firsts: list[int] = []
        fixed = len(self._before) + len(self._between)
        for premise, start, stop, hypothesis in items:
            rows.append((self._before, premise.ids[start:stop], self._between, hypothesis.ids, self._after))
            firsts.append(fixed + stop - start)
        return self._rectangle(rows, firsts)

    def _whole(self, text: Tokens) -> Piece:
        return Piece(text, 0, len(text), text)

    def _forward(self, inputs: Any) -> Sequence[Floats]:
        probabilities = self._loaded.rows(inputs)
        rows = np.zeros((len(probabilities), len(self._columns)), dtype=np.float32)
        for place, columns in enumerate(self._columns):
            if columns:
                rows[:, place] = probabilities[:, columns[0]]
        return list(rows)


def _chunks(length: int, room: int) -> list[tuple[int, int]]:
    """Overlapping spans of at most `room` that cover `length`, of nearly equal size."""
    stride = max(1, room - int(room * CHUNK_OVERLAP))
    count = -(-(length - room) // stride) + 1
    starts = [round(index * (length - room) / (count - 1)) for index in range(count)]
    return [(start, start + room) for start in starts]


def _best(rows: Floats, owners: np.ndarray[Any, np.dtype[np.int64]], count: int) -> Floats:
    """The row of each owner's best-entailing chunk; the first among equals."""
    order = np.lexsort((-rows[:, ENTAILMENT], owners))
    firsts = np.searchsorted(owners[order], np.arange(count))
    best: Floats = rows[order[firsts]]
    return best
